// RecordSync: the room of WatermelonDB's sync protocol, client half and server half, as plain
// values. It follows WatermelonDB's notes on its sync; comments say which rules are ours.
//
// RecordSync may use: JSON, Server.

public import UpdateMachine

/// The client half: how the answer to a pull follows on a finger.
///
/// A sync has two phases. The client *pulls* every record created, updated or deleted since its
/// last pull, in all tables, as of one moment. Then it *pushes* its own changes with the moment of
/// that pull. If one of the pushed records has changed since, the server applies nothing, and the
/// next sync resolves the conflict. The client resolves it: the server's record, with the columns
/// that were changed here (``RecordChange``).
///
/// The first pull comes in pages, so that no answer is large. Each page is read at its own moment,
/// but its finger has the moment of the first page. So the pull after the last page repeats every
/// change made in between, and ends in the state of one moment: a record that changed after the
/// first page is in that pull, and one that did not change is the same in every page. An app is
/// shown nothing of the pages before that.
public enum RecordSync: SyncProtocol {
  public typealias Place = RecordFinger
  public typealias Batch = PulledRecords

  /// A push must name a pull that has seen everything it changes.
  public static var order: PushOrder { .pullFirst }

  /// Takes an answer that starts at the finger. An older one proves nothing, and the rest are of no
  /// use here. Changes without a later moment would come again for ever: a gap.
  public static func advance(
    _ finger: RecordFinger, over pulled: PulledRecords
  ) -> SyncAdvance<RecordFinger> {
    guard pulled.epoch == finger.epoch, pulled.flaw == nil else { return .gap }
    if let old = finger.schema, let new = pulled.schema, new < old { return .gap }
    var next = pulled.finger
    next.schema = pulled.schema ?? finger.schema
    next.isWhole = finger.isWhole || pulled.isWhole
    switch pulled.content {
    case .page(let after, _):
      guard pulled.pulledAt == finger.lastPulledAt, let cursor = finger.cursor else {
        return pulled.pulledAt > finger.lastPulledAt ? .lost : .incomplete
      }
      guard let after, after >= cursor else { return .incomplete }
      guard after == cursor else { return .lost }
    case .changes(let since):
      if pulled.pulledAt < finger.lastPulledAt { return .incomplete }
      guard finger.cursor == nil else { return .lost }
      guard since == finger.lastPulledAt else {
        return since < finger.lastPulledAt && pulled.pulledAt == finger.lastPulledAt
          ? .incomplete : .lost
      }
      if next == finger {
        guard pulled.isEmpty else { return .gap }
        return pulled.isCurrent ? .seen : .incomplete
      }
    }
    return .next(next, first: 0, isComplete: pulled.isWhole)
  }
}

/// A moment of the server, as it stamps its records. Stamps grow strictly: no two changes share
/// one, or one of them could be missed.
public struct RecordStamp: BitwiseCopyable, Hashable, Comparable, Sendable {
  /// The server's number, usually near its time in milliseconds; 0 precedes all.
  public let number: UInt64

  /// Creates a stamp, as the server gave it.
  public init(_ number: UInt64) { self.number = number }

  /// Precedes every stamp.
  package static var none: RecordStamp { RecordStamp(0) }

  /// Follows every stamp.
  static var never: RecordStamp { RecordStamp(.max) }

  public static func < (one: RecordStamp, other: RecordStamp) -> Bool { one.number < other.number }
}

/// A client's place: the moment of its last pull, and the version of the schema it was made with.
/// Take it from ``PulledRecords/finger``. ``RecordPull`` says what a server must know of it.
public struct RecordFinger: Finger, Hashable {
  /// Which server gave the stamp. A restored server has another epoch, as its stamps start over.
  package var epoch: UInt64
  /// The moment of the last pull; of the first page, while pages are pulled.
  package var lastPulledAt: RecordStamp
  /// The schema version of the last sync; `nil`: an app without migration syncs did not note it.
  package var schema: UInt64?
  /// The last record of the last page; `nil`: there are no more pages.
  package var cursor: RecordKey?
  /// Whether everything has been pulled as of ``lastPulledAt``.
  package var isWhole: Bool

  package init(
    epoch: UInt64, lastPulledAt: RecordStamp, schema: UInt64?, cursor: RecordKey?,
    isWhole: Bool
  ) {
    self.epoch = epoch
    self.lastPulledAt = lastPulledAt
    self.schema = schema
    self.cursor = cursor
    self.isWhole = isWhole
  }

  public var log: RecordLog { RecordLog(epoch: epoch) }
}

/// The log of a ``RecordFinger``: everything that one server has stamped.
public struct RecordLog: Hashable, Sendable {
  /// The server's epoch.
  package var epoch: UInt64

  package init(epoch: UInt64) { self.epoch = epoch }
}

/// A record as it travels: its key with its columns.
public struct RecordRow: Hashable, Sendable {
  /// Identifies the record.
  public var key: RecordKey
  /// The columns that are set. A column that is left out keeps its value.
  public var columns: JSONObject

  /// Creates a row.
  public init(_ key: RecordKey, _ columns: JSONObject) {
    self.key = key
    self.columns = columns
  }
}

/// The answer to a pull. For a register it is the snapshot, and for a poll a batch of one event.
/// Make it with ``RecordPull/answer(epoch:pulledAt:isCurrent:through:created:updated:deleted:)``.
public struct PulledRecords: EventBatch, Hashable {
  /// The client that asked.
  package var client: ClientID
  /// Which server answered. A restored server must have another epoch.
  package var epoch: UInt64
  /// The moment of the answer; of the first page, if it is a page. The next pull starts here.
  package var pulledAt: RecordStamp
  /// What the answer covers.
  package var content: Content
  /// The schema version to note as the last synced one (``RecordPull/notesSchema``); `nil`: none.
  package var schema: UInt64?
  /// Whether the server has nothing beyond the answer.
  package var isCurrent: Bool
  /// Records created since the last pull, whole; all records of a page. Ascending by key, each
  /// once.
  package var created: [RecordRow]
  /// Records updated since the last pull, and those that a migration completes. Ascending, each
  /// once.
  package var updated: [RecordRow]
  /// Records deleted since the last pull. Ascending, each once. A record that is also named as
  /// created is gone (SyncBugs 67).
  package var deleted: [RecordKey]

  /// What an answer covers.
  package enum Content: Hashable, Sendable {
    /// A page of the first pull: the records after one key, through another one. `after` is `nil`
    /// in the first page, `through` in the last.
    case page(after: RecordKey?, through: RecordKey?)
    /// Everything that has changed since an earlier pull.
    case changes(since: RecordStamp)
  }

  /// Creates an answer.
  package init(
    client: ClientID, epoch: UInt64, pulledAt: RecordStamp, content: Content,
    schema: UInt64? = nil, isCurrent: Bool = true, created: [RecordRow] = [],
    updated: [RecordRow] = [], deleted: [RecordKey] = []
  ) {
    self.client = client
    self.epoch = epoch
    self.pulledAt = pulledAt
    self.content = content
    self.schema = schema
    self.isCurrent = isCurrent
    self.created = created
    self.updated = updated
    self.deleted = deleted
  }

  public var count: Int { 1 }

  public func event(at index: Int) -> PulledRecords? { self }

  /// The finger of a client that has begun with this answer.
  public var finger: RecordFinger {
    var cursor: RecordKey?
    if case .page(_, let through) = content { cursor = through }
    return RecordFinger(
      epoch: epoch, lastPulledAt: pulledAt, schema: schema, cursor: cursor, isWhole: isWhole)
  }

  /// Whether a client that takes it has all that the server has, as of one moment. So it is the
  /// `isComplete` of a register.
  public var isWhole: Bool {
    if case .page(_, .some) = content { false } else { isCurrent }
  }

  var isEmpty: Bool { created.isEmpty && updated.isEmpty && deleted.isEmpty }

  /// The first thing that no correct server sends; `nil`: there is none.
  var flaw: RecordRefusal? {
    let lists = [created.map { $0.key }, updated.map { $0.key }, deleted]
    for keys in lists {
      for (one, next) in zip(keys, keys.dropFirst()) where one >= next { return .disordered(next) }
    }
    switch content {
    case .page(let after, let through):
      guard updated.isEmpty, deleted.isEmpty else { return .notAPage }
      if let after, let first = created.first?.key ?? through, first <= after {
        return .disordered(first)
      }
      if let through, created.last?.key != through { return .disordered(through) }
    case .changes(let since): if pulledAt < since { return .backwards(from: since, to: pulledAt) }
    }
    return nil
  }
}

extension ServerTerms {
  /// The terms of a server that answers each pull at once.
  ///
  /// - Parameters:
  ///   - period: the time between two pulls. A conflict, a refresh, or the app's return to the
  ///     foreground asks sooner.
  ///   - lifetime: how long the server keeps deletions. A client that has not pulled for longer
  ///     starts over.
  public static func recordSync(
    pullingEvery period: TimeSpan = .seconds(60), lifetime: TimeSpan = .seconds(30 * 86_400)
  ) -> ServerTerms {
    ServerTerms(longDeadline: .seconds(100), lifetime: lifetime, cadence: .every(period))
  }
}

extension RecordStamp: CustomStringConvertible {
  public var description: String { "\(number)" }
}

extension RecordLog: CustomStringConvertible {
  public var description: String { "records \(epoch)" }
}

extension RecordFinger: CustomStringConvertible {
  /// "1@700 v9", "1@700 v9 through posts/7".
  public var description: String {
    "\(epoch)@\(lastPulledAt)" + (schema.map { " v\($0)" } ?? "")
      + (cursor.map { " through \($0)" } ?? "")
  }
}
