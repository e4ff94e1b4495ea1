package import SyncProtocols
internal import UpdateMachine

// Directory: the room of the apps whose clients hold everything and change nothing.
//
// Directory may use: Choices, Disk, Run.

/// The simulator's own app: a small directory with few messages, but every kind of change that a client
/// can get wrong: messages that come, change, go and come back, flags for many at once, and
/// settings where the last value wins.
package enum DirectoryApp: SimulatedApp {
  package typealias Disk = RowDiskOnDemand<DirectoryModel, QueueFinger>

  package static func beginning(_ choices: inout Choices) -> DirectoryState {
    var state = DirectoryState()
    for id in 1...3 {
      state.apply(
        .new(id: Int64(id), content: UInt32(choices.draw(.workload, below: 100))))
    }
    return state
  }

  package static func nextEvent(_ truth: DirectoryState, _ choices: inout Choices) -> DirectoryEvent
  {
    let content = UInt32(choices.draw(.workload, below: 1 << 20))
    let slot = Int(choices.draw(.workload, below: 8))
    let id = truth.ids[slot]
    switch choices.draw(.workload, below: 8) {
    case 0, 1:
      // IDs only grow, and each can live in only one slot: take the next ID whose slot is free.
      let next = truth.newest + 1
      guard truth.ids[Int(next % 8)] == 0 else { return .delete(id: truth.ids[Int(next % 8)]) }
      return .new(id: next, content: content)
    case 2: return id == 0 ? .setting(key: 0, value: content) : .delete(id: id)
    case 3, 4: return id == 0 ? .setting(key: 1, value: content) : .edit(id: id, content: content)
    case 5: return .setting(key: UInt8(slot % 4), value: content)
    default:
      return .flags(
        adds: content & 1 == 0, flag: UInt8(content >> 1 & 1), slots: UInt8(content >> 2 & 0xFF))
    }
  }

  package static func eventToRefuse(_ truth: DirectoryState) -> DirectoryEvent? {
    .unreadable(value: UInt32(truncatingIfNeeded: truth.checksum) & 0xFFFF)
  }

  package static func snapshotToRefuse(_ truth: DirectoryState) -> DirectorySnapshot? {
    DirectorySnapshot(state: truth, isReadable: false)
  }

  package static func checksum(of model: DirectoryModel) -> UInt64 { model.state.checksum }

  package static func describe(_ model: DirectoryModel) -> String { model.state.description }

  package static func describe(_ truth: DirectoryState) -> String { truth.description }

  package static func describe(_ event: DirectoryEvent) -> String {
    switch event {
    case .new(let id, let content): return "new message \(id) with content \(content)"
    case .edit(let id, let content): return "message \(id) edited to content \(content)"
    case .delete(let id): return "message \(id) deleted"
    case .flags(let adds, let flag, let slots):
      var list = ""
      for slot in UInt8(0)..<8 where slots & (1 << slot) != 0 { list += " \(slot)" }
      return "flag \(flag) \(adds ? "set" : "cleared") in slots\(list.isEmpty ? " none" : list)"
    case .setting(let key, let value):
      return "setting \(key % 4) \(key % 4 == 2 ? "grows by" : "becomes") \(value)"
    case .unreadable: return "something that no client can read"
    }
  }
}

/// One change in the directory.
package enum DirectoryEvent: Hashable, Sendable {
  case new(id: Int64, content: UInt32)
  case edit(id: Int64, content: UInt32)
  case delete(id: Int64)
  /// One flag, set or cleared on every message whose slot's bit is set.
  case flags(adds: Bool, flag: UInt8, slots: UInt8)
  case setting(key: UInt8, value: UInt32)
  /// A change that every client refuses; the truth takes it as a setting.
  case unreadable(value: UInt32)
}

/// The whole directory: at most eight messages, each in the slot of its ID modulo 8, and four settings.
/// The third setting is the sum of its assigned values. The size is fixed, so a copy is cheap.
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
      guard ids[slot] == id else { return }  // Not held: nothing to change.
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

/// The directory as a register returns it.
package struct DirectorySnapshot: Hashable, Sendable {
  package var state: DirectoryState
  /// Whether clients accept it; `false` for the fault `refused-snapshot`.
  package var isReadable: Bool
}

/// The client's model of the directory.
package struct DirectoryModel: SyncModel, Hashable {
  package private(set) var state: DirectoryState

  /// Why the model could not take something.
  package enum Refusal: Error, Hashable, Sendable {
    case unreadable
  }

  package init(snapshot: DirectorySnapshot) throws(Refusal) {
    guard snapshot.isReadable else { throw .unreadable }
    state = snapshot.state
  }

  init(_ state: DirectoryState) { self.state = state }

  package mutating func apply(_ event: DirectoryEvent) throws(Refusal) {
    if case .unreadable = event { throw .unreadable }
    state.apply(event)
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
