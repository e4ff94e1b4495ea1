package import UpdateMachine

/// One task of a list.
package struct TaskItem: Hashable, Sendable, CustomStringConvertible {
  package var title: String
  package var isDone = false

  package var description: String { isDone ? "\(title) (done)" : title }
}

/// The tasks that a user sees, by their IDs.
package struct TaskList: Equatable, Sendable, CustomStringConvertible {
  package var tasks = VersionedMap<Int64, TaskItem>()

  /// The most tasks that may be open.
  package static var openMaximum: Int { 3 }

  package var openCount: Int {
    var count = 0
    for (_, item) in tasks where !item.isDone { count += 1 }
    return count
  }

  package var description: String {
    var texts: [String] = []
    for (task, item) in tasks { texts.append("\(task):\(item)") }
    return texts.isEmpty ? "empty" : texts.joined(separator: " ")
  }
}

/// What a user can do.
package enum TaskChange: Mutation, Equatable {
  case add(Int64, title: String)
  case rename(Int64, title: String)
  case finish(Int64)
  case delete(Int64)
  /// Puts one task in the place of another, if that is found as it was; `nil`: none. An undo or a
  /// redo.
  case replace(Int64, found: TaskItem?, by: TaskItem?)

  /// Why a change cannot be made.
  package enum Refusal: Error, Hashable, Sendable {
    /// Another task has the ID.
    case taken
    case missing
    case finished
    /// As many tasks are open as may be.
    case full
    /// Somebody has changed it since.
    case changed
  }

  package var name: String {
    switch self {
    case .add: "add"
    case .rename: "rename"
    case .finish: "finish"
    case .delete: "delete"
    case .replace: "replace"
    }
  }

  /// The ID of the task that it is about.
  package var task: Int64 {
    switch self {
    case .add(let task, _), .rename(let task, _), .finish(let task), .delete(let task),
      .replace(let task, _, _):
      task
    }
  }

  package func apply(to list: inout TaskList) throws(Refusal) {
    let old = list.tasks[task]
    let new = try replacement(of: old)
    list.tasks[task] = new
    let opens = new.map { !$0.isDone } == true && old.map { !$0.isDone } != true
    if opens, list.openCount > TaskList.openMaximum { throw .full }
  }

  private func replacement(of old: TaskItem?) throws(Refusal) -> TaskItem? {
    switch self {
    case .add(_, let title):
      guard old == nil else { throw .taken }
      return TaskItem(title: title)
    case .rename(_, let title):
      guard let old else { throw .missing }
      return TaskItem(title: title, isDone: old.isDone)
    case .finish:
      guard let old else { throw .missing }
      guard !old.isDone else { throw .finished }
      return TaskItem(title: old.title, isDone: true)
    case .delete:
      guard old != nil else { throw .missing }
      return nil
    case .replace(_, let found, let new):
      guard old == found else { throw .changed }
      return new
    }
  }

  /// Of two new titles only the later counts.
  package func coalesced(with later: TaskChange) -> TaskChange? {
    if case .rename(let task, _) = self, case .rename(task, _) = later { later } else { nil }
  }

  package func inverse(from before: TaskList, to after: TaskList) -> TaskChange? {
    let (old, new) = (before.tasks[task], after.tasks[task])
    return old == new ? nil : .replace(task, found: new, by: old)
  }
}

extension TaskChange: CustomStringConvertible {
  /// "rename 3 taxes".
  package var description: String {
    switch self {
    case .add(let task, let title), .rename(let task, let title): "\(name) \(task) \(title)"
    case .finish(let task), .delete(let task): "\(name) \(task)"
    case .replace(let task, let found, let new):
      "replace \(task) \(found?.description ?? "none") by \(new?.description ?? "none")"
    }
  }
}
