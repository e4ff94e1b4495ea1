package import UpdateMachine

/// A version of an app's schema: which tables and columns it knows.
package struct SchemaVersion: BitwiseCopyable, Hashable, Comparable, Sendable {
  /// The app's number. A later version has a greater one.
  package var number: UInt64

  /// Creates a version from the app's number.
  package init(_ number: UInt64) { self.number = number }

  package static func < (one: SchemaVersion, other: SchemaVersion) -> Bool {
    one.number < other.number
  }
}

/// An app's schema, as far as its syncs are concerned.
package struct RecordSchema: Hashable, Sendable {
  /// The version of this build of the app.
  package var current: SchemaVersion
  /// The version at which the app began to make migration syncs; `nil`: it makes none.
  package var migrationsEnabledAt: SchemaVersion?

  /// Creates a schema; by default without migration syncs.
  package init(_ current: SchemaVersion, migrationsEnabledAt: SchemaVersion? = nil) {
    self.current = current
    self.migrationsEnabledAt = migrationsEnabledAt
  }
}

/// A pull after the app was updated. An older version of the app could not take all tables and
/// columns. So the answer also has every record that lacks some.
package enum RecordMigration {
  /// What a sync does about the schema.
  package struct Plan: Hashable, Sendable {
    /// Also pulls what was added to the schema since this version, up to the current one.
    package var from: SchemaVersion?
    /// Whether the current version is noted as the last synced one.
    package var notesSchema: Bool
  }

  /// A mistake in the app, after which nothing may be pulled or noted.
  package enum Mistake: Error, Hashable, Sendable {
    /// The last sync was made by a later version of the app.
    case syncedByLaterVersion
    /// Migration syncs begin at a version that does not exist yet.
    case enabledAtLaterVersion
  }

  /// Decides what a sync does.
  ///
  /// A last synced version below `migrationsEnabledAt` is not in WatermelonDB's table: everything
  /// since that version is pulled. If there is none, `migrationsEnabledAt` takes its place. This
  /// may be too late, but nothing better is known.
  package static func plan(
    lastPulledAt: RecordStamp?, migrationsEnabledAt enabled: SchemaVersion?,
    lastSynced: SchemaVersion?, current: SchemaVersion
  ) throws(Mistake) -> Plan {
    if let lastSynced, lastSynced > current { throw .syncedByLaterVersion }
    if let enabled, enabled > current { throw .enabledAtLaterVersion }
    guard lastPulledAt != nil else { return Plan(from: nil, notesSchema: true) }
    guard let enabled, lastSynced != current else { return Plan(from: nil, notesSchema: false) }
    let from = lastSynced ?? enabled
    return Plan(from: from < current ? from : nil, notesSchema: true)
  }
}

/// A request for records.
package struct RecordPull: Hashable, Sendable {
  /// The client that asks.
  package var client: ClientID
  /// The client's place; `nil`: it has nothing, and asks for the first page.
  package let finger: RecordFinger?
  /// The version of the schema that the answer must be for.
  package let schema: SchemaVersion
  /// The answer must also have every record of the tables added since this version, and of those
  /// with columns added since. `nil`: no migration.
  package let migratesFrom: SchemaVersion?
  /// Whether ``PulledRecords/schema`` must be ``schema``; if not, it must be `nil`.
  package let notesSchema: Bool

  /// Prepares a pull. A mistake in the app's schema is `unsupported`: only another build of the app
  /// can go on. An update of the app between two pages is `expired`: the first pages lack what the
  /// new version knows.
  package init(
    client: ClientID, after finger: RecordFinger?, schema: RecordSchema
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
    self.client = client
    self.finger = finger
    self.schema = schema.current
    migratesFrom = plan.from
    notesSchema = plan.notesSchema
  }
}

extension SchemaVersion: CustomStringConvertible {
  package var description: String { "v\(number)" }
}
