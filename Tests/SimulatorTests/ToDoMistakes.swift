import SyncProtocols
import UpdateMachine

@testable import Simulator

// To-do lists with mistakes in them, as people make them. Each must be found.

/// What a list does wrong.
protocol Mistake: Sendable {
  static func take(_ snapshot: [ToDo]) -> ToDoList
  static func apply(_ event: ToDoEvent, to list: inout ToDoList)
}

extension Mistake {
  static func take(_ snapshot: [ToDo]) -> ToDoList { ToDoList(snapshot: snapshot) }
  static func apply(_ event: ToDoEvent, to list: inout ToDoList) { list.apply(event) }
}

/// "Complete" is taken as a change of what is there, and not as what is to be there.
enum TogglesCompleted: Mistake {
  static func apply(_ event: ToDoEvent, to list: inout ToDoList) {
    guard case .complete(let id, _) = event, let item = list.items.first(where: { $0.id == id })
    else { return list.apply(event) }
    list.apply(.complete(id, !item.isCompleted))
  }
}

/// What is deleted stays until there is a snapshot.
enum KeepsDeleted: Mistake {
  static func apply(_ event: ToDoEvent, to list: inout ToDoList) {
    if case .delete = event { return }
    list.apply(event)
  }
}

/// Something that is added again is there twice.
enum AddsTwice: Mistake {
  static func apply(_ event: ToDoEvent, to list: inout ToDoList) {
    guard case .add(let item) = event else { return list.apply(event) }
    list = ToDoList(snapshot: list.items + [item])
  }
}

/// The labels of a snapshot are lost; those that events bring are not.
enum ForgetsLabels: Mistake {
  static func take(_ snapshot: [ToDo]) -> ToDoList {
    ToDoList(
      snapshot: snapshot.map { ToDo(id: $0.id, title: $0.title, isCompleted: $0.isCompleted) })
  }
}

/// A thing is known by its title, and not by its ID.
enum RelabelsByTitle: Mistake {
  static func apply(_ event: ToDoEvent, to list: inout ToDoList) {
    list.apply(event)
    guard case .relabel(let id, let label) = event,
      let title = list.items.first(where: { $0.id == id })?.title
    else { return }
    for item in list.items where item.title == title { list.apply(.relabel(item.id, label)) }
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
