/// A model with a saved form in rows, so that a save costs what changed.
///
/// A model of maps writes one row per entry, by ``RowWriter``. A small model writes a single row.
public protocol StorableModel<Event, Snapshot>: SyncModel where Change: Storable {
  /// The version of the rows that this app writes and reads; 1 by default. Raise it when the rows
  /// change their form.
  static var storedVersion: UInt64 { get }

  /// Writes the rows that differ from `old`, an older state of the same replica; `nil`: all rows.
  /// Its tables begin at ``StoredTable/firstOfModel``. Rows of entries that are gone must be
  /// removed.
  func store(since old: Self?, into rows: inout RowWriter)

  /// Rebuilds the state that these rows were written from. Whatever the rows contain, the result is
  /// a whole model or an error.
  init(stored rows: RowReader) throws(StoredFormError)

  /// Converts rows of an older version of the app to this version's. By default it throws, and the
  /// replica starts stale.
  static func migrate(
    _ rows: RowReader, from version: UInt64
  ) throws(StoredFormError) -> RowReader

  /// Tables whose rows may stay in the store at a start, so that a start costs what is shown, not
  /// what is held. None by default.
  static var unloadedTables: [StoredTable] { get }
}

extension StorableModel {
  @inlinable
  public static var storedVersion: UInt64 { 1 }

  @inlinable
  public static func migrate(
    _ rows: RowReader, from version: UInt64
  ) throws(StoredFormError) -> RowReader {
    throw StoredFormError(expected: "version \(storedVersion) of the model, and not \(version)")
  }

  @inlinable
  public static var unloadedTables: [StoredTable] { [] }
}

/// The row that describes all the others: versions, finger, terms, and how old the state was.
@usableFromInline
struct StoredHead<Place: Finger & Storable>: Storable, Equatable {
  /// The version of the library's own rows. Version 1 had neither ``upToDateAge`` nor
  /// ``isBeginning``, and version 2 kept no names of changes. Both are still read.
  @usableFromInline static var version: UInt64 { 3 }

  @usableFromInline var model: UInt64
  @usableFromInline var finger: Place?
  @usableFromInline var terms: ServerTerms
  @usableFromInline var upToDateAge: TimeSpan?
  @usableFromInline var isBeginning = false

  @inlinable
  init(
    model: UInt64, finger: Place?, terms: ServerTerms, upToDateAge: TimeSpan?, isBeginning: Bool
  ) {
    self.isBeginning = isBeginning
    self.model = model
    self.finger = finger
    self.terms = terms
    self.upToDateAge = upToDateAge
  }

  @usableFromInline
  func put(into bytes: inout ByteWriter) {
    bytes.put(StoredHead.version)
    bytes.put(model)
    bytes.put(finger)
    terms.put(into: &bytes)
    bytes.put(upToDateAge?.milliseconds)
    bytes.put(isBeginning)
  }

  @usableFromInline
  init(from bytes: inout ByteReader) throws(StoredFormError) {
    let version = try bytes.takeUInt64()
    if version > StoredHead.version { throw .newer(version: version) }
    guard version >= 1 else { throw StoredFormError(expected: "a version of the library") }
    model = try bytes.takeUInt64()
    finger = try bytes.takeOptional()
    terms = try ServerTerms(from: &bytes)
    guard version >= 2 else { return }
    upToDateAge = try bytes.takeOptional(Int64.self).map { max(.zero, .milliseconds($0)) }
    isBeginning = try bytes.takeBool()
  }
}

extension SavedReplica where Model: StorableModel, Place: Storable {
  /// Returns the rows that differ from `old`, an older saved form of the same replica; `nil`: all
  /// rows.
  package func rows(since old: SavedReplica?) -> [StoredRow] { step(since: old).rows }

  /// Returns what differs from `old`, an older saved form of the same replica; `nil`: all of it.
  /// Throws if the app's own code throws when it encodes the model or a change. Then nothing can be
  /// saved.
  public func step(
    since old: SavedReplica?, writtenAt: WallTime
  ) throws(StoredFormError) -> JournalEntry {
    let step = step(since: old)
    if let failure = step.failure { throw failure }
    return JournalEntry(cleared: step.cleared, rows: step.rows, writtenAt: writtenAt)
  }

  /// Returns the same rows together with the ranges that are cleared.
  package func step(since old: SavedReplica?) -> RowWriter {
    var rows = RowWriter()
    rows.put(.head, head, since: old?.head)
    outbox?.store(since: old?.outbox, into: &rows)
    model.store(since: old?.model, into: &rows)
    return rows
  }

  private var head: StoredHead<Place> {
    StoredHead(
      model: Model.storedVersion, finger: finger, terms: terms, upToDateAge: upToDateAge,
      isBeginning: isBeginning)
  }

  /// Rebuilds the saved form from its rows.
  public init(stored rows: RowReader) throws(StoredFormError) {
    let head = try SavedReplica.head(of: rows)
    var rows = rows
    if head.model > Model.storedVersion { throw .newer(version: head.model) }
    if head.model < Model.storedVersion { rows = try Model.migrate(rows, from: head.model) }
    let model = try Model(stored: rows)
    var outbox: Outbox<Model.Change>?
    if Model.Change.isPossible, head.isBeginning || model.client != nil {
      let stored = try Outbox<Model.Change>(
        stored: rows, delivery: Model.delivery, settings: Model.outboxSettings)
      guard head.isBeginning || stored.client == model.client else {
        throw StoredFormError(expected: "the outbox of the client that the state is of")
      }
      outbox = stored
    }
    self.init(
      model: model, finger: head.finger, terms: head.terms, outbox: outbox,
      upToDateAge: head.upToDateAge, isBeginning: head.isBeginning)
  }

  /// Returns the user's changes in rows of which the model cannot be read. Throws if they cannot be
  /// read either; `nil`: there are none, and never were any.
  ///
  /// - Parameter rows: the library's own tables are enough, those below
  ///   ``StoredTable/firstOfModel``.
  public static func changes(
    in rows: RowReader
  ) throws(StoredFormError) -> SavedChanges<Model.Change>? {
    guard Model.Change.isPossible else { return nil }
    let head = try SavedReplica.head(of: rows)
    guard !rows[.outbox].isEmpty else { return nil }
    let outbox = try Outbox<Model.Change>(
      stored: rows, newer: head.model > Model.storedVersion ? head.model : nil,
      delivery: Model.delivery, settings: Model.outboxSettings)
    return SavedChanges(outbox: outbox)
  }

  /// Whether this version wrote the rows, so that a step may be appended to them.
  package static func isCurrent(_ rows: RowReader) throws(StoredFormError) -> Bool {
    try head(of: rows).model == Model.storedVersion
  }

  private static func head(of rows: RowReader) throws(StoredFormError) -> StoredHead<Place> {
    let head: StoredHead<Place>? = try rows.value(of: .head)
    guard let head else { throw StoredFormError(expected: "a head") }
    return head
  }
}

extension StoredTable {
  /// The table of the head, which is one row.
  @usableFromInline static var head: StoredTable { StoredTable(0) }
}

extension ServerTerms {
  func put(into bytes: inout ByteWriter) {
    bytes.put(longDeadline.milliseconds)
    bytes.put(lifetime.milliseconds)
    switch cadence {
    case .waits: bytes.put(UInt8(0))
    case .every(let period):
      bytes.put(UInt8(1))
      bytes.put(period.milliseconds)
    case .pushed: bytes.put(UInt8(2))
    }
  }

  init(from bytes: inout ByteReader) throws(StoredFormError) {
    let longDeadline = TimeSpan(milliseconds: try bytes.takeInt64())
    let lifetime = TimeSpan(milliseconds: try bytes.takeInt64())
    let cadence: Cadence
    switch try bytes.takeByte() {
    case 0: cadence = .waits
    case 1: cadence = .every(TimeSpan(milliseconds: try bytes.takeInt64()))
    case 2: cadence = .pushed
    default: throw StoredFormError(expected: "a cadence")
    }
    self.init(longDeadline: longDeadline, lifetime: lifetime, cadence: cadence)
  }
}
