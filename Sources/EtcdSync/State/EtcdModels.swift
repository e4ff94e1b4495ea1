import SyncProtocols
public import UpdateMachine

/// The model of an app that only reads: all keys of a prefix with their values.
///
/// An app whose state is made of them, but is another one, writes a model of its own, with the same
/// snapshot and event.
public struct EtcdMap: SyncModel, Hashable {
  public typealias Snapshot = EtcdSnapshot
  public typealias Event = EtcdEvent
  public typealias Refusal = Never

  /// The keys with their values.
  public private(set) var entries: VersionedMap<EtcdKey, EtcdEntry>

  public init(snapshot: EtcdSnapshot) { entries = snapshot.entries }

  public mutating func apply(_ event: EtcdEvent) { entries.apply(event) }
}

/// The reason why a model refuses what it is told. The client registers anew, slowly.
public enum EtcdModelRefusal: Error, Hashable, Sendable {
  /// What the cluster keeps of this client's changes is not what this library writes. Another
  /// program has written to a key of the library's own. Deleting the key helps.
  case record
}

/// The model of an app whose user changes keys of a prefix.
public struct EtcdModel<Change: EtcdMutation>: SyncModel, Equatable {
  public typealias Snapshot = EtcdSnapshot
  public typealias Event = EtcdEvent
  public typealias Refusal = EtcdModelRefusal

  /// The cluster's keys with their values, without pending changes.
  public private(set) var entries: VersionedMap<EtcdKey, EtcdEntry>
  private var name: ClientID
  private var recordEntry: EtcdEntry?
  private var record: ClientRecord

  public init(snapshot: EtcdSnapshot) throws(EtcdModelRefusal) {
    try self.init(
      entries: snapshot.entries, name: snapshot.client, recordEntry: snapshot.record)
  }

  private init(
    entries: VersionedMap<EtcdKey, EtcdEntry>, name: ClientID, recordEntry: EtcdEntry?
  ) throws(EtcdModelRefusal) {
    self.entries = entries
    self.name = name
    self.recordEntry = recordEntry
    record = try EtcdModel.read(recordEntry)
  }

  public mutating func apply(_ event: EtcdEvent) throws(EtcdModelRefusal) {
    guard event.key == .record(of: name) else {
      entries.apply(event)
      return
    }
    recordEntry = event.value.map { EtcdEntry($0, revision: event.revision) }
    record = try EtcdModel.read(recordEntry)
  }

  private static func read(_ entry: EtcdEntry?) throws(EtcdModelRefusal) -> ClientRecord {
    do throws(EtcdRecordError) {
      return try ClientRecord(entry)
    } catch {
      throw .record
    }
  }

  public var client: ClientID? { name }

  public var confirmation: MutationConfirmation {
    MutationConfirmation(last: record.lastMutation, refusal: record.refusal)
  }

  public var state: EtcdView { EtcdView(entries, record: recordEntry) }
}

extension VersionedMap<EtcdKey, EtcdEntry> {
  /// Takes an event. The library's own keys are left out.
  mutating func apply(_ event: EtcdEvent) {
    guard !event.key.isReserved else { return }
    if let value = event.value {
      updateValue(EtcdEntry(value, revision: event.revision), forKey: event.key)
    } else {
      removeValue(forKey: event.key)
    }
  }
}

// MARK: Saved forms

extension StoredTable {
  /// One row for each key.
  fileprivate static var entries: StoredTable { .firstOfModel }
  /// One row: the client's name, and its record.
  fileprivate static var head: StoredTable { .firstOfModel.advanced(by: 1) }
}

extension EtcdMap: StorableModel {
  public func store(since old: EtcdMap?, into rows: inout RowWriter) {
    rows.put(.entries, entries, since: old?.entries)
  }

  public init(stored rows: RowReader) throws(StoredFormError) {
    entries = try rows.map(of: .entries)
  }
}

/// The row beside those of the keys.
private struct StoredEtcdHead: Storable, Equatable {
  var client: ClientID
  var record: EtcdEntry?

  init(client: ClientID, record: EtcdEntry?) {
    self.client = client
    self.record = record
  }

  func put(into bytes: inout ByteWriter) {
    bytes.put(client.number)
    bytes.put(record)
  }

  init(from bytes: inout ByteReader) throws(StoredFormError) {
    client = ClientID(try bytes.takeUInt64())
    record = try bytes.takeOptional()
  }
}

extension EtcdModel: StorableModel where Change: Storable {
  public func store(since old: EtcdModel?, into rows: inout RowWriter) {
    rows.put(.entries, entries, since: old?.entries)
    rows.put(
      .head, StoredEtcdHead(client: name, record: recordEntry),
      since: old.map { StoredEtcdHead(client: $0.name, record: $0.recordEntry) })
  }

  public init(stored rows: RowReader) throws(StoredFormError) {
    let found: StoredEtcdHead? = try rows.value(of: .head)
    guard let head = found else { throw StoredFormError(expected: "the head of a model") }
    let entries: VersionedMap<EtcdKey, EtcdEntry> = try rows.map(of: .entries)
    do throws(EtcdModelRefusal) {
      try self.init(entries: entries, name: head.client, recordEntry: head.record)
    } catch {
      throw StoredFormError(expected: "a record of changes")
    }
  }
}
