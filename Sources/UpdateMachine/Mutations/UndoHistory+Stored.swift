// The undo stacks as rows: one for each entry, by its ticket.

extension StoredTable {
  /// What can be undone and redone.
  static var undoHistory: StoredTable { StoredTable(4) }
}

extension UndoHistory where Change: Storable {
  /// Writes the rows that differ from `old`. An inverse that cannot be encoded is not saved: it is
  /// no change that the user has made.
  func store(since old: UndoHistory?, into rows: inout RowWriter) {
    if let old, isStored(as: old) { return }
    for key in old?.strays ?? [] where !strays.contains(key) { rows.remove(.undoHistory, key) }
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
        bytes.put(entry.place)
        bytes.put(entry.next)
        let key = entry.ticket.number.keyBytes
        if bytes.failure == nil {
          rows.put(.undoHistory, key, bytes.bytes)
        } else {
          rows.remove(.undoHistory, key)
        }
      }
    }
  }

  /// Whether both have equal rows. Almost every step leaves the stacks as they were.
  private func isStored(as old: UndoHistory) -> Bool {
    func isSame(_ one: Entry, _ other: Entry) -> Bool {
      one.ticket == other.ticket && one.version == other.version
    }
    return old.strays == strays && undo.elementsEqual(old.undo, by: isSame)
      && redo.elementsEqual(old.redo, by: isSame)
  }

  /// Reads what was saved. An entry that this version of the app cannot read is left out.
  ///
  /// - Parameter last: the last ticket given.
  init(stored rows: RowReader, through last: MutationTicket) {
    self.init()
    for row in rows[.undoHistory] {
      var bytes = ByteReader(row.value)
      do throws(StoredFormError) {
        let ticket = MutationTicket(try UInt64(keyBytes: row.key.bytes))
        guard let stack = UndoStack(rawValue: try bytes.takeByte()) else {
          throw StoredFormError(expected: "undo or redo")
        }
        let version = OutboxVersion(try bytes.takeUInt64())
        let name = try bytes.takeString()
        let undone = try bytes.takeOptional(UInt64.self).map { MutationTicket($0) }
        let place = try bytes.takeUInt64()
        guard ticket <= last, undone ?? ticket <= last, place <= 1 << 62 else {
          throw StoredFormError(expected: "tickets that were given")
        }
        let next: Change = try bytes.take()
        try bytes.end()
        var entry = Entry(ticket, name: name, next: next, undone: undone, version: version)
        entry.place = place
        self[stack].append(entry)
      } catch {
        strays.append(row.key.bytes)
      }
    }
    undo.sort { $0.place < $1.place }
    redo.sort { $0.place < $1.place }
  }
}
