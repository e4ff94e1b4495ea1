public import UpdateMachine

/// Identifies a record: a table's name and an ID, both compared by their UTF-8 bytes.
public struct RecordKey: Sendable {
  /// The table's name.
  public let table: String
  /// The record's ID, unique in its table. The client that creates a record draws it.
  public let id: String

  /// Creates a key from any texts.
  public init(_ table: String, _ id: String) {
    self.table = table
    self.id = id
  }
}

/// A record of the app's state.
public struct SyncedRecord: Hashable, Sendable {
  /// The values, by column.
  public var columns: JSONObject
  /// The moment of the pull that named it as created; 0: none has; `nil`: it was created here, and
  /// has not been pulled.
  package var createdAt: RecordStamp?

  /// Creates a record, for a preview or a test.
  public init(_ columns: JSONObject) { self.columns = columns }

  package init(_ columns: JSONObject, createdAt: RecordStamp?) {
    self.columns = columns
    self.createdAt = createdAt
  }
}

/// All records of a client, as of one moment: with its pending changes as the view of a state,
/// without them as the model's.
///
///     state.view?.records[RecordKey("tasks", "1")]?.columns["title"]
public struct RecordState: Equatable, Sendable {
  /// The records, by table and ID.
  public package(set) var records = VersionedMap<RecordKey, SyncedRecord>()
  /// The moment of the last pull.
  package var lastPulledAt = RecordStamp.none
  /// The records that the last pull has deleted, with its moment. No others are needed: pending
  /// changes are replayed at once over each pull, and those that it overrules are gone then.
  var deletions = VersionedMap<RecordKey, RecordStamp>()
  /// The records that pending changes have deleted, and what the user had seen by then.
  var deletedHere = VersionedMap<RecordKey, RecordStamp>()

  /// Creates a state without records.
  public init() {}

  /// How a record differs from this confirmed state because of pending changes, in their order. It
  /// is computed, never kept, so that no change can be taken for synced by mistake (SyncBugs 66).
  ///
  ///     state.model?.state.status(of: key, under: state.pending.map { $0.change })
  public func status(of key: RecordKey, under pending: [RecordChange]) -> RecordStatus {
    var view = self
    var changed = JSONObject()
    for change in pending where change.key == key {
      var fork = view
      do throws(RecordChange.Refusal) {
        _ = try change.apply(to: &fork)
      } catch {
        continue  // It has no effect here, so it does not count.
      }
      view = fork
      if let columns = change.columns {
        changed.mergeColumns(columns)
      } else {
        changed = JSONObject()
      }
    }
    switch (records.contains(key), view.records.contains(key)) {
    case (false, true): return .created
    case (true, false): return .deleted
    case (false, false): return .synced
    case (true, true):
      return changed.members.isEmpty ? .synced : .updated(changed.members.map { $0.name })
    }
  }
}

/// How a record differs from the server's, as far as the client knows.
public enum RecordStatus: Hashable, Sendable {
  /// Not at all.
  case synced
  /// It was created here.
  case created
  /// These columns were changed here. Ascending.
  case updated([String])
  /// It was deleted here.
  case deleted
}

extension JSONObject {
  /// Sets all members of another object.
  mutating func mergeColumns(_ other: JSONObject) {
    for member in other.members { self[member.name] = member.value }
  }
}

extension RecordKey: Hashable, Comparable {
  public static func == (one: RecordKey, other: RecordKey) -> Bool {
    one.id.isSame(as: other.id) && one.table.isSame(as: other.table)
  }

  public static func < (one: RecordKey, other: RecordKey) -> Bool {
    one.table.isSame(as: other.table) ? one.id.precedes(other.id) : one.table.precedes(other.table)
  }
}

extension RecordKey: CustomStringConvertible {
  /// "posts/7".
  public var description: String { "\(table)/\(id)" }
}
