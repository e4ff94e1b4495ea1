import MessageSync
import SyncProtocols
import UpdateMachine

// The course, part 3: the model, its source and the server, with a window on what is done.

// Article example begins: course done
extension ToDo {
  /// The list of all that is done. The library's lists are made of messages, each in a channel.
  static var done: MessageFilter<ToDo> { MessageFilter([.channel(channel)]) }
  static var channel: ChannelID { ChannelID(1) }
}

extension DoneToDo {
  /// The row as the library keeps it.
  var message: ChatMessage<ToDo> {
    ChatMessage(
      id: MessageID(number), sender: UserID(0), place: .channel(ToDo.channel, topic: ""),
      content: item)
  }
}

extension ToDoEvent {
  /// What it does to the list; `nil`: nothing.
  var inDone: MessageEvent<ToDo>? {
    switch effect {
    case .added, nil: nil
    case .ticked(let row): .new(row.message)
    case .cleared(let number): .deleted([MessageID(number)])
    }
  }
}

// Article example ends

// Article example begins: course question
/// A part of the list is asked for by a number, and by how many rows before and after it.
struct DoneQuestion: Codable, Hashable, Sendable {
  var number: Int64
  var before: Int64
  var after: Int64
}

extension DoneQuestion {
  init(_ request: PageRequest<MessageFilter<ToDo>, MessageID>) {
    switch request.want {
    case .item(let id): self.init(number: id.number, before: 0, after: 0)
    case .about(let anchor, let before, let after):
      let number: Int64 =
        switch anchor {
        case .oldest: .min
        case .newest, .serverChosen: .max
        case .id(let id): id.number
        }
      self.init(number: number, before: before, after: after)
    }
  }
}

extension ToDoTruth {
  /// A page of what is done. The server chooses rows, and reads them a little `later`.
  func page(
    _ request: PageRequest<MessageFilter<ToDo>, MessageID>, later: ToDoTruth
  ) -> MessagePage<ToDo> {
    let question = DoneQuestion(request)
    let older = done.filter { $0.number < question.number }
    let newer = done.filter { $0.number > question.number }
    let chosen =
      older.suffix(Int(question.before)) + done.filter { $0.number == question.number }
      + newer.prefix(Int(question.after))
    var page = MessagePage(
      messages: chosen.filter { later.done.contains($0) }.map(\.message))
    guard case .about(let anchor, _, _) = request.want else { return page }
    page.foundOldest = older.count <= question.before
    page.foundNewest = newer.count <= question.after
    if case .id(let id) = anchor { page.anchor = id }
    return page
  }
}
// Article example ends

// Article example begins: course rows
extension ToDo: Storable {}

extension ToDoModel: StorableModel {
  /// Version 1 was one row of JSON.
  static var storedVersion: UInt64 { 2 }

  /// The first table that is not one of the list's.
  private static var free: UInt8 { StoredTable.firstOfModel.number + StoredTable.ofMessages }
  private static var openTable: StoredTable { StoredTable(free) }
  private static var clientTable: StoredTable { StoredTable(free + 1) }

  func store(since old: ToDoModel?, into rows: inout RowWriter) {
    lists.store(since: old?.lists, into: &rows, from: .firstOfModel)
    rows.put(Self.openTable, open, since: old?.open)
    rows.put(Self.clientTable, client?.number ?? 0, since: old?.client?.number)
  }

  init(stored rows: RowReader) throws(StoredFormError) {
    lists = try MessageStore(stored: rows, from: .firstOfModel)
    open = try rows.map(of: Self.openTable)
    let number: UInt64? = try rows.value(of: Self.clientTable)
    guard let number else { throw StoredFormError.damaged(expected: "a client") }
    client = ClientID(number)
  }

  /// What is done stays in the file until it is shown, or an event is about it.
  static var unloadedTables: [StoredTable] {
    MessageStore<Narrow>.unloadedTables(from: .firstOfModel)
  }

  func unloaded(under events: [ToDoEvent]) -> [RowQuery] {
    lists.unloaded(under: events.compactMap(\.inDone))
  }
}
// Article example ends

// Article example begins: course source
/// The way to the server. Each call is one request.
struct ToDoSource: SyncSource {
  typealias Model = ToDoModel
  typealias Sync = EventQueue<ToDoEvent>

  let server: LocalEventQueue<ToDoTruth>
  let network: Network

  private var log: LocalEventQueueSource<ToDoTruth, ToDoModel> {
    server.source(for: ToDoModel.self)
  }

  func register(
    as client: ClientID
  ) async throws(SyncFailure) -> Registered<ToDoSnapshot, QueueFinger> {
    try await network.pass()
    var registered = try await log.register(as: client)
    registered.snapshot.client = client
    return registered
  }

  func poll(
    after finger: QueueFinger, waits: Bool
  ) async throws(SyncFailure) -> QueueBatch<ToDoEvent> {
    try await network.pass()
    let batch = try await log.poll(after: finger, waits: waits)
    try await network.pass()  // The answer is lost, too.
    return batch
  }

  func release(_ queue: QueueID) async { await log.release(queue) }
}
// Article example ends

// Article example begins: course page
extension ToDoSource {
  func page(
    _ request: PageRequest<MessageFilter<ToDo>, MessageID>
  ) async throws(SyncFailure) -> MessagePage<ToDo> {
    try await network.pass()
    let truth = await server.truth
    return truth.page(request, later: truth)
  }
}

/// What a window shows, in numbers.
func summary(_ view: WindowView<ToDoModel.Lists>) -> String {
  var (known, former, gaps) = (0, 0, 0)
  for row in view.rows {
    switch row {
    case .item: known += 1
    case .former: former += 1
    case .gap: gaps += 1
    }
  }
  let end = view.reachesBeginning ? "that is all" : "there is more"
  return "\(known) known, \(former) former, \(gaps) gaps; \(end)"
}
// Article example ends
