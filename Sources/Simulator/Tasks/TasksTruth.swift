package import SyncProtocols
internal import UpdateMachine

/// The server's tasks, in rows with ascending IDs. It does not use the model's code.
package struct TasksTruth: SimulatedTruth {
  private struct Row: Sendable {
    var task: Int64
    var title: String
    var isDone: Bool

    var item: TaskItem { TaskItem(title: title, isDone: isDone) }
  }

  private var rows: [Row] = []
  /// How many changes were made.
  private var changes: Int64 = 0

  package init() {}

  /// Puts an open task there before anything happens.
  mutating func begin(with task: Int64, title: String) {
    insert(Row(task: task, title: title, isDone: false))
  }

  package mutating func make(
    _ change: TaskChange, by client: ClientProgress?
  ) throws(ChangeRefusal) -> TaskEvent {
    let index = rows.firstIndex { $0.task == change.task }
    switch (change, index) {
    case (.add(let task, let title), nil):
      try expectRoom(beside: task)
      insert(Row(task: task, title: title, isDone: false))
    case (.add, _?): throw ChangeRefusal("TAKEN")
    case (.rename(_, let title), let index?): rows[index].title = title
    case (.finish, let index?):
      if rows[index].isDone { throw ChangeRefusal("FINISHED") }
      rows[index].isDone = true
    case (.delete, let index?): rows.remove(at: index)
    case (.rename, nil), (.finish, nil), (.delete, nil): throw ChangeRefusal("MISSING")
    case (.replace(let task, let found, let new), _):
      guard index.map({ rows[$0].item }) == found else { throw ChangeRefusal("CHANGED") }
      if let new, !new.isDone { try expectRoom(beside: task) }
      if let index { rows.remove(at: index) }
      if let new { insert(Row(task: task, title: new.title, isDone: new.isDone)) }
    }
    changes += 1
    return event(of: change.task, by: client)
  }

  private func expectRoom(beside task: Int64) throws(ChangeRefusal) {
    let others = rows.filter { $0.task != task && !$0.isDone }
    guard others.count < TaskList.openMaximum else { throw ChangeRefusal("FULL") }
  }

  private mutating func insert(_ row: Row) {
    let index = rows.firstIndex { $0.task > row.task } ?? rows.count
    rows.insert(row, at: index)
  }

  /// Tells the row as it is now.
  private func event(of task: Int64, by client: ClientProgress?) -> TaskEvent {
    let item = rows.first { $0.task == task }?.item
    return TaskEvent(
      row: TaskEvent.Row(task: task, item: item), client: client?.client,
      confirmation: client?.confirmation)
  }

  package func refusal(to client: ClientProgress) -> TaskEvent {
    TaskEvent(row: nil, client: client.client, confirmation: client.confirmation)
  }

  package func snapshot(for client: ClientProgress) -> TaskSnapshot {
    var list = TaskList()
    for row in rows { list.tasks[row.task] = row.item }
    return TaskSnapshot(
      list: list, changes: changes, client: client.client, confirmation: client.confirmation)
  }

  package var description: String {
    let texts = rows.map { "\($0.task):\($0.item)" }
    return "\(changes) changes, " + (texts.isEmpty ? "empty" : texts.joined(separator: " "))
  }
}
