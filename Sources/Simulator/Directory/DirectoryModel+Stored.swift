package import UpdateMachine

// The directory as rows: one per message, by slot, and one for the rest.

extension DirectoryModel: StorableModel {
  package func store(since old: DirectoryModel?, into rows: inout RowWriter) {
    for slot in 0..<8 where state.message(in: slot) != old?.state.message(in: slot) {
      if let message = state.message(in: slot) {
        rows.put(.firstOfModel, UInt64(slot).keyBytes, message.storedBytes)
      } else if old != nil {
        rows.remove(.firstOfModel, UInt64(slot).keyBytes)
      }
    }
    rows.put(.firstOfModel.advanced(by: 1), state.rest, since: old?.state.rest)
  }

  package init(stored rows: RowReader) throws(StoredFormError) {
    let messages: VersionedMap<UInt64, [Int64]> = try rows.map(of: .firstOfModel)
    let rest: [Int64]? = try rows.value(of: .firstOfModel.advanced(by: 1))
    guard let rest, rest.count == 5 else { throw StoredFormError(expected: "a directory") }
    var state = DirectoryState()
    for (slot, message) in messages {
      guard slot < 8, message.count == 3, message[0] % 8 == Int64(slot), message[0] > 0,
        let content = UInt32(exactly: message[1]), let flags = UInt8(exactly: message[2])
      else { throw StoredFormError(expected: "a message of the directory") }
      state.apply(.new(id: message[0], content: content))
      for flag: UInt8 in 0..<8 where flags & 1 << flag != 0 {
        state.apply(.flags(adds: true, flag: flag, slots: 1 << UInt8(slot)))
      }
    }
    for key in 0..<4 {
      guard let value = UInt32(exactly: rest[key]) else {
        throw StoredFormError(expected: "a setting")
      }
      state.apply(.setting(key: UInt8(key), value: value))
    }
    state.newest = rest[4]
    self.init(state)
  }
}

extension DirectoryState {
  /// A message's ID, content and flags; `nil`: the slot is free.
  fileprivate func message(in slot: Int) -> [Int64]? {
    ids[slot] == 0 ? nil : [ids[slot], Int64(contents[slot]), Int64(flags[slot])]
  }

  /// The settings, and the greatest ID so far.
  fileprivate var rest: [Int64] { (0..<4).map { Int64(settings[$0]) } + [newest] }
}
