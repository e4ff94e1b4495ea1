/// An app's schema, as far as its syncs are concerned. Its version is the app's number for the
/// tables and columns that it knows: a later version has a greater one.
public struct RecordSchema: Hashable, Sendable {
  /// The version of this build of the app.
  package var current: UInt64
  /// The version at which the app began to make migration syncs; `nil`: it makes none.
  package var migrationsEnabledAt: UInt64?

  /// Creates a schema; by default without migration syncs.
  ///
  /// - Parameters:
  ///   - current: the version of this build of the app.
  ///   - enabled: the version at which the app began to make migration syncs: the first one whose
  ///     server answers ``RecordPull/migratesFrom``. Write it once, and never change it.
  public init(_ current: UInt64, migrationsEnabledAt enabled: UInt64? = nil) {
    self.current = current
    migrationsEnabledAt = enabled
  }
}

/// A pull after the app was updated. An older version of the app could not take all tables and
/// columns. So the answer also has every record that lacks some.
package enum RecordMigration {
  /// What a sync does about the schema.
  package struct Plan: Hashable, Sendable {
    /// Also pulls what was added to the schema since this version, up to the current one.
    package var from: UInt64?
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
    lastPulledAt: RecordStamp?, migrationsEnabledAt enabled: UInt64?,
    lastSynced: UInt64?, current: UInt64
  ) throws(Mistake) -> Plan {
    if let lastSynced, lastSynced > current { throw .syncedByLaterVersion }
    if let enabled, enabled > current { throw .enabledAtLaterVersion }
    guard lastPulledAt != nil else { return Plan(from: nil, notesSchema: true) }
    guard let enabled, lastSynced != current else { return Plan(from: nil, notesSchema: false) }
    let from = lastSynced ?? enabled
    return Plan(from: from < current ? from : nil, notesSchema: true)
  }
}
