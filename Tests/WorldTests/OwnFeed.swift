import Simulator
import SyncProtocols
import UpdateMachine

// A stranger's own protocol, with pushes: a feed whose answers begin with the number asked for. One
// app's server counts its clients' changes. The other's takes a change again without harm.

// Article example begins: feed
/// The rules of our feed, as the app ships them.
enum OwnFeed<Event: Sendable>: SyncProtocol {
  struct Place: Finger, Hashable {
    var log: Int
    var number: Int64

    var description: String { "\(log):\(number)" }
  }

  /// What comes after the number that was asked for.
  struct Answer: EventBatch {
    var log: Int
    var after: Int64
    var through: Int64
    var hasMore: Bool
    var events: [(number: Int64, event: Event?)]

    var count: Int { events.count }
    func event(at index: Int) -> Event? { events[index].event }
  }

  static func advance(_ place: Place, over batch: Answer) -> SyncAdvance<Place> {
    guard batch.log == place.log, batch.after <= place.number else { return .gap }
    if batch.through <= place.number {
      return batch.through == place.number && !batch.hasMore ? .seen : .incomplete
    }
    let first = batch.events.firstIndex { $0.number > place.number } ?? batch.events.count
    let next = Place(log: place.log, number: batch.through)
    return .next(next, first: first, isComplete: !batch.hasMore)
  }
}
// Article example ends

// Article example begins: ownLog
extension OwnFeed: SimulatedLog {
  static func place(_ number: Int64, inLog log: Int) -> Place { Place(log: log, number: number) }

  static func number(of place: Place) -> Int64 { place.number }

  static func batch(_ page: ChangeLogBatch<Event>, inLog log: Int) -> Answer {
    Answer(
      log: log, after: page.after, through: page.through, hasMore: page.hasMore,
      events: page.changes.map { ($0.number, $0.event) })
  }
}

/// The same board. Its changes come over our feed.
enum FeedBoardApp: SimulatedOfflineApp {
  typealias Model = BoardModel
  typealias Sync = OwnFeed<BoardEvent>

  static func beginning(_ choices: inout Choices) -> BoardTruth { BoardTruth() }

  static func nextChange(_ board: Board, _ choices: inout Choices) -> BoardChange? {
    BoardApp.nextChange(board, &choices)
  }

  static func objection(_ board: Board, _ truth: BoardTruth) -> String? {
    BoardApp.objection(board, truth)
  }
}
// Article example ends

// MARK: An app whose server does not count

/// A list of ticks: an item is set or not.
struct Ticks: Equatable, Sendable, CustomStringConvertible {
  var items: [Bool] = [false, false, false, false]

  var description: String { items.map { $0 ? "x" : "-" }.joined() }
}

struct Tick: Mutation, Equatable, CustomStringConvertible {
  var item: Int
  var isSet: Bool

  var name: String { isSet ? "tick" : "untick" }
  var description: String { "\(name) \(item)" }

  func apply(to ticks: inout Ticks) throws(Never) { ticks.items[item] = isSet }
}

struct TickEvent: Sendable {
  var tick: Tick?
}

struct TickSnapshot: Sendable {
  var client: ClientID
  var ticks: Ticks
}

struct TickModel: SyncModel, CustomStringConvertible {
  typealias Refusal = Never
  typealias Change = Tick

  private(set) var state: Ticks
  let client: ClientID?
  var confirmation: MutationConfirmation { MutationConfirmation(last: MutationID(0)) }
  static var delivery: MutationDelivery { .atLeastOnce }

  init(snapshot: TickSnapshot) {
    state = snapshot.ticks
    client = snapshot.client
  }

  mutating func apply(_ event: TickEvent) {
    if let tick = event.tick { state.items[tick.item] = tick.isSet }
  }

  var description: String { state.description }
}

// MARK: The saved form

extension OwnFeed.Place: Storable {
  func put(into bytes: inout ByteWriter) {
    bytes.put(log)
    bytes.put(number)
  }

  init(from bytes: inout ByteReader) throws(StoredFormError) {
    self.init(log: try bytes.take(), number: try bytes.take())
  }
}

extension Tick: Storable {
  func put(into bytes: inout ByteWriter) {
    bytes.put(item)
    bytes.put(isSet)
  }

  init(from bytes: inout ByteReader) throws(StoredFormError) {
    self.init(item: try bytes.take(), isSet: try bytes.take())
  }
}

extension TickModel: StorableModel {
  /// The client and the items, in one row.
  private var row: [UInt64] {
    [client?.number ?? 0] + state.items.map { $0 ? 1 : 0 }
  }

  func store(since old: TickModel?, into rows: inout RowWriter) {
    rows.put(.firstOfModel, row, since: old?.row)
  }

  init(stored rows: RowReader) throws(StoredFormError) {
    let row: [UInt64]? = try rows.value(of: .firstOfModel)
    guard let row, row.count == 5 else { throw .damaged(expected: "ticks") }
    client = ClientID(row[0])
    state = Ticks(items: row.dropFirst().map { $0 == 1 })
  }
}

// MARK: What its tests add

struct TickTruth: SimulatedTruth {
  private var set: Set<Int> = []

  mutating func make(
    _ change: Tick, by client: ClientProgress?
  ) throws(ChangeRefusal) -> TickEvent {
    if change.item == 3, change.isSet { throw ChangeRefusal("LOCKED") }
    if change.isSet { set.insert(change.item) } else { set.remove(change.item) }
    return TickEvent(tick: change)
  }

  func refusal(to client: ClientProgress) -> TickEvent { TickEvent(tick: nil) }

  func snapshot(for client: ClientProgress) -> TickSnapshot {
    TickSnapshot(client: client.client, ticks: Ticks(items: (0..<4).map { set.contains($0) }))
  }

  var description: String { (0..<4).map { set.contains($0) ? "x" : "-" }.joined() }
}

enum TickApp: SimulatedOfflineApp {
  typealias Model = TickModel
  typealias Sync = OwnFeed<TickEvent>
  typealias Disk = RowDisk<TickModel, OwnFeed<TickEvent>.Place>

  static func beginning(_ choices: inout Choices) -> TickTruth { TickTruth() }

  static func nextChange(_ ticks: Ticks, _ choices: inout Choices) -> Tick? {
    Tick(item: Int(choices.draw(.users, below: 4)), isSet: choices.happens(.users, 1, in: 2))
  }

  static func objection(_ ticks: Ticks, _ truth: TickTruth) -> String? { nil }
}
