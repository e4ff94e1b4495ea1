import Simulator
import SyncProtocols
import Testing
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

/// The two together, and what happens.
enum PartyApp: SimulatedApp {
  typealias Model = GuestList

  static func beginning(_ choices: inout Choices) -> Party { Party() }

  static func nextEvent(_ truth: Party, _ choices: inout Choices) -> DoorEvent {
    let name = choices.pick(.workload, ["Ada", "Bob", "Cleo"])
    return choices.draw(.workload, below: 3) < 2 ? .comes(name) : .leaves(name)
  }
}

@Suite struct PartyTests {
  @Test func `every device ends up with the same guests`() async {
    let runs = await Simulation<PartyApp>.run(seeds: 1...300, clients: 2)
    if let failure = runs.failure { Issue.record("\(failure)") }
  }
}
