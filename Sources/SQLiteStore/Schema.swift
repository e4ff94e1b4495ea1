/// The tables of a file, as the steps that lead to them: a file that is n steps old has the version n
/// (`PRAGMA user_version`), and is brought forward by those that it lacks, in one transaction.
///
/// A step that has shipped is never changed: another is added.
struct Schema {
  /// Each a list of statements.
  var steps: [[String]]

  /// What this version of the library knows: as far as it goes, a file can be read.
  var version: Int64 { Int64(steps.count) }

  /// "UpM1", as `PRAGMA application_id`: who finds the file can tell whose it is, and so can we.
  static let applicationID: Int64 = 0x5570_4D31

  static let current = Schema(steps: [
    [
      // `aside`: 0 is the replica itself, and 1, 2, … what was set aside of it.
      """
      CREATE TABLE replica(
        id INTEGER PRIMARY KEY, name TEXT NOT NULL, aside INTEGER NOT NULL,
        written_at INTEGER NOT NULL, UNIQUE(name, aside))
      """,
      // One tree, in the order of the keys: a step writes the pages that its rows are on, and a table
      // is read from front to back. `sum` is over tab, key and value.
      """
      CREATE TABLE row(
        replica INTEGER NOT NULL, tab INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL,
        sum INTEGER NOT NULL, PRIMARY KEY(replica, tab, key)) WITHOUT ROWID
      """,
    ]
  ])

  /// Brings a file forward. The application's number is written with the first step, so that no file
  /// of ours is without it.
  func bringForward(_ connection: Connection, from version: Int64) throws(SQLiteFailure) {
    guard version < self.version else { return }
    try connection.transaction { () throws(SQLiteFailure) in
      for step in steps[Int(version)...] {
        for sql in step { try connection.run(sql) }
      }
      try connection.run("PRAGMA application_id = \(Schema.applicationID)")
      try connection.run("PRAGMA user_version = \(self.version)")
    }
  }
}
