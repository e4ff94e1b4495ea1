import MessageSync
import Simulator
import SyncProtocols
import UpdateMachine

// The course, part 5: a simulation of the whole app.

// Article example begins: course words
extension ToDoModel: CustomStringConvertible {
  var description: String { "open " + open.map { "\($0.key):\($0.value)" }.joined(separator: " ") }
}

extension SentChange: CustomStringConvertible {
  var description: String {
    switch change {
    case .add(let item): "add \(item.id):\(item.title)"
    case .tick(let id): "tick \(id)"
    case .clear(let number): "clear number \(number)"
    }
  }
}
// Article example ends

// Article example begins: course wire
extension ToDoChange {
  /// The arguments that travel with the change's name.
  func arguments(_ ticket: MutationTicket) -> JSONValue {
    let ticket = JSONValue(integerLiteral: Int64(ticket.number))
    switch self {
    case .add(let item):
      return [
        "id": JSONValue(integerLiteral: item.id), "title": .string(item.title), "ticket": ticket,
      ]
    case .tick(let number), .clear(let number):
      return ["id": JSONValue(integerLiteral: number), "ticket": ticket]
    }
  }

  init?(_ name: String, _ arguments: JSONValue) {
    guard let id = arguments["id"]?.int64 else { return nil }
    switch name {
    case "add": self = .add(ToDo(id: id, title: arguments["title"]?.string ?? ""))
    case "tick": self = .tick(id)
    case "clear": self = .clear(id)
    default: return nil
    }
  }
}

extension ToDoTruth {
  func change(
    by mutation: NamedMutation, of client: ClientID
  ) throws(ChangeRefusal) -> SentChange? {
    guard let change = ToDoChange(mutation.name, mutation.arguments),
      let ticket = mutation.arguments["ticket"]?.int64
    else { throw ChangeRefusal("MALFORMED") }
    return SentChange(
      change, from: Origin(client: client, ticket: MutationTicket(UInt64(ticket))))
  }

  static func addressed(_ snapshot: ToDoSnapshot, to client: ClientID) -> ToDoSnapshot {
    ToDoSnapshot(client: client, open: snapshot.open)
  }

  static func isDeletion(_ event: ToDoEvent) -> Bool {
    if case .cleared = event.effect { true } else { false }
  }
}
// Article example ends

// Article example begins: course app
enum ToDoApp: SimulatedApp {
  typealias Model = ToDoModel
  typealias Truth = ToDoTruth
  typealias User = ToDoUser
  typealias Disk = RowDisk<ToDoModel, QueueFinger>

  static func beginning(_ choices: inout Choices) -> ToDoTruth {
    var truth = ToDoTruth()
    for id in 0..<Int64(choices.draw(.workload, below: 12)) {
      truth.apply(SentChange(.add(ToDo(id: id, title: "old"))))
      truth.apply(SentChange(.tick(id)))
    }
    return truth
  }

  /// What other people do, from other devices.
  static func nextEvent(_ truth: ToDoTruth, _ choices: inout Choices) -> SentChange {
    let place = Int(choices.draw(.workload, below: 6))
    switch choices.draw(.workload, below: 4) {
    case 0, 1: if place < truth.open.count { return SentChange(.tick(truth.open[place].id)) }
    case 2: if place < truth.done.count { return SentChange(.clear(truth.done[place].number)) }
    default: break
    }
    return SentChange(.add(ToDo(id: choices.draw(.workload, in: 100...999), title: "new")))
  }

  static func request(
    _ push: PushRequest<ToDoChange>, at finger: QueueFinger?
  ) -> MutationPush {
    MutationPush(
      client: push.client, knownRefusal: push.knownRefusal,
      mutations: push.mutations.map {
        NamedMutation(id: $0.id, name: $0.change.name, arguments: $0.change.arguments($0.ticket))
      })
  }

  static func page(
    _ request: PageRequest<MessageFilter<ToDo>, MessageID>, found: ToDoTruth, later: ToDoTruth
  ) -> MessagePage<ToDo> { found.page(request, later: later) }
}
// Article example ends

// Article example begins: course user
/// Whoever holds the device: looks at what is done, adds things and ticks them off.
struct ToDoUser: SimulatedUser {
  typealias Model = ToDoModel
  typealias Truth = ToDoTruth
  typealias Sync = EventQueue<ToDoEvent>
  typealias Memory = Void

  /// How many rows the user wants to see; 0: the list is not open.
  private var rows: Int64 = 0

  /// Once the faults have stopped, everything must be shown and sent within this time.
  static var bound: TimeSpan { .seconds(1200) }

  /// A process begins, without a window.
  mutating func begin() { rows = 0 }

  mutating func act(
    _ client: Body, _ truth: ToDoTruth, _ choices: inout Choices
  ) -> [Action] {
    let open = client.view?.open.map(\.key) ?? []
    let place = Int(choices.draw(.users, below: 6))
    switch choices.draw(.users, below: 4) {
    case 0, 1:
      guard rows < 8 else { return [] }
      rows += 4
      return [.opens(ToDo.done, .newest(rows))]
    case 2:
      guard place < open.count else { return [] }
      return [.mutates(.tick(open[place]))]
    default:
      let id = choices.draw(.users, in: 1000...9999)
      return [.mutates(.add(ToDo(id: id, title: "own")))]
    }
  }

  /// After the faults: log in again, and try again what a proxy has refused.
  mutating func tidy(_ client: Body) -> [Action] {
    [.signals(.credentialsChanged), .signals(.retryRequested)]
      + client.setAside.map { .decides(.retried($0.ticket)) }
  }

  /// Whether all is shown and sent.
  func isLevel(_ client: Body, with truth: ToDoTruth) -> Bool {
    client.pending.isEmpty && client.setAside.isEmpty && (rows == 0 || window(client).isComplete)
  }

  private func window(_ client: Body) -> WindowView<ToDoModel.Lists> {
    WindowView(ToDo.done, .newest(rows), of: client.model?.lists)
  }
}
// Article example ends

// Article example begins: course property
extension ToDoUser {
  /// The property. After each step of a device, with `position` its place in the server's log:
  /// all that is open is as it was there, and its window tells no lie.
  mutating func objection(
    to client: Body, _ truth: ToDoTruth, at position: Int64, _ history: [ToDoTruth],
    disk: Saved?, reading rows: ReadRows
  ) -> UserObjection? {
    guard position >= 0, let model = client.model else { return nil }
    let since = history[Int(position)...]
    let open = since.first?.open.sorted { $0.id < $1.id } ?? []
    let expected = "open " + open.map { "\($0.id):\($0.title)" }.joined(separator: " ")
    if model.description != expected { return UserObjection(.replica, expected, "\(model)") }
    return lie(window(client), since)
  }

  /// The first lie of a window; `nil`: none. A page may have been read after the device's place in
  /// the log. So a row must have been there then or later, and may be missing only if it was not
  /// there then or later.
  private func lie(
    _ view: WindowView<Model.Lists>, _ since: ArraySlice<ToDoTruth>
  ) -> UserObjection? {
    func skipped(_ first: Int64, _ last: Int64) -> UserObjection? {
      let row = since.first?.done.first { row in
        first < row.number && row.number < last && since.allSatisfy { $0.done.contains(row) }
      }
      return row.map { UserObjection(.interval, "number \($0.number), or a gap", "neither") }
    }
    var last: Int64? = view.reachesBeginning ? .min : nil
    for row in view.rows {
      guard case .item(let message) = row else {
        last = nil
        continue
      }
      let number = message.id.number
      if let last, let lie = skipped(last, number) { return lie }
      let shown = DoneToDo(number: number, item: message.content)
      if !since.contains(where: { $0.done.contains(shown) }) {
        return UserObjection(.interval, "no row for number \(number)", "a row: \(shown.item.title)")
      }
      last = number
    }
    return view.reachesEnd ? last.flatMap { skipped($0, .max) } : nil
  }
}
// Article example ends
