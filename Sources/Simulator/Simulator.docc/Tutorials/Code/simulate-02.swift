import SyncProtocols
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

/// Who is at the party, as the server knows it.
struct Party: ServerTruth {
  private(set) var guests: Set<String> = []

  var snapshot: [String] { guests.sorted() }

  mutating func apply(_ event: DoorEvent) {
    switch event {
    case .comes(let name): guests.insert(name)
    case .leaves(let name): guests.remove(name)
    }
  }
}

extension GuestList: CustomStringConvertible {
  var description: String { told(names) }
}

extension Party: CustomStringConvertible {
  var description: String { told(Array(guests)) }
}

extension DoorEvent: CustomStringConvertible {
  var description: String {
    switch self {
    case .comes(let name): "\(name) comes"
    case .leaves(let name): "\(name) leaves"
    }
  }
}

private func told(_ names: [String]) -> String {
  names.isEmpty ? "nobody" : names.sorted().joined(separator: " ")
}
