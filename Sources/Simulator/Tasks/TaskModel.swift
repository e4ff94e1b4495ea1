package import UpdateMachine

/// A row of the server's log: what became of one task, and whose change did it.
package struct TaskEvent: Sendable {
  /// A task as it is now; `nil`: it is gone.
  struct Row: Sendable {
    var task: Int64
    var item: TaskItem?
  }

  /// `nil`: nothing has changed, because a change was refused.
  var row: Row?
  /// Whose change it was, and how far it is confirmed with it; `nil`: somebody's without an outbox.
  var client: ClientID?
  var confirmation: MutationConfirmation?
}

/// The answer to a client's first request.
package struct TaskSnapshot: Sendable {
  var list: TaskList
  /// How many changes have led to it.
  var changes: Int64
  var client: ClientID
  var confirmation: MutationConfirmation
}

/// The list as the server has told it to one client. It counts the changes, so that one that is
/// taken twice shows.
package struct TaskModel: SyncModel, CustomStringConvertible {
  package typealias Change = TaskChange
  package typealias Refusal = Never

  package private(set) var state: TaskList
  private var changes: Int64
  private var name: ClientID
  package private(set) var confirmation: MutationConfirmation

  package var client: ClientID? { name }

  package init(snapshot: TaskSnapshot) {
    (state, changes) = (snapshot.list, snapshot.changes)
    (name, confirmation) = (snapshot.client, snapshot.confirmation)
  }

  private init(_ state: TaskList, _ head: Head) {
    (self.state, changes) = (state, head.changes)
    (name, confirmation) = (head.client, head.confirmation)
  }

  package static var outboxSettings: OutboxSettings { .ofWorlds }

  /// An empty list, which a user can change before the server has ever answered.
  package static var beginning: TaskModel? {
    TaskModel(
      TaskList(),
      Head(changes: 0, client: .nameless, confirmation: MutationConfirmation(last: .none)))
  }

  package mutating func apply(_ event: TaskEvent) {
    if let row = event.row {
      state.tasks[row.task] = row.item
      changes += 1
    }
    if event.client == name, let news = event.confirmation { confirmation = news }
  }

  package var description: String { "\(changes) changes, \(state)" }
}

// MARK: As rows: one per task, by its ID, and one for the rest

extension TaskModel: StorableModel {
  /// What is no task.
  private struct Head: Storable, Equatable {
    var changes: Int64
    var client: ClientID
    var confirmation: MutationConfirmation

    init(changes: Int64, client: ClientID, confirmation: MutationConfirmation) {
      (self.changes, self.client, self.confirmation) = (changes, client, confirmation)
    }

    func put(into bytes: inout ByteWriter) {
      bytes.put(changes)
      bytes.put(client.number)
      bytes.put(confirmation.last)
      bytes.put(confirmation.refusal)
    }

    init(from bytes: inout ByteReader) throws(StoredFormError) {
      changes = try bytes.takeInt64()
      client = ClientID(try bytes.takeUInt64())
      confirmation = MutationConfirmation(
        last: try bytes.take(), refusal: try bytes.takeOptional())
    }
  }

  private var head: Head { Head(changes: changes, client: name, confirmation: confirmation) }

  package func store(since old: TaskModel?, into rows: inout RowWriter) {
    rows.put(.firstOfModel, state.tasks, since: old?.state.tasks)
    rows.put(.firstOfModel.advanced(by: 1), head, since: old?.head)
  }

  package init(stored rows: RowReader) throws(StoredFormError) {
    let head: Head? = try rows.value(of: .firstOfModel.advanced(by: 1))
    guard let head else { throw StoredFormError(expected: "whose tasks they are") }
    self.init(TaskList(tasks: try rows.map(of: .firstOfModel)), head)
  }
}

extension TaskItem: Storable {
  package func put(into bytes: inout ByteWriter) {
    bytes.put(title)
    bytes.put(isDone)
  }

  package init(from bytes: inout ByteReader) throws(StoredFormError) {
    self.init(title: try bytes.takeString(), isDone: try bytes.takeBool())
  }
}

extension TaskChange: Storable {
  package func put(into bytes: inout ByteWriter) {
    switch self {
    case .add(_, let title):
      bytes.put(0 as UInt8)
      bytes.put(title)
    case .rename(_, let title):
      bytes.put(1 as UInt8)
      bytes.put(title)
    case .finish: bytes.put(2 as UInt8)
    case .delete: bytes.put(3 as UInt8)
    case .replace(_, let found, let new):
      bytes.put(4 as UInt8)
      bytes.put(found)
      bytes.put(new)
    }
    bytes.put(task)
  }

  package init(from bytes: inout ByteReader) throws(StoredFormError) {
    switch try bytes.takeByte() {
    case 0:
      let title = try bytes.takeString()
      self = .add(try bytes.takeInt64(), title: title)
    case 1:
      let title = try bytes.takeString()
      self = .rename(try bytes.takeInt64(), title: title)
    case 2: self = .finish(try bytes.takeInt64())
    case 3: self = .delete(try bytes.takeInt64())
    case 4:
      let (found, new): (TaskItem?, TaskItem?) = (
        try bytes.takeOptional(), try bytes.takeOptional()
      )
      self = .replace(try bytes.takeInt64(), found: found, by: new)
    default: throw StoredFormError(expected: "a change of a task")
    }
  }
}
