public import UpdateMachine

// The store's requests as SQL statements.

extension SQLiteFile {
  func load(
    _ name: String, leaving tables: [StoredTable]
  ) throws(StoreError) -> SavedRows? {
    try perform { connection throws(SQLiteFailure) in
      guard let kept = try connection.replica(named: name) else { return nil }
      var rows: [(key: StoredKey, value: [UInt8])] = []
      // Loads the tables between the omitted ones, so that the omitted rows are not even scanned.
      var first: Int64 = 0
      for left in Set(tables).sorted(by: { $0.number < $1.number }) {
        let last = Int64(left.number)
        if first < last { try connection.load(kept.id, tables: first..<last, into: &rows) }
        first = Int64(left.number) + 1
      }
      try connection.load(kept.id, tables: first..<256, into: &rows)
      return SavedRows(rows: rows, writtenAt: kept.writtenAt, unloaded: tables)
    }
  }

  func rows(
    for queries: [RowQuery], of name: String
  ) throws(StoreError) -> [[(key: StoredKey, value: [UInt8])]] {
    try perform { connection throws(SQLiteFailure) in
      guard let kept = try connection.replica(named: name) else { return queries.map { _ in [] } }
      var answers: [[(key: StoredKey, value: [UInt8])]] = []
      for query in queries { answers.append(try connection.rows(for: query, of: kept.id)) }
      return answers
    }
  }

  func append(_ entry: JournalEntry, to name: String) throws(StoreError) {
    try perform { connection throws(SQLiteFailure) in
      try connection.transaction { () throws(SQLiteFailure) in
        guard let kept = try connection.replica(named: name) else { throw .nothingSaved }
        if let follows = entry.follows, follows != kept.writtenAt { throw .taken }
        try connection.setWrittenAt(entry.writtenAt, of: kept.id)
        for range in entry.cleared { try connection.clear(range, of: kept.id) }
        var batch = RowBatch(into: kept.id, connection)
        for row in entry.rows {
          if let value = row.value {
            try batch.put(row.key, value)
          } else {
            try batch.flush()
            try connection.remove(row.key, from: kept.id)
          }
        }
        try batch.flush()
      }
    }
  }

  func checkpoint(_ form: SavedRows, to name: String) throws(StoreError) {
    try perform { connection throws(SQLiteFailure) in
      guard let kept = try connection.replica(named: name) else {
        return try add(form, as: name, to: connection)
      }
      try connection.transaction { () throws(SQLiteFailure) in
        try connection.removeRows(of: kept.id)
        try connection.setWrittenAt(form.writtenAt, of: kept.id)
        try connection.put(form.rows, into: kept.id)
      }
    }
  }

  /// Sets the replica aside, if there is one, and writes another in its place.
  func replace(_ name: String, with form: SavedRows) throws(StoreError) {
    try perform { connection throws(SQLiteFailure) in try add(form, as: name, to: connection) }
  }

  private func add(
    _ form: SavedRows, as name: String, to connection: Connection
  ) throws(SQLiteFailure) {
    let isLong = form.rows.reduce(0) { $0 + $1.key.bytes.count + $1.value.count } > logSize
    try connection.transaction(withoutLog: isLong) { () throws(SQLiteFailure) in
      try connection.setAside(name)
      let id = try connection.addReplica(named: name, at: form.writtenAt)
      try connection.put(form.rows, into: id)
    }
  }

  /// - Parameter aside: the number of the one to erase; `nil`: all of this name.
  func erase(_ name: String, aside: Int64?) throws(StoreError) {
    try perform { connection throws(SQLiteFailure) in
      // The user has logged out, so deleted bytes are overwritten, and so is the log that has them
      // too.
      try connection.run("PRAGMA secure_delete = ON")
      // If this fails the option stays on. Later deletions are then overwritten too: slower, but
      // harmless.
      defer { _ = try? connection.run("PRAGMA secure_delete = OFF") }
      try connection.transaction { () throws(SQLiteFailure) in
        for replica in try connection.replicas()
        where replica.name == name && aside ?? replica.aside == replica.aside {
          try connection.removeRows(of: replica.id)
          try connection.removeReplica(replica.id)
        }
      }
      try connection.run("PRAGMA wal_checkpoint(TRUNCATE)")
    }
  }

  /// All replicas in the file, including those set aside, ordered by name and then by when they
  /// were set aside.
  public func replicas() throws(StoreError) -> [KeptReplica] {
    try perform { connection throws(SQLiteFailure) in
      try connection.replicas().map {
        KeptReplica(name: $0.name, aside: $0.aside, writtenAt: $0.writtenAt)
      }
    }
  }

  /// Returns all rows of a replica, also of one that was set aside; `nil`: it is gone. Throws
  /// `unreadable` if one of them is damaged. `SavedReplica.changes(in:)` finds the user's changes
  /// in them.
  public func rows(of replica: KeptReplica) throws(StoreError) -> SavedRows? {
    try perform { connection throws(SQLiteFailure) in
      let lines = try connection.replicas()
      guard let kept = lines.first(where: { $0.name == replica.name && $0.aside == replica.aside })
      else { return nil }
      var rows: [(key: StoredKey, value: [UInt8])] = []
      try connection.load(kept.id, tables: 0..<256, into: &rows)
      return SavedRows(rows: rows, writtenAt: kept.writtenAt)
    }
  }

  /// Deletes a replica for good.
  public func erase(_ replica: KeptReplica) throws(StoreError) {
    try erase(replica.name, aside: replica.aside)
  }
}

/// A row of the table `replica`.
struct ReplicaLine {
  var id: Int64
  var name: String
  var aside: Int64
  var writtenAt: WallTime
}

extension Connection {
  fileprivate func replicas() throws(SQLiteFailure) -> [ReplicaLine] {
    let statement = try statement(
      "SELECT id, name, aside, written_at FROM replica ORDER BY name, aside")
    defer { statement.reset() }
    var lines: [ReplicaLine] = []
    while try statement.step() { lines.append(statement.replicaLine) }
    return lines
  }

  /// The replica in use.
  fileprivate func replica(named name: String) throws(SQLiteFailure) -> ReplicaLine? {
    let statement = try statement(
      "SELECT id, name, aside, written_at FROM replica WHERE name = ? AND aside = 0")
    defer { statement.reset() }
    try statement.bind(1, name)
    return try statement.step() ? statement.replicaLine : nil
  }

  fileprivate func addReplica(
    named name: String, at writtenAt: WallTime
  ) throws(SQLiteFailure) -> Int64 {
    let statement = try statement(
      "INSERT INTO replica(name, aside, written_at) VALUES(?, 0, ?)")
    try statement.bind(1, name)
    try statement.bind(2, writtenAt.milliseconds)
    try statement.run()
    return lastID
  }

  fileprivate func setAside(_ name: String) throws(SQLiteFailure) {
    let statement = try statement(
      """
      UPDATE replica SET aside = (SELECT max(aside) + 1 FROM replica WHERE name = ?1)
      WHERE name = ?1 AND aside = 0
      """)
    try statement.bind(1, name)
    try statement.run()
  }

  fileprivate func setWrittenAt(_ time: WallTime, of id: Int64) throws(SQLiteFailure) {
    let statement = try statement("UPDATE replica SET written_at = ? WHERE id = ?")
    try statement.bind(1, time.milliseconds)
    try statement.bind(2, id)
    try statement.run()
  }

  fileprivate func removeReplica(_ id: Int64) throws(SQLiteFailure) {
    let statement = try statement("DELETE FROM replica WHERE id = ?")
    try statement.bind(1, id)
    try statement.run()
  }

  fileprivate func put(
    _ rows: [(key: StoredKey, value: [UInt8])], into id: Int64
  ) throws(SQLiteFailure) {
    var batch = RowBatch(into: id, self)
    for row in rows { try batch.put(row.key, row.value) }
    try batch.flush()
  }

  fileprivate func remove(_ key: StoredKey, from id: Int64) throws(SQLiteFailure) {
    let statement = try statement("DELETE FROM row WHERE replica = ? AND tab = ? AND key = ?")
    try statement.bind(1, id)
    try statement.bind(2, Int64(key.table.number))
    try statement.bind(3, key.bytes)
    try statement.run()
  }

  fileprivate func load(
    _ id: Int64, tables: Range<Int64>, into rows: inout [(key: StoredKey, value: [UInt8])]
  ) throws(SQLiteFailure) {
    let statement = try statement(
      """
      SELECT tab, key, value, sum FROM row WHERE replica = ? AND tab >= ? AND tab < ?
      ORDER BY tab, key
      """)
    defer { statement.reset() }
    try statement.bind(1, id)
    try statement.bind(2, tables.lowerBound)
    try statement.bind(3, tables.upperBound)
    while try statement.step() { rows.append(try statement.row()) }
  }

  fileprivate func rows(
    for query: RowQuery, of id: Int64
  ) throws(SQLiteFailure) -> [(key: StoredKey, value: [UInt8])] {
    let direction = query.order == .ascending ? "ASC" : "DESC"
    let statement = try statement(
      "SELECT tab, key, value, sum FROM row WHERE replica = ? AND tab = ? AND key >= ? AND key <= ? "
        + "ORDER BY key \(direction) LIMIT ?")
    defer { statement.reset() }
    try statement.bind(1, id)
    try statement.bind(2, Int64(query.range.table.number))
    try statement.bind(3, query.range.first)
    try statement.bind(4, query.range.last)
    try statement.bind(5, Int64(query.limit))
    var rows: [(key: StoredKey, value: [UInt8])] = []
    while try statement.step() { rows.append(try statement.row()) }
    return rows
  }

  fileprivate func clear(_ range: RowRange, of id: Int64) throws(SQLiteFailure) {
    let statement = try statement(
      "DELETE FROM row WHERE replica = ? AND tab = ? AND key >= ? AND key <= ?")
    try statement.bind(1, id)
    try statement.bind(2, Int64(range.table.number))
    try statement.bind(3, range.first)
    try statement.bind(4, range.last)
    try statement.run()
  }

  fileprivate func removeRows(of id: Int64) throws(SQLiteFailure) {
    let statement = try statement("DELETE FROM row WHERE replica = ?")
    try statement.bind(1, id)
    try statement.run()
  }
}

extension Statement {
  /// Reads the columns id, name, aside, written_at.
  fileprivate var replicaLine: ReplicaLine {
    ReplicaLine(
      id: number(0), name: text(1), aside: number(2),
      writtenAt: WallTime(milliseconds: number(3)))
  }
}
