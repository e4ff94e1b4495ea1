// The undo stacks as rows: one for each entry, by its ticket.

extension StoredTable {
  /// What can be undone and redone.
  static var undoHistory: StoredTable { StoredTable(4) }
}

extension UndoHistory where Change: Storable {
  /// Writes the rows that differ from `old`. An inverse that cannot be encoded is not saved: it is
  /// no change that the user has made.
  func store(since old: UndoHistory?, into rows: inout RowWriter) {
    for stack in [UndoStack.undo, .redo] {
      let before = old?[stack] ?? []
      let now = self[stack]
      for entry in before
      where !undo.contains(where: { $0.ticket == entry.ticket })
        && !redo.contains(where: { $0.ticket == entry.ticket })
      {
        rows.remove(.undoHistory, entry.ticket.number.keyBytes)
      }
      for entry in now
      where !before.contains(where: {
        $0.ticket == entry.ticket && $0.version == entry.version
      }) {
        var bytes = ByteWriter()
        bytes.put(stack.rawValue)
        bytes.put(entry.version.number)
        bytes.put(entry.name)
        bytes.put(entry.undone?.number)
        bytes.put(entry.inverse)
        if bytes.failure == nil {
          rows.put(.undoHistory, entry.ticket.number.keyBytes, bytes.bytes)
        }
      }
    }
  }

  /// Reads what was saved. An entry that this version of the app cannot read is left out.
  init(stored rows: RowReader) {
    self.init()
    for row in rows[.undoHistory] {
      var bytes = ByteReader(row.value)
      do throws(StoredFormError) {
        let ticket = MutationTicket(try UInt64(keyBytes: row.key.bytes))
        guard let stack = UndoStack(rawValue: try bytes.takeByte()) else { continue }
        let version = OutboxVersion(try bytes.takeUInt64())
        let name = try bytes.takeString()
        let undone = try bytes.takeOptional(UInt64.self).map { MutationTicket($0) }
        let inverse: Change = try bytes.take()
        try bytes.end()
        self[stack].append(
          Entry(ticket, name: name, inverse: inverse, undone: undone, version: version))
      } catch {}
    }
  }
}
