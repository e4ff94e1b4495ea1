import TestSupport
import UpdateMachine

/// What the tests' app shows: named values, and hours that can be reserved.
struct Board: Equatable, Sendable {
  var values = VersionedMap<String, Int64>()
  var hours = VersionedMap<Int64, String>()
}

/// What the tests' app changes.
enum BoardChange: Mutation, Equatable {
  case set(String, Int64)
  case add(String, Int64)
  case remove(String)
  case reserve(Int64, by: String)
  /// Sets one value, reads it, sets another, and then throws.
  case half

  enum Refusal: Error, Hashable { case missing, full }

  var name: String {
    switch self {
    case .set: "set"
    case .add: "add"
    case .remove: "remove"
    case .reserve: "reserve"
    case .half: "half"
    }
  }

  var size: Int64 { 10 }

  func apply(to board: inout Board) throws(Refusal) -> String {
    switch self {
    case .set(let key, let value):
      board.values[key] = value
    case .add(let key, let value):
      guard let old = board.values[key] else { throw .missing }
      board.values[key] = old + value
      return "\(old + value)"
    case .remove(let key):
      guard board.values.removeValue(forKey: key) != nil else { throw .missing }
    case .reserve(let hour, let user):
      if let owner = board.hours[hour], owner != user { return "UNAVAILABLE" }
      board.hours[hour] = user
      return "RESERVED"
    case .half:
      board.values["half"] = 1
      if board.values["half"] == 1 { throw .full }
    }
    return ""
  }

  /// Setting the same value twice is like setting it once.
  func coalesced(with later: BoardChange) -> BoardChange? {
    if case .set(let key, _) = self, case .set(key, _) = later { return later }
    return nil
  }
}

/// An outbox with its view, its clock and its disk, as a driver would hold them.
struct Desk {
  typealias Box = Outbox<BoardChange>

  var box: Box
  var view: LocalView<BoardChange>
  var now = Moment(milliseconds: 0)
  /// Every effect so far, as text.
  var heard: [String] = []
  /// The last push.
  var push: PushRequest<BoardChange>?
  /// What is saved.
  var disk: Box?

  init(
    _ board: Board = Board(), delivery: MutationDelivery = .exactlyOnce,
    settings: OutboxSettings = OutboxSettings()
  ) {
    box = Box(
      client: ClientID(7), delivery: delivery, settings: settings,
      incarnation: Incarnation(1))
    view = LocalView(of: board)
    _ = box.replay(&view, at: now)
  }

  /// A desk that was started in the foreground.
  static func started(
    _ board: Board = Board(), delivery: MutationDelivery = .exactlyOnce,
    settings: OutboxSettings = OutboxSettings()
  ) -> Desk {
    var desk = Desk(board, delivery: delivery, settings: settings)
    desk.feed(.started(foreground: true))
    return desk
  }

  mutating func take(_ effects: Box.Effects) -> [String] {
    // There is no other part here, so names are shown without the part.
    let texts = effects.texts(at: now).map { $0.replacing("outbox ", with: "") }
    heard += texts
    if let push = effects.push { self.push = push }
    return texts
  }

  /// Feeds an input and replays.
  @discardableResult
  mutating func feed(_ input: Box.Input) -> [String] {
    var texts = take(box.handle(input, at: now))
    texts += replay()
    return texts
  }

  @discardableResult
  mutating func replay() -> [String] { take(box.replay(&view, at: now)) }

  @discardableResult
  mutating func mutate(
    _ change: BoardChange
  ) throws(MutationError<BoardChange.Refusal>) -> MutationTicket {
    let mutated = try box.mutate(change, &view, at: now)
    _ = take(mutated.effects)
    return mutated.ticket
  }

  /// Makes everything durable.
  @discardableResult
  mutating func save() -> [String] {
    disk = box
    return feed(.stored(upTo: box.currentVersion))
  }

  /// Makes changes and sends them.
  mutating func send(
    _ changes: BoardChange...
  ) throws(MutationError<BoardChange.Refusal>) -> [MutationTicket] {
    var tickets: [MutationTicket] = []
    for change in changes { tickets.append(try mutate(change)) }
    save()
    return tickets
  }

  @discardableResult
  mutating func answer(_ answer: PushAnswer = .accepted) -> [String] {
    feed(.answered(push!.id, answer))
  }

  @discardableResult
  mutating func fail(_ failure: SyncFailure, hasLeft: Bool = true) -> [String] {
    feed(.failed(push!.id, failure, hasLeft: hasLeft))
  }

  /// Takes a new confirmed state.
  @discardableResult
  mutating func confirm(
    _ board: Board, through last: UInt64, refusal: MutationRefusal? = nil
  ) -> [String] {
    box.confirm(through: MutationID(last), refusal: refusal)
    view.confirm(board)
    return replay()
  }

  /// The process ends. The next one reads what is on disk.
  mutating func restart(incarnation: UInt64 = 2) {
    var rows = RowDisk()
    rows.write(disk!.rows(since: nil))
    box = try! Box(stored: rows.rows, settings: disk!.settings)
    box.restored(in: Incarnation(incarnation))
    view = LocalView(of: view.confirmed)
    replay()
    feed(.started(foreground: true))
  }

  /// Lets some time pass.
  mutating func pass(_ span: TimeSpan) { now = now + span }

  /// Fires the armed timer at the end of its range.
  @discardableResult
  mutating func fire() -> [String] {
    guard let timer = armed else { return [] }
    return feed(.fired(TimerID(part: .outbox, timer)))
  }

  /// The number of the timer that was armed last.
  var armed: UInt64? {
    for text in heard.reversed() {
      let words = text.split(separator: " ")
      if words[0] == "arm" { return UInt64(words[1]) }
    }
    return nil
  }

  func state(_ ticket: MutationTicket) -> MutationState? { box.state(of: ticket) }

  var stages: [String] { box.pending.map { "\($0)" } }

  /// The IDs in the last push.
  var pushed: [UInt64] { push?.mutations.map { $0.id.number } ?? [] }
}

extension Board {
  init(_ values: VersionedMap<String, Int64>) { self.values = values }
}
