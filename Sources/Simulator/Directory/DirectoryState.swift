internal import SyncProtocols
internal import UpdateMachine

/// The whole directory: at most eight messages, each in the slot of its ID modulo 8, and four
/// settings. The third setting is the sum of its assigned values. The size is fixed, so a copy is
/// cheap.
package struct DirectoryState: ServerTruth, Hashable {
  /// The message ID in each slot; 0: none.
  package internal(set) var ids = SIMD8<Int64>(repeating: 0)
  var contents = SIMD8<UInt32>(repeating: 0)
  var flags = SIMD8<UInt8>(repeating: 0)
  var settings = SIMD4<UInt32>(repeating: 0)
  /// The greatest ID so far.
  package internal(set) var newest: Int64 = 0
  package internal(set) var checksum: UInt64 = 0

  package init() {}

  package var snapshot: DirectorySnapshot { DirectorySnapshot(state: self, isReadable: true) }

  package mutating func apply(_ event: DirectoryEvent) {
    switch event {
    case .new(let id, let content):
      let slot = Int(id % 8)
      change(slot) { state in
        state.ids[slot] = id
        state.contents[slot] = content
        state.flags[slot] = 0
      }
      newest = max(newest, id)
    case .edit(let id, let content):
      let slot = Int(id % 8)
      guard ids[slot] == id else { return }  // The message is not held: nothing changes.
      change(slot) { $0.contents[slot] = content }
    case .delete(let id):
      let slot = Int(id % 8)
      guard ids[slot] == id else { return }
      change(slot) { $0.ids[slot] = 0 }
    case .flags(let adds, let flag, let slots):
      for slot in 0..<8 where slots & (1 << UInt8(slot)) != 0 && ids[slot] != 0 {
        change(slot) { state in
          if adds { state.flags[slot] |= 1 << flag } else { state.flags[slot] &= ~(1 << flag) }
        }
      }
    case .setting(let key, let value):
      // One setting is a sum, so that an event applied twice shows.
      set(Int(key % 4), to: key % 4 == 2 ? settings[2] &+ value : value)
    case .unreadable(let value):
      set(3, to: value)
    }
  }

  package static func merged(_ pending: DirectoryEvent, _ newer: DirectoryEvent) -> DirectoryEvent?
  {
    guard case .flags(let adds, let flag, let slots) = pending,
      case .flags(adds, flag, let more) = newer
    else { return nil }
    return .flags(adds: adds, flag: flag, slots: slots | more)
  }

  package static func isDeletion(_ event: DirectoryEvent) -> Bool {
    if case .delete = event { true } else { false }
  }

  /// Updates the checksum: the sum of a word for each message and each setting. It does not depend
  /// on the order of arrival, and a change costs two words.
  private mutating func change(_ slot: Int, _ body: (inout DirectoryState) -> Void) {
    checksum &-= word(slot)
    body(&self)
    checksum &+= word(slot)
  }

  private func word(_ slot: Int) -> UInt64 {
    guard ids[slot] != 0 else { return 0 }
    let rest = UInt64(contents[slot]) << 8 | UInt64(flags[slot])
    return StateDigest.mixed(UInt64(bitPattern: ids[slot]) << 40 ^ rest)
  }

  private mutating func set(_ key: Int, to value: UInt32) {
    checksum &-= StateDigest.mixed(UInt64(settings[key]) << 8 | UInt64(key) | 1 << 63)
    settings[key] = value
    checksum &+= StateDigest.mixed(UInt64(settings[key]) << 8 | UInt64(key) | 1 << 63)
  }
}

extension DirectoryState: CustomStringConvertible {
  /// A text like "1:47 2:3+1 · 0 0 0 0": each message with its content and flags, then the
  /// settings.
  package var description: String {
    var text = ""
    for slot in 0..<8 where ids[slot] != 0 {
      text += "\(ids[slot]):\(contents[slot])"
      if flags[slot] != 0 { text += "+\(flags[slot])" }
      text += " "
    }
    return text + "· \(settings[0]) \(settings[1]) \(settings[2]) \(settings[3])"
  }
}
