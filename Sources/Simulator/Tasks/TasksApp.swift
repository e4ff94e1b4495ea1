package import SyncProtocols
internal import UpdateMachine

// Tasks: the room of a world in which users change a list of tasks, online or offline, over the
// library's own protocol for a server of one's own: the app, its model with its saved form, and the
// server's truth. The server and the users are those of any app's simulation.
//
// Tasks may use: Choices, Disk, Offline, Run.

/// The simulator's eighth app: a short list of tasks, of which only a few may be open.
///
/// Everything is drawn from a few values, so users meet often: one adds a task that another has
/// added, renames one that was deleted, or takes the last room.
package enum TasksApp: SimulatedOfflineApp {
  package typealias Model = TaskModel
  package typealias Truth = TasksTruth
  package typealias Sync = ChangeLog<TaskEvent>
  package typealias Disk = RowDisk<TaskModel, ChangeLogPlace>

  /// A few tasks are there already.
  package static func beginning(_ choices: inout Choices) -> TasksTruth {
    var truth = TasksTruth()
    let count = Int64(choices.draw(.workload, below: UInt64(TaskList.openMaximum) + 1))
    for task in 0..<count { truth.begin(with: task + 1, title: titles[0]) }
    return truth
  }

  private static var titles: [String] { ["milk", "taxes", "call Ada", "rent", "bread", "water"] }

  /// A change of one of six tasks. Some are tried in vain.
  package static func nextChange(_ view: TaskList, _ choices: inout Choices) -> TaskChange? {
    let task = choices.draw(.users, in: 1...6)
    let isThere = view.tasks.contains(task)
    switch choices.draw(.users, below: 8) {
    case 1, 2, 3: return .rename(task, title: choices.pick(.users, titles))
    case 4 where isThere: return .finish(task)
    case 5 where isThere, 6 where isThere: return .delete(task)
    default: return .add(task, title: choices.pick(.users, titles))
    }
  }

  /// Whatever is pending, undone or brought back, a user never sees more open tasks than may be.
  package static func objection(_ view: TaskList, _ truth: TasksTruth) -> String? {
    view.openCount > TaskList.openMaximum
      ? "\(view.openCount) tasks are open, and only \(TaskList.openMaximum) may be" : nil
  }
}
