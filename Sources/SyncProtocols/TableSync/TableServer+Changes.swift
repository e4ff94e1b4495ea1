package import UpdateMachine

// Changes of rows. The server makes all changes, one after another. If two devices change the same
// row, the later change wins on every device.

extension TableServer {
  /// Makes a change. Throws, and does nothing, if it is impossible. ``TableChange`` has the codes.
  package mutating func make(_ change: TableChange, at now: Moment) throws(ChangeRefusal) {
    let key = change.row
    guard key.table < tableCount else { throw ChangeRefusal("unknown") }
    switch change {
    case .insert(_, let parent, let fields):
      if taken.contains(key) { throw ChangeRefusal("taken") }
      try checkParent(parent, of: key)
      taken[key] = true
      stored[key] = Row(stamp: tick(now), parent: parent, fields: fields)
      announce(key)
    case .set(_, let fields):
      try checkRow(key)
      set(fields, of: key, at: now)
    case .restore(_, let fields, let found):
      try checkRow(key)
      let row = stored[key]?.fields ?? JSONObject()
      guard row.hasValues(of: found) else { throw ChangeRefusal("changed") }
      set(fields, of: key, at: now)
    case .move(_, let parent):
      try checkRow(key)
      try checkParent(parent, of: key)
      move(key, to: parent, at: now)
    case .moveBack(_, let parent, let found):
      try checkRow(key)
      guard stored[key]?.parent == found else { throw ChangeRefusal("changed") }
      try checkParent(parent, of: key)
      move(key, to: parent, at: now)
    case .delete:
      try checkRow(key)
      delete(key, at: now)
    }
  }

  private mutating func set(_ fields: JSONObject, of key: TableRowKey, at now: Moment) {
    update(key, at: now) { row in
      for member in fields.members { row.fields?[member.name] = member.value }
    }
  }

  private mutating func move(_ key: TableRowKey, to parent: Int64?, at now: Moment) {
    update(key, at: now) { row in
      row.wasMoved = row.wasMoved || row.parent != parent
      row.parent = parent
    }
  }

  /// Few rows are below a row, and each is deleted like it. But tens of thousands may be below a
  /// node, a row of the top table. They go without a trace, and each client removes them itself.
  ///
  /// A row that was moved into the node is an exception, which is ours: a client that was away
  /// during the move holds it below another node, and would keep it for ever.
  private mutating func delete(_ key: TableRowKey, at now: Moment) {
    for (row, old) in rows(below: key) {
      if key.table > 0 || old.wasMoved {
        bury(row, at: now)
      } else {
        stored[row] = nil
      }
    }
    bury(key, at: now)
  }

  private mutating func bury(_ key: TableRowKey, at now: Moment) {
    update(key, at: now) { row in
      row.fields = nil
      row.parent = nil
      row.wasMoved = false
    }
  }

  private mutating func update(_ key: TableRowKey, at now: Moment, _ body: (inout Row) -> Void) {
    guard var row = stored[key] else { return }
    body(&row)
    let stamp = tick(now)
    if row.stamp == stamp || !commits(.keepsStamp) { row.stamp = stamp }
    row.version += 1
    stored[key] = row
    announce(key)
  }

  /// The rows below a row, on all levels, ascending by key. Parents come before their children.
  private func rows(below key: TableRowKey) -> [(key: TableRowKey, row: Row)] {
    var parents: VersionedMap<TableRowKey, Bool> = [key: true]
    var found: [(key: TableRowKey, row: Row)] = []
    for (child, row) in stored.ascending(after: TableRowKey(key.table, .max)) {
      guard let parent = row.parent, parents.contains(TableRowKey(child.table - 1, parent)) else {
        continue
      }
      parents[child] = true
      found.append((child, row))
    }
    return found
  }

  private func checkRow(_ key: TableRowKey) throws(ChangeRefusal) {
    if stored[key]?.fields != nil { return }
    throw ChangeRefusal(taken.contains(key) ? "deleted" : "unknown")
  }

  private func checkParent(_ parent: Int64?, of key: TableRowKey) throws(ChangeRefusal) {
    guard let parent else { return }
    guard key.table > 0 else { throw ChangeRefusal("no-parent") }
    try checkRow(TableRowKey(key.table - 1, parent))
  }
}

extension JSONObject {
  /// Whether each of these fields has its value. A field that is missing is null.
  fileprivate func hasValues(of found: JSONObject) -> Bool {
    found.members.allSatisfy { self[$0.name] ?? .null == $0.value }
  }
}
