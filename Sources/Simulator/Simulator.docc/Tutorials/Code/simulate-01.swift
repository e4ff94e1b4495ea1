import UpdateMachine

/// What happens at the door.
enum DoorEvent: Equatable, Sendable {
  case comes(String)
  case leaves(String)
}

/// Who is at the party, as the app holds it.
struct GuestList: SyncModel {
  typealias Refusal = Never

  private(set) var names: [String]

  init(snapshot: [String]) { names = snapshot }

  mutating func apply(_ event: DoorEvent) {
    switch event {
    case .comes(let name): if !names.contains(name) { names.append(name) }
    case .leaves(let name): names.removeAll { $0 == name }
    }
  }
}
