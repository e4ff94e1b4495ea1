import SyncProtocols
import UpdateMachine

@testable import Simulator

// To-do lists with typical mistakes. Each must be found.

/// What a list does wrong.
protocol Mistake: Sendable {
  static func take(_ snapshot: [ToDo]) -> ToDoList
  static func apply(_ event: ToDoEvent, to list: inout ToDoList)
}

extension Mistake {
  static func take(_ snapshot: [ToDo]) -> ToDoList { ToDoList(snapshot: snapshot) }
  static func apply(_ event: ToDoEvent, to list: inout ToDoList) { list.apply(event) }
}

/// Takes "complete" as a toggle and not as a value to set.
enum TogglesCompleted: Mistake {
  static func apply(_ event: ToDoEvent, to list: inout ToDoList) {
    guard case .complete(let id, _) = event, let item = list.items.first(where: { $0.id == id })
    else { return list.apply(event) }
    list.apply(.complete(id, !item.isCompleted))
  }
}

/// Keeps deleted things until the next snapshot.
enum KeepsDeleted: Mistake {
  static func apply(_ event: ToDoEvent, to list: inout ToDoList) {
    if case .delete = event { return }
    list.apply(event)
  }
}

/// Has a thing twice if it is added again.
enum AddsTwice: Mistake {
  static func apply(_ event: ToDoEvent, to list: inout ToDoList) {
    guard case .add(let item) = event else { return list.apply(event) }
    list = ToDoList(snapshot: list.items + [item])
  }
}

/// Loses the labels of a snapshot, but not those that events bring.
enum ForgetsLabels: Mistake {
  static func take(_ snapshot: [ToDo]) -> ToDoList {
    ToDoList(
      snapshot: snapshot.map { ToDo(id: $0.id, title: $0.title, isCompleted: $0.isCompleted) })
  }
}

/// Finds things by their titles instead of their IDs.
enum RelabelsByTitle: Mistake {
  static func apply(_ event: ToDoEvent, to list: inout ToDoList) {
    list.apply(event)
    guard case .relabel(let id, let label) = event,
      let title = list.items.first(where: { $0.id == id })?.title
    else { return }
    for item in list.items where item.title == title { list.apply(.relabel(item.id, label)) }
  }
}

/// Does not expect that anything is deleted, and traps.
enum TrapsAtDeletion: Mistake {
  static func apply(_ event: ToDoEvent, to list: inout ToDoList) {
    if case .delete = event { fatalError("nothing is ever deleted") }
    list.apply(event)
  }
}

/// A list with a mistake, and the app that has it.
struct MistakenList<Wrong: Mistake>: SyncModel, CustomStringConvertible {
  typealias Refusal = Never

  private var list: ToDoList

  init(snapshot: [ToDo]) { list = Wrong.take(snapshot) }

  mutating func apply(_ event: ToDoEvent) { Wrong.apply(event, to: &list) }

  var description: String { list.description }
}

enum MistakenApp<Wrong: Mistake>: SimulatedApp {
  typealias Model = MistakenList<Wrong>

  static func beginning(_ choices: inout Choices) -> ToDoServer { ToDoApp.beginning(&choices) }

  static func nextEvent(_ truth: ToDoServer, _ choices: inout Choices) -> ToDoEvent {
    ToDoApp.nextEvent(truth, &choices)
  }
}
