/// The tables of a file, as migration steps. A file with n steps has version n (`PRAGMA
/// user_version`). Missing steps are applied in one transaction.
///
/// A step that has shipped never changes. Add another instead.
struct Schema {
  /// Each step is a list of statements.
  var steps: [[String]]

  /// The newest version that this library can read.
  var version: Int64 { Int64(steps.count) }

  /// "UpM1", as `PRAGMA application_id`. It tells us, and anyone else, that the file is ours.
  static let applicationID: Int64 = 0x5570_4D31

  static let current = Schema(steps: [
    [
      // `aside`: 0 is the replica itself; 1, 2, … are those set aside.
      """
      CREATE TABLE replica(
        id INTEGER PRIMARY KEY, name TEXT NOT NULL, aside INTEGER NOT NULL,
        written_at INTEGER NOT NULL, UNIQUE(name, aside))
      """,
      // One tree in key order: a step writes the pages that its rows are on, and a table is read
      // from front to back. `sum` covers tab, key and value.
      """
      CREATE TABLE row(
        replica INTEGER NOT NULL, tab INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL,
        sum INTEGER NOT NULL, PRIMARY KEY(replica, tab, key)) WITHOUT ROWID
      """,
    ]
  ])

  /// Applies the missing steps. The application ID is written in the same transaction as the first
  /// step, so no file of ours lacks it.
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
