package import UpdateMachine

// Changes of rows. All are made here, one after the other, whoever makes them. So of two changes of
// one row the later one stands, on all devices.

extension TableServer {
  /// Makes a change. Throws, and does nothing, if it is impossible:
  ///
  /// | code | meaning |
  /// | --- | --- |
  /// | `taken` | the ID of the new row was used before, perhaps by a row that is deleted |
  /// | `deleted` | the row, or the new parent, is deleted |
  /// | `unknown` | the table, the row or the new parent never was |
  /// | `no-parent` | a row of the top table has no parent |
  package mutating func make(_ change: TableChange, at now: Moment) throws(ChangeRefusal) {
    let key = change.row
    guard Int(key.table) < tables.count else { throw ChangeRefusal("unknown") }
    switch change {
    case .insert(_, let parent, let fields):
      if taken.contains(key) { throw ChangeRefusal("taken") }
      try checkParent(parent, of: key)
      taken.insert(key)
      tables[Int(key.table)][key.id] = Row(stamp: tick(now), parent: parent, fields: fields)
      announce(key)
    case .set(_, let fields):
      try checkRow(key)
      update(key, at: now) { row in
        for member in fields.members { row.fields?[member.name] = member.value }
      }
    case .move(_, let parent):
      try checkRow(key)
      try checkParent(parent, of: key)
      update(key, at: now) { row in
        row.wasMoved = row.wasMoved || row.parent != parent
        row.parent = parent
      }
    case .delete:
      try checkRow(key)
      delete(key, at: now)
    }
  }

  /// Few rows are below a row, and each is deleted like it. But tens of thousands may be below a
  /// node, a row of the top table. They go without a trace, and each client removes them itself.
  ///
  /// A row that was moved into the node is an exception, which is ours: a client that was away
  /// during the move holds it below another node, and would keep it for ever.
  private mutating func delete(_ key: RowKey, at now: Moment) {
    let below = rows(below: key)
    let forgets =
      key.table == 0 && below.contains { tables[Int($0.table)][$0.id]?.wasMoved == true }
      && commits(.forgetsMoved)
    for row in below {
      let leavesTrace = tables[Int(row.table)][row.id]?.wasMoved == true && !forgets
      if key.table > 0 || leavesTrace {
        bury(row, at: now)
      } else {
        tables[Int(row.table)][row.id] = nil
      }
    }
    bury(key, at: now)
  }

  private mutating func bury(_ key: RowKey, at now: Moment) {
    update(key, at: now) { row in
      row.fields = nil
      row.parent = nil
      row.wasMoved = false
    }
  }

  private mutating func update(_ key: RowKey, at now: Moment, _ body: (inout Row) -> Void) {
    guard var row = tables[Int(key.table)][key.id] else { return }
    body(&row)
    row.stamp = tick(now)
    row.version += 1
    tables[Int(key.table)][key.id] = row
    announce(key)
  }

  /// The rows below a row, on all levels, ascending by key.
  private func rows(below key: RowKey) -> [RowKey] {
    var found: [RowKey] = []
    var parents: Set = [key.id]
    for table in tables.indices.dropFirst(Int(key.table) + 1) {
      let children = tables[table].filter { $0.value.parent.map(parents.contains) ?? false }
      parents = Set(children.keys)
      found += parents.sorted().map { RowKey(UInt8(table), $0) }
    }
    return found
  }

  private func checkRow(_ key: RowKey) throws(ChangeRefusal) {
    if tables[Int(key.table)][key.id]?.fields != nil { return }
    throw ChangeRefusal(taken.contains(key) ? "deleted" : "unknown")
  }

  private func checkParent(_ parent: Int64?, of key: RowKey) throws(ChangeRefusal) {
    guard let parent else { return }
    guard key.table > 0 else { throw ChangeRefusal("no-parent") }
    try checkRow(RowKey(key.table - 1, parent))
  }
}
