import Testing

@testable import MessageSync
@testable import UpdateMachine

// What the tests of windows use: a source with pages that is answered by hand, and a bench for its
// driver.

typealias ShelfNarrow = MessageFilter<Int>
typealias ShelfView = WindowView<MessageStore<ShelfNarrow>>

/// A model that has messages and nothing else.
struct Shelf: MessageModel {
  typealias Refusal = Never
  typealias Event = MessageEvent<Int>
  typealias Narrow = ShelfNarrow
  var lists: MessageStore<ShelfNarrow>
  /// The messages that, as the model was told, pages have mended.
  var heard: [MessageID] = []

  init(snapshot: [ChannelID]) { lists = MessageStore(following: snapshot) }

  init(snapshot: [ChannelID], replacing old: Shelf?) {
    self.init(snapshot: snapshot)
    if let old { lists = MessageStore(following: snapshot, after: old.lists) }
  }

  mutating func apply(_ event: MessageEvent<Int>) { lists.apply(event) }

  mutating func mended(_ ids: [MessageID]) { heard += ids }
}

struct ShelfBatch: EventBatch {
  var first: Int
  var events: [MessageEvent<Int>]

  var count: Int { events.count }
  func event(at index: Int) -> MessageEvent<Int>? { events[index] }
}

enum ShelfSync: SyncProtocol {
  static func advance(_ finger: Spot, over batch: ShelfBatch) -> SyncAdvance<Spot> {
    if batch.first > finger.index + 1 { return .gap }
    let last = batch.first + batch.count - 1
    if last <= finger.index { return .seen }
    return .next(Spot(finger.log, last), first: finger.index + 1 - batch.first)
  }
}

/// A source with pages that answers what a test says, when the test says so.
final class PageScript: SyncSource {
  typealias Model = Shelf
  typealias Sync = ShelfSync
  typealias Request = PageRequest<ShelfNarrow, MessageID>

  enum Ask: Equatable, Sendable {
    case register
    case poll(Spot)
    case release
    case page(Request)

    var request: Request? { if case .page(let request) = self { request } else { nil } }
  }

  enum Answer: Sendable {
    case snapshot([ChannelID], Spot)
    case batch(ShelfBatch)
    case page(MessagePage<Int>)
    case failure(SyncFailure)
    case done
  }

  private let calls: ScriptedCalls<Ask, Answer>
  typealias Call = ScriptedCalls<Ask, Answer>.Call

  init(endsWhenCancelled: Bool) {
    calls = ScriptedCalls(whenCancelled: endsWhenCancelled ? .failure(.malformed) : nil)
  }

  /// The calls that have not ended yet.
  var open: [Call] { calls.open }

  /// The requests for pages that have not ended.
  var pagesOut: [Call] { open.filter { $0.ask.request != nil } }

  /// Every request for a page so far.
  var pagesAsked: [Request] { calls.all.compactMap(\.ask.request) }

  func register(
    as client: ClientID
  ) async throws(SyncFailure) -> Registered<[ChannelID], Spot> {
    switch await calls.call(.register) {
    case .snapshot(let followed, let spot):
      return Registered(snapshot: followed, finger: spot, terms: testTerms)
    case .failure(let failure): throw failure
    case .batch, .page, .done: throw .malformed
    }
  }

  func poll(after finger: Spot, waits: Bool) async throws(SyncFailure) -> ShelfBatch {
    switch await calls.call(.poll(finger)) {
    case .batch(let batch): return batch
    case .failure(let failure): throw failure
    case .snapshot, .page, .done: throw .malformed
    }
  }

  func release(_ log: String) async { _ = await calls.call(.release) }

  func page(_ request: Request) async throws(SyncFailure) -> MessagePage<Int> {
    switch await calls.call(.page(request)) {
    case .page(let page): return page
    case .failure(let failure): throw failure
    case .snapshot, .batch, .done: throw .malformed
    }
  }

  func answer(_ number: Int, _ answer: Answer) { calls.answer(number, answer) }
}

typealias ShelfDriver = UpdateMachine<PageScript>

/// One driver with windows on the bench. The server has messages 10, 20, … in channel 1, and as
/// many in channel 2, with IDs greater by one.
final class PageBench: DriverStand {
  let executor: StepExecutor
  let clock = HandClock()
  let source: PageScript
  var machine: ShelfDriver!
  let reports = Box<[DriverReport]>([])
  var messages: [ChatMessage<Int>] = []
  private var spot = Spot("a", 0)

  static let a = ShelfNarrow([.channel(ChannelID(1))])
  static let b = ShelfNarrow([.channel(ChannelID(2))])

  /// - Parameters:
  ///   - store: where the replica is saved; `nil` for nowhere.
  ///   - position: the newest position of the server's log.
  init(
    endsWhenCancelled: Bool = true, seed: UInt64? = nil, store: HandStore? = nil,
    acknowledges: Acknowledgement = .afterSaving, position: Int = 0
  ) {
    executor = StepExecutor(seed: seed)
    source = PageScript(endsWhenCancelled: endsWhenCancelled)
    spot.index = position
    let reports = reports
    machine = ShelfDriver(
      source: source, replicas: store.map { RowStore($0) }, acknowledges: acknowledges,
      clock: clock, chance: FixedChance(), executor: executor,
      reporter: { report in reports.change { $0.append(report) } })
    for number in 1...100 {
      messages.append(PageBench.message(number * 10, in: 1))
      messages.append(PageBench.message(number * 10 + 1, in: 2))
    }
  }

  static func message(_ number: Int, in channel: Int64) -> ChatMessage<Int> {
    ChatMessage(
      id: MessageID(Int64(number)), sender: UserID(1),
      place: .channel(ChannelID(channel), topic: "a"), content: number)
  }

  /// A bench whose driver follows from a:0 with a poll out.
  static func following(
    endsWhenCancelled: Bool = true, seed: UInt64? = nil, store: HandStore? = nil
  ) -> (PageBench, Started) {
    let bench = PageBench(endsWhenCancelled: endsWhenCancelled, seed: seed, store: store)
    let run = bench.start { await $0.run() }
    bench.drain()
    bench.register()
    return (bench, run)
  }

  // MARK: Doing

  /// Opens a window, and returns a viewer of it.
  func look(_ narrow: ShelfNarrow, _ window: ListWindow<MessageID>) -> Viewer {
    Viewer(read { $0.openWindow(on: narrow, showing: window) }, on: executor)
  }

  // MARK: The server

  private func answer(_ answer: PageScript.Answer, to isMeant: (PageScript.Ask) -> Bool) {
    guard let call = source.open.last(where: { isMeant($0.ask) }) else {
      Issue.record("no call of this kind is open")
      return
    }
    source.answer(call.number, answer)
    drain()
  }

  /// The newest position of the log.
  var position: Int { spot.index }

  /// Answers the register.
  func register() {
    answer(.snapshot([ChannelID(1), ChannelID(2)], spot)) { $0 == .register }
  }

  /// Answers the poll with these events.
  func batch(_ events: [MessageEvent<Int>]) {
    let batch = ShelfBatch(first: spot.index + 1, events: events)
    spot.index += events.count
    for case .new(let message) in events { messages.append(message) }
    answer(.batch(batch)) { if case .poll = $0 { true } else { false } }
  }

  /// The poll fails.
  func failPoll(_ failure: SyncFailure) {
    if failure == .expired { spot = Spot(spot.log + "'", 0) }
    answer(.failure(failure)) { if case .poll = $0 { true } else { false } }
  }

  /// Answers the oldest request for a page.
  func page() {
    guard let call = source.pagesOut.first, let request = call.ask.request else {
      Issue.record("no request for a page is open")
      return
    }
    source.answer(call.number, .page(page(request)))
    drain()
  }

  /// Fails the oldest request for a page.
  func failPage(_ failure: SyncFailure) {
    guard let call = source.pagesOut.first else {
      Issue.record("no request for a page is open")
      return
    }
    source.answer(call.number, .failure(failure))
    drain()
  }

  /// The page with which the server answers.
  func page(_ request: PageScript.Request) -> MessagePage<Int> {
    guard case .about(let anchor, let before, let after) = request.want else {
      guard case .item(let id) = request.want else { return MessagePage(messages: []) }
      return MessagePage(messages: messages.filter { $0.id == id })
    }
    let all = messages.filter { request.narrow!.verdict(on: PartialMessage($0)) == .yes }
    let point =
      switch anchor {
      case .oldest: Int64.min
      case .newest: Int64.max
      case .serverChosen: all.first { !$0.flags.contains(.read) }?.id.number ?? .max
      case .id(let id): id.number
      }
    let older = all.filter { $0.id.number < point }.suffix(Int(before))
    let newer = all.filter { $0.id.number > point }.prefix(Int(after))
    let own = all.filter { $0.id.number == point }
    let isNumber = point != .min && point != .max
    return MessagePage(
      messages: older + own + newer, anchor: isNumber ? MessageID(point) : nil,
      foundOldest: older.count < before || point == .min,
      foundNewest: newer.count < after || point == .max)
  }

  // MARK: Seeing

  /// The requests for pages that are out, as texts.
  var asked: [String] { source.pagesOut.map { "\($0.ask.request!.want)" } }

  /// Expects that nobody sleeps, nothing is asked, and no operation is under way.
  func expectNothingPending(_ comment: Comment? = nil, at place: SourceLocation = #_sourceLocation)
  {
    #expect(clock.alarms == [], comment, sourceLocation: place)
    #expect(source.open.map(\.ask) == [], comment, sourceLocation: place)
    #expect(read { $0.operations.isIdle }, comment, sourceLocation: place)
  }
}

/// A viewer of one window.
final class Viewer: Sendable {
  let id: WindowID
  let seen = Box<[ShelfView]>([])
  let hasEnded = Box(false)
  private let executor: StepExecutor
  private let place: Box<Place>
  private let task = Box<Task<Void, Never>?>(nil)

  struct Place: @unchecked Sendable {
    var views: WindowViews<MessageStore<ShelfNarrow>>?
    var iterator: WindowViews<MessageStore<ShelfNarrow>>.AsyncIterator?
  }

  init(_ views: WindowViews<MessageStore<ShelfNarrow>>, on executor: StepExecutor) {
    id = views.id
    self.executor = executor
    place = Box(Place(views: views))
  }

  /// Reads on until the views end.
  func follow() {
    let (seen, hasEnded) = (seen, hasEnded)
    let views = place.change { place in
      defer { place.views = nil }
      return place.views!
    }
    task.value = Task(executorPreference: executor) {
      for await view in views { seen.change { $0.append(view) } }
      hasEnded.value = true
    }
    executor.drain()
  }

  /// Asks for one more view. Returns `nil` if there is none yet.
  func next() -> ShelfView? {
    let place = place
    let before = seen.value.count
    let seen = seen
    Task(executorPreference: executor) {
      var now = place.value
      if now.iterator == nil { now.iterator = now.views?.makeAsyncIterator() }
      if let view = await now.iterator?.next() { seen.change { $0.append(view) } }
      place.value = now
    }
    executor.drain()
    return seen.value.count > before ? seen.value.last : nil
  }

  /// Drops the views without closing the window.
  func leave() {
    place.value = Place()
    executor.drain()
  }

  /// Cancels the reading task.
  func cancel() {
    task.value?.cancel()
    executor.drain()
  }

  /// A view's rows as text, like "980 990 1000", with "gap" for a gap and "(990)" for a former row.
  static func words(_ view: ShelfView) -> String {
    view.rows.map { row in
      switch row {
      case .item(let message): "\(message.id)"
      case .former(let id, _): "(\(id))"
      case .gap: "gap"
      }
    }.joined(separator: " ")
  }

  var rows: [String] { seen.value.map(Viewer.words) }
}
