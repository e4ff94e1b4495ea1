public import UpdateMachine

/// Why a client refuses an answer. It keeps its state and registers anew.
public enum RecordRefusal: Error, Hashable, Sendable {
  /// A list is out of order at this record, or names it twice.
  case disordered(RecordKey)
  /// The first answer is not the first page, or a page has more than records.
  case notAPage
  /// The answer is older than what it starts from.
  case backwards(from: RecordStamp, to: RecordStamp)
}

/// The model of an app: all records that its user may see, as of the last pull.
public struct RecordModel: SyncModel, Equatable {
  public typealias Snapshot = PulledRecords
  public typealias Event = PulledRecords
  public typealias Change = RecordChange

  /// What has been pulled. While there are pages to come, of several moments.
  private(set) var pulled = RecordState()
  /// What is shown until a first pull is whole: the state before it; at first an empty one. `nil`:
  /// it is whole. Without this, the missing records would overrule their pending changes.
  private(set) var former: RecordState?
  private var name: ClientID

  /// An empty state, so that records can be created before the first pull.
  public static var beginning: RecordModel? { RecordModel(.nameless) }

  private init(_ client: ClientID) {
    name = client
    former = RecordState()
  }

  public init(snapshot: PulledRecords) throws(RecordRefusal) {
    try self.init(snapshot: snapshot, replacing: nil)
  }

  public init(snapshot: PulledRecords, replacing old: RecordModel?) throws(RecordRefusal) {
    guard case .page(nil, _) = snapshot.content else { throw .notAPage }
    self.init(snapshot.client)
    former = old?.state ?? RecordState()
    try apply(snapshot)
  }

  /// Deletions come last, so that a record which was created and deleted since stays gone. Children
  /// of a deleted record stay until they are named.
  public mutating func apply(_ answer: PulledRecords) throws(RecordRefusal) {
    if let flaw = answer.flaw { throw flaw }
    pulled.deletions = VersionedMap()
    pulled.lastPulledAt = answer.pulledAt
    for row in answer.created {
      var createdAt = answer.pulledAt
      // A page names every record. That is no news of its creation.
      if case .page = answer.content { createdAt = former?.records[row.key]?.createdAt ?? .none }
      pulled.records[row.key] = SyncedRecord(row.columns, createdAt: createdAt)
    }
    for row in answer.updated {
      var record =
        pulled.records[row.key] ?? SyncedRecord(JSONObject(), createdAt: RecordStamp.none)
      record.columns.mergeColumns(row.columns)
      pulled.records[row.key] = record
    }
    for key in answer.deleted {
      pulled.records[key] = nil
      pulled.deletions[key] = answer.pulledAt
    }
    guard let former, answer.isWhole else { return }
    for change in pulled.records.difference(from: former.records).changes where change.new == nil {
      pulled.deletions[change.key] = answer.pulledAt
    }
    self.former = nil
  }

  /// Whether everything has been pulled once. Until then an app is shown what it had before.
  package var isWhole: Bool { former == nil }

  public var client: ClientID? { name }

  /// Nothing: the server counts no changes.
  public var confirmation: MutationConfirmation { MutationConfirmation(last: MutationID(0)) }

  public var state: RecordState { former ?? pulled }

  /// A second copy has no effect: the first one has changed the record since the client's pull.
  public static var delivery: MutationDelivery { .atLeastOnce }
}

// MARK: The saved form

extension StoredTable {
  static var records: StoredTable { .firstOfModel }
  static var formerRecords: StoredTable { .firstOfModel.advanced(by: 1) }
  static var deletions: StoredTable { .firstOfModel.advanced(by: 2) }
  static var formerDeletions: StoredTable { .firstOfModel.advanced(by: 3) }
  static var recordHead: StoredTable { .firstOfModel.advanced(by: 4) }
}

extension RecordModel: StorableModel {
  public func store(since old: RecordModel?, into rows: inout RowWriter) {
    let empty = RecordState()
    let (mine, theirs) = (former ?? empty, old.map { $0.former ?? empty })
    rows.put(.records, pulled.records, since: old?.pulled.records)
    rows.put(.formerRecords, mine.records, since: theirs?.records)
    rows.put(.deletions, pulled.deletions, since: old?.pulled.deletions)
    rows.put(.formerDeletions, mine.deletions, since: theirs?.deletions)
    rows.put(.recordHead, head, since: old?.head)
  }

  public init(stored rows: RowReader) throws(StoredFormError) {
    let found: StoredRecordHead? = try rows.value(of: .recordHead)
    guard let head = found else { throw StoredFormError(expected: "the head of records") }
    name = head.client
    pulled.lastPulledAt = head.pulledAt
    pulled.records = try rows.map(of: .records)
    pulled.deletions = try rows.map(of: .deletions)
    guard let formerAt = head.formerAt else { return }
    var state = RecordState()
    state.lastPulledAt = formerAt
    state.records = try rows.map(of: .formerRecords)
    state.deletions = try rows.map(of: .formerDeletions)
    former = state
  }

  private var head: StoredRecordHead {
    StoredRecordHead(client: name, pulledAt: pulled.lastPulledAt, formerAt: former?.lastPulledAt)
  }
}
