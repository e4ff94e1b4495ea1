import Foundation
import Testing
import UpdateMachine

// Article example begins: loop
/// An app that has a loop of its own, and hosts the client in it. It decides nothing.
final class Host {
  typealias Client = SyncClient<BoardModel, BoardSync>

  private(set) var client: Client
  private let parts: AppParts

  init(_ parts: AppParts) {
    self.parts = parts
    client = Client(incarnation: parts.newIncarnation())
  }

  /// The one way in for what happens, one thing after the other: never from within `perform`.
  func feed(_ input: Client.Input) { take(client.handle(input, at: parts.now)) }

  /// The user changes something.
  func mutate(_ change: BoardChange) throws {
    take(try client.mutate(change, at: parts.now).effects)
  }

  private func take(_ effects: Client.Effects) {
    effects.each(perform)
    if !effects.changes.isEmpty { show() }
  }

  /// Shows what there is, and shows it again when its freshness changes by time alone.
  private func show() {
    parts.show(client)
    parts.showAgain(at: client.freshnessChange(after: parts.now), show)
  }

  /// Begins one thing. What takes time ends in one input, later.
  private func perform(_ effect: Client.Effect) {
    switch effect {
    case .cancel(let request): parts.cancel(request)
    case .disarm(let timer): parts.cancel(timer)
    case .report(let report): parts.log(report)
    case .release(let log): parts.release(log)
    case .load: parts.load(then: feed)
    case .save(let write): parts.save(client.saved, write, then: feed)
    case .erase: parts.erase(then: feed)
    case .register(let request): parts.register(request, then: feed)
    case .poll(let request, let finger, let waits):
      parts.poll(request, after: finger, waits: waits, then: feed)
    case .push(let push, _): parts.push(push, then: feed)
    case .arm(let timer, let range): parts.wake(timer, within: range, then: feed)
    case .read, .fetch: break  // Never asked: the model holds everything, all of it loaded.
    }
  }
}
// Article example ends

/// The app's network, disk, clock and screen. Here they are a list of what comes next, and when.
final class AppParts {
  typealias Client = Host.Client
  typealias Feed = (Client.Input) -> Void

  /// A step that will happen. It can be cancelled under its `name`.
  private struct Step {
    var at: Moment
    var number: Int
    var name: AnyHashable?
    var run: () -> Void
  }

  var now = Moment.ms(0)
  var server = BoardServer()
  var isOnline = true
  var disk: Client.Saved?
  private(set) var shown: [VersionedMap<String, Int64>?] = []
  private(set) var claims: [Freshness.Claim] = []
  private(set) var released: [String] = []
  private(set) var reports = 0
  private var lives: UInt64 = 0
  private var count = 0
  private var steps: [Step] = []
  /// The poll that waits at the server, and what its client knows.
  private var waiting: (id: RequestID, known: BoardNews, feed: Feed)?

  /// Lets some time pass.
  func run(_ span: TimeSpan) {
    let end = now + span
    while let index = steps.indices.min(by: {
      (steps[$0].at, steps[$0].number) < (steps[$1].at, steps[$1].number)
    }), steps[index].at <= end {
      let step = steps.remove(at: index)
      now = max(now, step.at)
      step.run()
    }
    now = end
  }

  private func later(
    _ name: AnyHashable? = nil, at moment: Moment? = nil, _ run: @escaping () -> Void
  ) {
    count += 1
    steps.append(Step(at: moment ?? now + .milliseconds(10), number: count, name: name, run: run))
  }

  func cancel(_ name: some Hashable & Sendable) {
    steps.removeAll { $0.name == AnyHashable(name) }
    if waiting.map({ AnyHashable($0.id) }) == AnyHashable(name) { waiting = nil }
  }

  func newIncarnation() -> Incarnation {
    lives += 1
    return Incarnation(lives)
  }

  func log(_ report: SyncReport) { reports += 1 }

  func release(_ log: String) { released.append(log) }

  func show(_ client: Client) {
    shown.append(client.view?.values)
    claims.append(client.freshness(at: now).claim)
  }

  /// Plans one showing at a time, or none if `moment` is `nil`.
  func showAgain(at moment: Moment?, _ show: @escaping () -> Void) {
    cancel("showing")
    if let moment { later("showing", at: moment, show) }
  }

  func wake(_ timer: TimerID, within range: MomentRange, then feed: @escaping Feed) {
    later(timer, at: range.latest) { feed(.fired(timer)) }
  }

  // MARK: The disk

  func load(then feed: @escaping Feed) {
    later { [self] in feed(.loaded(disk, age: disk == nil ? nil : .seconds(1))) }
  }

  func save(_ saved: Client.Saved?, _ write: WriteID, then feed: @escaping Feed) {
    later { [self] in
      disk = saved
      feed(.written(write))
    }
  }

  func erase(then feed: @escaping Feed) {
    later { [self] in
      disk = nil
      feed(.erased(succeeded: true))
    }
  }

  // MARK: The server

  private func ask(
    _ id: RequestID, then feed: @escaping Feed, _ answer: @escaping (AppParts) -> Client.Input?
  ) {
    later(id) { [self] in
      guard isOnline else { return feed(.failed(id, .unreachable, hasLeft: false)) }
      if let input = answer(self) { feed(input) }
    }
  }

  func register(_ id: RequestID, then feed: @escaping Feed) {
    ask(id, then: feed) { parts in
      .snapshotArrived(
        id, parts.server.news, finger: parts.server.spot, terms: testTerms)
    }
  }

  func poll(_ id: RequestID, after finger: Spot, waits: Bool, then feed: @escaping Feed) {
    ask(id, then: feed) { parts in
      if finger.index < parts.server.spot.index { return parts.news(id) }
      guard waits else {
        return .batchArrived(id, BoardBatch(first: finger.index + 1, events: []))
      }
      parts.waiting = (id, parts.server.news, feed)
      return nil
    }
  }

  func push(_ push: PushRequest<BoardChange>, then feed: @escaping Feed) {
    ask(push.id, then: feed) { parts in
      let before = parts.server.news
      let answer = parts.server.run(push)
      if parts.server.news != before { parts.tellNews() }
      return .pushAnswered(push.id, answer)
    }
  }

  /// Somebody else changes something.
  func change(_ key: String, to value: Int64) {
    server.board.values[key] = value
    tellNews()
  }

  private func tellNews() {
    server.spot.index += 1
    guard let (id, _, feed) = waiting else { return }
    waiting = nil
    ask(id, then: feed) { $0.news(id) }
  }

  private func news(_ id: RequestID) -> Client.Input {
    .batchArrived(id, BoardBatch(first: server.spot.index, events: [server.news]))
  }
}

/// Tests an app that hosts the client itself, as the article says.
@Suite struct HostLoopTests {
  @Test func `a host of one's own follows, makes changes, restarts and logs out`() throws {
    let parts = AppParts()
    let host = Host(parts)
    host.feed(.app(.started(foreground: true)))
    parts.run(.seconds(1))
    #expect(host.client.freshness(at: parts.now).claim == .connected)

    parts.change("a", to: 1)
    parts.run(.seconds(1))
    #expect(host.client.model?.state.values == ["a": 1])

    try host.mutate(.set("b", 2))
    #expect(parts.shown.last == ["a": 1, "b": 2], "the change is shown at once")
    parts.run(.seconds(5))
    #expect(parts.server.ran == ["set"])
    #expect(host.client.local?.outbox.isEmpty == true)

    // The process ends with a change that was made offline. The next process sends it.
    parts.isOnline = false
    try host.mutate(.set("c", 3))
    parts.run(.seconds(5))
    #expect(parts.server.ran == ["set"])
    host.feed(.app(.networkChanged))
    let lost = parts.now
    parts.run(.seconds(5))
    #expect(parts.claims.last == .unreachable(since: lost), "the banner is shown when it is due")
    host.feed(.app(.stopped))
    parts.isOnline = true
    let next = Host(parts)
    next.feed(.app(.started(foreground: true)))
    parts.run(.seconds(5))
    #expect(parts.server.board.values == ["a": 1, "b": 2, "c": 3])
    #expect(next.client.model?.state == parts.server.board)
    #expect(next.client.local?.outbox.isEmpty == true)
    #expect(parts.reports == 0)

    next.feed(.app(.loggedOut))
    parts.run(.seconds(1))
    #expect(parts.disk == nil)
    #expect(parts.released == ["a"])
    #expect(next.client.holding == .nothing)
  }

  @Test func `the article shows exactly the code of the host loop`() throws {
    let here = URL(filePath: #filePath)
    let root = here.deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let source = try String(contentsOf: here, encoding: .utf8)
    let article = try String(
      contentsOf: root.appending(path: "Sources/UpdateMachine/UpdateMachine.docc/Hosting.md"),
      encoding: .utf8)
    let lines = source.split(separator: "\n", omittingEmptySubsequences: false)
    let begin = try #require(lines.firstIndex { $0 == "// Article example begins: loop" })
    let end = try #require(lines.firstIndex { $0 == "// Article example ends" })
    let example = lines[(begin + 1)..<end]
    #expect(article.contains("```swift\n" + example.joined(separator: "\n") + "\n```\n"))
  }
}
