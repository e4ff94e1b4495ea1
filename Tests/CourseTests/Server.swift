import SyncProtocols
import UpdateMachine

// The course "Build a to-do app", part 1: the words that app and server share, and the server.

// Article example begins: course things
/// A thing to do. The device that adds it draws its ID.
struct ToDo: Codable, Hashable, Sendable {
  var id: Int64
  var title: String
}

/// A thing that is done. The server numbers these in the order in which they were ticked off.
struct DoneToDo: Hashable, Sendable {
  var number: Int64
  var item: ToDo
}

/// What a user wants.
enum ToDoChange: Codable, Hashable, Sendable {
  case add(ToDo)
  /// Of a thing to do, by its ID.
  case tick(Int64)
  /// Of a done thing, by its number.
  case clear(Int64)
}

/// Whose change it is: a device, and the device's own number for the change.
struct Origin: Hashable, Sendable {
  var client: ClientID
  var ticket: MutationTicket
}

/// A change as it reaches the server. `origin` is `nil` if it was made in some other way.
struct SentChange: Hashable, Sendable {
  var change: ToDoChange
  var origin: Origin?

  init(_ change: ToDoChange, from origin: Origin? = nil) {
    self.change = change
    self.origin = origin
  }
}

/// What the server tells all devices of a change.
struct ToDoEvent: Hashable, Sendable {
  /// `nil`: none. It was a second copy, or somebody else was first.
  var effect: Effect?
  var origin: Origin?

  enum Effect: Hashable, Sendable {
    case added(ToDo)
    case ticked(DoneToDo)
    case cleared(Int64)
  }
}

/// What a device begins with: all that is open, and nothing of what is done.
struct ToDoSnapshot: Hashable, Sendable {
  var client = ClientID(0)
  var open: [ToDo]
}
// Article example ends

// Article example begins: course truth
/// The server's state, and its rules.
struct ToDoTruth: ServerTruth {
  private(set) var open: [ToDo] = []
  private(set) var done: [DoneToDo] = []
  /// Every ID there ever was, so that a second copy of an `add` has no effect, however late.
  private var known: Set<Int64> = []
  private var lastNumber: Int64 = 0

  var snapshot: ToDoSnapshot { ToDoSnapshot(open: open) }

  func announcement(of sent: SentChange) -> ToDoEvent? {
    ToDoEvent(effect: effect(of: sent.change), origin: sent.origin)
  }

  private func effect(of change: ToDoChange) -> ToDoEvent.Effect? {
    switch change {
    case .add(let item): known.contains(item.id) ? nil : .added(item)
    case .tick(let id):
      open.first { $0.id == id }.map { .ticked(DoneToDo(number: lastNumber + 1, item: $0)) }
    case .clear(let number): done.contains { $0.number == number } ? .cleared(number) : nil
    }
  }

  mutating func apply(_ sent: SentChange) {
    switch effect(of: sent.change) {
    case .added(let item):
      known.insert(item.id)
      open.append(item)
    case .ticked(let row):
      open.removeAll { $0.id == row.item.id }
      done.append(row)
      lastNumber = row.number
    case .cleared(let number): done.removeAll { $0.number == number }
    case nil: break
    }
  }
}

extension ToDoTruth: CustomStringConvertible {
  var description: String {
    let open = open.map { "\($0.id):\($0.title)" }.sorted()
    let done = done.map { "\($0.number):\($0.item.title)" }
    return "open \(open.joined(separator: " ")), done \(done.joined(separator: " "))"
  }
}
// Article example ends

// Article example begins: course network
/// The network between the app and the server, which can be cut.
actor Network {
  private(set) var isUp = true

  func set(up: Bool) { isUp = up }

  func pass() throws(SyncFailure) { if !isUp { throw .unreachable } }
}
// Article example ends

// Article example begins: course wait
/// Waits for a state of the app that is as it should be.
func state<Source: SyncSource>(
  of machine: UpdateMachine<Source>,
  where isRight: @Sendable (ReplicaState<Source.Model>) -> Bool
) async -> ReplicaState<Source.Model> {
  for await state in await machine.states() where isRight(state) { return state }
  return await machine.state
}
// Article example ends
