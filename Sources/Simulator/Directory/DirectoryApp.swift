package import SyncProtocols
internal import UpdateMachine

// Directory: the room of the apps whose clients hold everything and change nothing.
//
// Directory may use: Choices, Disk, Run.

/// The simulator's own app: a small directory with few messages, but every kind of change that a
/// client can get wrong: messages that come, change, go and come back, flags for many at once, and
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
