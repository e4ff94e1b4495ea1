public import UpdateMachine

/// A request for records: what a source must ask its server.
///
/// There are three kinds. Without ``lastPulledAt``, it asks for the first page of everything. With
/// a ``cursor``, it asks for the page after that record. Otherwise it asks for all that has changed
/// after ``lastPulledAt``.
public struct RecordPull: Hashable, Sendable {
  /// The client that registers; 0: it polls.
  package var client: ClientID
  /// The client's place; `nil`: it has nothing, and asks for the first page.
  package let finger: RecordFinger?
  /// The version of the schema that the answer must be for: it has no later tables and columns.
  public let schema: UInt64
  /// The answer must also have every record of the tables added since this version, and of those
  /// with columns added since, through ``schema``. `nil`: no migration.
  public let migratesFrom: UInt64?
  /// Whether ``PulledRecords/schema`` must be ``schema``; if not, it must be `nil`.
  package let notesSchema: Bool

  /// Prepares a pull.
  ///
  /// A mistake in the app's schema is `unsupported`: only another build of the app can go on. An
  /// update of the app between two pages is `expired`: the first pages lack what the new version
  /// knows.
  ///
  /// - Parameters:
  ///   - client: the name under which the client registers; `nil`, the default: it polls.
  ///   - finger: the finger of the poll; `nil`: the client registers.
  ///   - schema: the app's schema.
  public init(
    client: ClientID? = nil, after finger: RecordFinger?, schema: RecordSchema
  ) throws(SyncFailure) {
    let plan: RecordMigration.Plan
    do throws(RecordMigration.Mistake) {
      plan = try RecordMigration.plan(
        lastPulledAt: finger?.lastPulledAt, migrationsEnabledAt: schema.migrationsEnabledAt,
        lastSynced: finger?.schema, current: schema.current)
    } catch {
      throw .unsupported
    }
    if let finger, !finger.isWhole, finger.schema != schema.current { throw .expired }
    self.client = client ?? .nameless
    self.finger = finger
    self.schema = schema.current
    migratesFrom = plan.from
    notesSchema = plan.notesSchema
  }

  /// The moment of the last pull; of the first page, while pages are pulled. `nil`: nothing has
  /// been pulled.
  public var lastPulledAt: RecordStamp? { finger?.lastPulledAt }

  /// The last record of the last page; `nil`: this asks for the first page, or for changes.
  public var cursor: RecordKey? { finger?.cursor }

  /// Makes the server's answer to this pull. The lists may be in any order. If they cannot be an
  /// answer, the client registers anew: a list names a record twice, a page has deletions, or
  /// changes are only a page of them.
  ///
  /// - Parameters:
  ///   - epoch: which server answered. A server that was restored from a backup must have another
  ///     one, as its stamps start over.
  ///   - pulledAt: the moment of the answer. It has every change up to this stamp, and every later
  ///     change gets a greater one.
  ///   - isCurrent: whether the server has nothing beyond the answer, apart from pages. `false`: it
  ///     was read from a replica that lags.
  ///   - last: the last record of a page; `nil`: there are no more pages. Changes have no pages.
  ///   - created: the records created since the last pull, with all their columns; all records of a
  ///     page.
  ///   - updated: the records updated since, and those that a migration completes. A column that is
  ///     left out keeps its value.
  ///   - deleted: the records deleted since. One that is also named as created is gone.
  public func answer(
    epoch: UInt64, pulledAt: RecordStamp, isCurrent: Bool = true, through last: RecordKey? = nil,
    created: [RecordRow] = [], updated: [RecordRow] = [], deleted: [RecordKey] = []
  ) -> PulledRecords {
    var answer = PulledRecords(
      client: client, epoch: epoch, pulledAt: pulledAt,
      content: .page(after: cursor, through: last),
      schema: notesSchema ? schema : nil, isCurrent: isCurrent,
      created: created.sorted { $0.key < $1.key }, updated: updated.sorted { $0.key < $1.key },
      deleted: deleted.sorted())
    guard let finger else { return answer }
    if finger.cursor != nil {
      // What has changed since the first page comes with the pull after the last one.
      answer.pulledAt = min(pulledAt, finger.lastPulledAt)
      answer.isCurrent = isCurrent && pulledAt == finger.lastPulledAt
    } else if last == nil {
      // A replica that lags brings nothing, and starts no later than it ends.
      answer.content = .changes(since: min(pulledAt, finger.lastPulledAt))
    }
    return answer
  }
}
