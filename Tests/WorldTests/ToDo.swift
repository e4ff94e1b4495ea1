import Foundation
import Simulator
import SyncProtocols
import UpdateMachine

// An app under test: a to-do list of which each device has a copy.

// MARK: What the app ships

// Article example begins: model
/// A thing to do. Its ID is made by the device that adds it.
struct ToDo: Equatable, Sendable {
  enum Label: String, CaseIterable, Sendable { case gray, red, green, blue }

  var id: UUID
  var title: String
  var isCompleted = false
  var label = Label.gray
}

/// What happens to a list.
enum ToDoEvent: Equatable, Sendable {
  /// Adding what is there already, as a device does that has heard no answer, changes nothing.
  case add(ToDo)
  case rename(UUID, String)
  case complete(UUID, Bool)
  case relabel(UUID, ToDo.Label)
  case delete(UUID)
}

/// The list as the app holds it: in the order in which things were added.
struct ToDoList: SyncModel {
  typealias Refusal = Never

  private(set) var items: [ToDo]

  init(snapshot: [ToDo]) { items = snapshot }

  mutating func apply(_ event: ToDoEvent) {
    switch event {
    case .add(let item): if index(of: item.id) == nil { items.append(item) }
    case .rename(let id, let title): change(id) { $0.title = title }
    case .complete(let id, let isCompleted): change(id) { $0.isCompleted = isCompleted }
    case .relabel(let id, let label): change(id) { $0.label = label }
    case .delete(let id): items.removeAll { $0.id == id }
    }
  }

  private func index(of id: UUID) -> Int? { items.firstIndex { $0.id == id } }

  private mutating func change(_ id: UUID, _ body: (inout ToDo) -> Void) {
    if let index = index(of: id) { body(&items[index]) }
  }
}
// Article example ends

// MARK: What its tests add: the server, and what goes on there

// Article example begins: server
/// The server's side of the list: rows by ID, each with a number that only grows.
struct ToDoServer: ServerTruth {
  private var rows: [UUID: (number: Int, item: ToDo)] = [:]
  private var count = 0

  var items: [ToDo] { rows.values.sorted { $0.number < $1.number }.map(\.item) }
  var snapshot: [ToDo] { items }

  mutating func apply(_ event: ToDoEvent) {
    switch event {
    case .add(let item):
      guard rows[item.id] == nil else { return }
      count += 1
      rows[item.id] = (count, item)
    case .rename(let id, let title): rows[id]?.item.title = title
    case .complete(let id, let isCompleted): rows[id]?.item.isCompleted = isCompleted
    case .relabel(let id, let label): rows[id]?.item.label = label
    case .delete(let id): rows[id] = nil
    }
  }

  static func isDeletion(_ event: ToDoEvent) -> Bool {
    if case .delete = event { true } else { false }
  }
}
// Article example ends

// Article example begins: words
extension ToDo: CustomStringConvertible {
  var description: String {
    "\(id.short):\(title):\(isCompleted ? "done" : "open"):\(label.rawValue)"
  }
}

extension ToDoEvent: CustomStringConvertible {
  var description: String {
    switch self {
    case .add(let item): "add \(item)"
    case .rename(let id, let title): "rename \(id.short) \(title)"
    case .complete(let id, let isCompleted): "\(isCompleted ? "complete" : "reopen") \(id.short)"
    case .relabel(let id, let label): "relabel \(id.short) \(label.rawValue)"
    case .delete(let id): "delete \(id.short)"
    }
  }
}

extension ToDoList: CustomStringConvertible {
  var description: String { told(items) }
}

extension ToDoServer: CustomStringConvertible {
  var description: String { told(items) }
}

private func told(_ items: [ToDo]) -> String {
  items.isEmpty ? "empty" : items.map(\.description).joined(separator: " ")
}

extension UUID {
  /// Enough digits to tell a few IDs apart.
  fileprivate var short: String {
    String(UInt32(uuid.0) << 16 | UInt32(uuid.1) << 8 | UInt32(uuid.2), radix: 16)
  }
}
// Article example ends

// Article example begins: app
enum ToDoApp: SimulatedApp {
  typealias Model = ToDoList

  static func beginning(_ choices: inout Choices) -> ToDoServer { ToDoServer() }

  static func nextEvent(_ truth: ToDoServer, _ choices: inout Choices) -> ToDoEvent {
    let items = truth.items
    let place = Int(choices.draw(.workload, below: 6))
    guard place < items.count else { return .add(newItem(&choices)) }
    let item = items[place]
    switch choices.draw(.workload, below: 6) {
    case 0: return .complete(item.id, true)
    case 1: return .complete(item.id, false)
    case 2: return .relabel(item.id, choices.pick(.workload, ToDo.Label.allCases))
    case 3: return .rename(item.id, choices.pick(.workload, titles))
    case 4: return .add(item)  // Again: a device has heard no answer.
    default: return .delete(item.id)
    }
  }

  private static let titles = ["milk", "call-Ada", "taxes"]

  private static func newItem(_ choices: inout Choices) -> ToDo {
    ToDo(id: UUID(from: &choices), title: choices.pick(.workload, titles))
  }
}
// Article example ends

// Article example begins: uuid
extension UUID {
  /// A UUID of version 4 (RFC 9562), whose 122 random bits are chosen.
  init(from choices: inout Choices) {
    let high = choices.draw(.workload, below: .max)
    let low = choices.draw(.workload, below: .max)
    func byte(_ word: UInt64, _ index: UInt64) -> UInt8 {
      UInt8(truncatingIfNeeded: word >> (56 - 8 * index))
    }
    self.init(
      uuid: (
        byte(high, 0), byte(high, 1), byte(high, 2), byte(high, 3), byte(high, 4), byte(high, 5),
        byte(high, 6) & 0x0F | 0x40, byte(high, 7), byte(low, 0) & 0x3F | 0x80, byte(low, 1),
        byte(low, 2), byte(low, 3), byte(low, 4), byte(low, 5), byte(low, 6), byte(low, 7)
      ))
  }
}
// Article example ends
