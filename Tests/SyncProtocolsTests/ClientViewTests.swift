import SyncProtocols
import Testing
import UpdateMachine

struct ClientViewTests {
  private typealias View = ClientView<JSONValue>

  private func finger(
    _ state: UInt64, last: UInt64 = 0, refused: UInt64 = 0, commit: UInt64? = nil,
    checksum: UInt64? = nil
  ) -> ViewFinger {
    ViewFinger(
      client: ClientID(1), state: ServerStateID(epoch: 1, number: state),
      checksum: checksum ?? state,
      lastMutation: MutationID(last), lastRefusal: MutationID(refused),
      commit: commit.map { CommitNumber($0) })
  }

  private func pulled(_ finger: ViewFinger, _ content: ViewContent<JSONValue>) -> PulledView<
    JSONValue
  > {
    let isRefused = finger.lastRefusal != .none
    return PulledView(
      client: finger.client, state: finger.state, checksum: finger.checksum,
      lastMutation: finger.lastMutation,
      refusal: isRefused ? MutationRefusal(finger.lastRefusal) : nil,
      commit: finger.commit, content: content)
  }

  private func delta(_ finger: ViewFinger, from base: UInt64) -> PulledView<JSONValue> {
    pulled(finger, .delta(from: ServerStateID(epoch: 1, number: base), []))
  }

  // MARK: How an answer follows

  @Test func `another state moves the finger, by a delta from ours or a full view`() {
    let next = finger(2, last: 1)
    #expect(View.advance(finger(1), over: delta(next, from: 1)) == .next(next, first: 0))
    let full = pulled(next, .full([:]))
    #expect(View.advance(finger(1), over: full) == .next(next, first: 0))
    #expect(View.advance(finger(1), over: delta(next, from: 3)) == .lost)
    let older = finger(0)  // A state that has come back is not an older one.
    #expect(View.advance(finger(1), over: delta(older, from: 1)) == .next(older, first: 0))
  }

  @Test func `an answer without news is seen, and a confirmation alone moves the finger`() {
    #expect(View.advance(finger(1, last: 3), over: delta(finger(1, last: 3), from: 1)) == .seen)
    for next in [
      finger(1, last: 4), finger(1, last: 4, refused: 4), finger(1, last: 3, refused: 3),
    ] {
      #expect(View.advance(finger(1, last: 3), over: delta(next, from: 1)) == .next(next, first: 0))
    }
    let later = finger(1, last: 3, commit: 9)
    #expect(View.advance(finger(1, last: 3, commit: 8), over: delta(later, from: 1)) == .seen)
  }

  @Test func `an answer that confirms less than before is not believed, and shows a lag`() {
    let here = finger(5, last: 7, refused: 3, commit: 20)
    for older in [
      finger(6, last: 6, refused: 3, commit: 21), finger(6, last: 7, refused: 2, commit: 21),
      finger(6, last: 7, refused: 3, commit: 19), finger(5, last: 6, refused: 3, commit: 20),
    ] {
      #expect(View.advance(here, over: delta(older, from: 5)) == .incomplete)
      #expect(View.advance(here, over: delta(older, from: 4)) == .incomplete)
    }
    let silent = finger(6, last: 7, refused: 3)  // Names no commit to compare.
    #expect(View.advance(here, over: delta(silent, from: 5)) == .next(silent, first: 0))
  }

  @Test func `an answer of a lagging replica is applied if it leads on, and is incomplete`() {
    func lagging(_ finger: ViewFinger) -> PulledView<JSONValue> {
      var answer = delta(finger, from: 1)
      answer.isCurrent = false
      return answer
    }
    let here = finger(1, last: 3, commit: 8)
    for next in [finger(2, last: 3, commit: 9), finger(1, last: 4, commit: 9)] {
      #expect(
        View.advance(here, over: lagging(next)) == .next(next, first: 0, isComplete: false))
    }
    #expect(View.advance(here, over: lagging(here)) == .incomplete)
    #expect(View.advance(here, over: lagging(finger(1, last: 3, commit: 9))) == .incomplete)
    #expect(View.advance(here, over: lagging(finger(1, checksum: 9))) == .incomplete)
    #expect(View.advance(finger(1), over: lagging(finger(1, checksum: 9))) == .gap)
  }

  @Test func `one state with two checksums is a gap`() {
    #expect(View.advance(finger(1), over: delta(finger(1, checksum: 9), from: 1)) == .gap)
  }

  @Test func `a delta from another state is lost, unless it leads to ours or contradicts it`() {
    #expect(View.advance(finger(1), over: delta(finger(1), from: 3)) == .seen)
    #expect(View.advance(finger(1), over: delta(finger(1, last: 1), from: 3)) == .lost)
    #expect(View.advance(finger(1), over: delta(finger(2), from: 3)) == .lost)
    #expect(View.advance(finger(1), over: delta(finger(1, checksum: 9), from: 3)) == .gap)
    #expect(
      View.advance(finger(1, last: 3), over: delta(finger(2, last: 2), from: 3)) == .incomplete)
  }

  /// Nothing is wrong with such an answer: it is no reason to distrust the state, or to be slow.
  @Test(arguments: [61, 7_200] as [Int64])
  func `a delta from another state ends as an expired log does, and is not reported`(
    seconds: Int64
  ) throws {
    var desk = ViewDesk()
    desk.put(["a": 1])
    var settings = ClientSettings()
    settings.hasStore = false
    var client = SyncClient<ClientViewModel<JSONValue>, View>(
      incarnation: Incarnation(1), settings: settings)
    func moment(_ seconds: Int64) -> Moment { Moment(milliseconds: seconds * 1000) }
    func request(_ number: UInt64) -> RequestID {
      RequestID(incarnation: Incarnation(1), number: number)
    }
    _ = client.handle(.app(.started(foreground: true)), at: moment(0))
    let view = try desk.pull()
    let terms = ServerTerms(
      longDeadline: .seconds(10_000), lifetime: .seconds(600), cadence: .waits)
    _ = client.handle(
      .snapshotArrived(request(1), view, finger: view.finger, terms: terms), at: moment(0))
    var stray = view
    stray.state = ServerStateID(epoch: 1, number: 9)
    stray.content = .delta(from: ServerStateID(epoch: 1, number: 8), [])
    let effects = client.handle(.batchArrived(request(2), stray), at: moment(seconds))
    let texts = effects.texts(at: moment(seconds))
    #expect(!texts.contains { $0.hasPrefix("report") || $0.hasPrefix("release") }, "\(texts)")
    // Within the lifetime it looks like the end of all logs, later like the end of ours.
    #expect(texts.contains(seconds < 600 ? "arm 3 in (0, 5 s]" : "register 3"), "\(texts)")
    #expect(client.finger == nil)
    #expect(client.model?.finger == view.finger, "still shown")
  }

  // MARK: The model

  @Test func `a model takes full views and deltas with their confirmation`() throws {
    var desk = ViewDesk()
    desk.put(["a": 1, "b": 2])
    var model = try desk.model()
    try desk.push(from: 1, ("put", ["key": "c", "value": [3]]), ("fly", .null))
    desk.dataLayer.change { $0.del("a") }
    try model.apply(try desk.pull(from: model.finger.state))
    #expect(model.view.text == "b=2 c=[3]")
    #expect(model.lastMutation == MutationID(2))
    #expect(model.refusal == MutationRefusal(MutationID(2), RejectionCode("no mutator fly")))
    desk.server.diffServer.forget()
    try desk.push(from: 3, knowing: 2, ("put", ["key": "b", "value": false]))
    let full = try desk.pull(from: model.finger.state)
    #expect(full.text == "1.4:3 refused 2 full: b=false c=[3]")
    try model.apply(full)
    #expect(model.view.text == "b=false c=[3]")
    #expect(model.view.checksum == model.finger.checksum)
  }

  @Test func `a full view replaces everything, and shares the common parts`() throws {
    var desk = ViewDesk()
    desk.dataLayer.change { transaction in
      for number in 0..<10_000 as Range<Int64> {
        transaction.put(ViewKey("\(number)"), JSONValue(integerLiteral: number))
      }
    }
    let model = try desk.model()
    desk.dataLayer.change { transaction in
      transaction.put("x", 1)
      transaction.del("7")
    }
    desk.server.diffServer.forget()
    let next = try ClientViewModel(snapshot: try desk.pull(), replacing: model)
    #expect(next.view.map == desk.dataLayer.last.view.map)
    let changes = next.view.map.difference(from: model.view.map).changes
    #expect(changes.map { "\($0.key)" } == ["7", "x"])
  }

  @Test func `a checksum that does not match is refused`() throws {
    var desk = ViewDesk()
    desk.put(["a": 1])
    var model = try desk.model()
    desk.put(["b": 2])
    var pulled = try desk.pull(from: model.finger.state)
    let right = pulled.checksum
    pulled.content = .delta(from: model.finger.state, [ViewChange(key: "b", value: 3)])
    let wrong = ViewMap<JSONValue>(["a": 1, "b": 3]).checksum
    #expect(throws: ClientViewRefusal.checksum(expected: right, found: wrong)) {
      try model.apply(pulled)
    }
    pulled.content = .full(["a": 1, "b": 3])
    #expect(throws: ClientViewRefusal.checksum(expected: right, found: wrong)) {
      try ClientViewModel(snapshot: pulled)
    }
  }

  @Test func `a snapshot that is a delta, or confirms less, is refused`() throws {
    var desk = ViewDesk()
    desk.put(["a": 1])
    var model = try desk.model()
    let state = model.finger.state
    #expect(throws: ClientViewRefusal.base(state)) {
      try ClientViewModel(snapshot: try desk.pull(from: state))
    }
    try desk.push(from: 1, ("add", 1))
    let older = try desk.pull(asOf: 1)
    try model.apply(try desk.pull(from: state))
    #expect(throws: ClientViewRefusal.confirmsLess) {
      try ClientViewModel(snapshot: older, replacing: model)
    }
    #expect(throws: ClientViewRefusal.confirmsLess) { try model.apply(older) }
    #expect(try ClientViewModel(snapshot: older).view.text == "a=1")
  }

  /// A story of the fault `forgotten-name`: a change was confirmed and shown. Then the server
  /// forgot the client's name, and a replica that lagged gave the view of before the change under
  /// the new one.
  @Test func `under another name, what may be older is refused`() throws {
    typealias Model = ConfirmedView<Wish>
    let other = ClientID(2)
    var desk = ViewDesk()
    desk.put(["a": 1])
    try desk.push(from: 1, ("add", 1))
    let model = try Model(snapshot: try desk.pull())
    #expect(throws: ClientViewRefusal.confirmsLess) {
      try Model(snapshot: try desk.pull(other, asOf: 1), replacing: model)
    }
    // It lags, but not behind what this client has seen.
    desk.put(["b": 1])
    let lagging = try desk.pull(other, asOf: 2)
    #expect(!lagging.isCurrent)
    #expect(try Model(snapshot: lagging, replacing: model).client == other)
    // Without commit numbers it may be older. What is current never is, and a nameless view was
    // never the server's.
    var unnumbered = lagging
    unnumbered.commit = nil
    #expect(throws: ClientViewRefusal.confirmsLess) {
      try Model(snapshot: unnumbered, replacing: model)
    }
    unnumbered.isCurrent = true
    #expect(try Model(snapshot: unnumbered, replacing: model).client == other)
    #expect(try Model(snapshot: try desk.pull(other, asOf: 1)).client == other)
  }

  // MARK: In a client

  private func turn(
    _ follower: inout ViewFollower, _ desk: inout ViewDesk, asOf commit: UInt64? = nil,
    damage: (inout PulledView<JSONValue>) -> Void = { _ in }
  ) throws -> String {
    follower.ask()
    let question = try #require(follower.question)
    var pulled = try desk.pull(from: question.state, asOf: commit)
    damage(&pulled)
    follower.answer(.success(pulled))
    return "\(question.state.map { "\($0)" } ?? "register") → \(follower.client.status): "
      + (follower.model.map { "\($0.view.text), last \($0.lastMutation)" } ?? "nothing")
  }

  @Test func `a client registers, pulls, and pulls in full after a wrong checksum`() throws {
    var desk = ViewDesk()
    var follower = ViewFollower()
    desk.put(["a": 1])
    #expect(try turn(&follower, &desk) == "register → live.pausing: a=1, last 0")
    desk.put(["b": 2])
    let damaged = try turn(&follower, &desk) { $0.checksum += 1 }
    #expect(damaged == "1.1 → registerFailed: a=1, last 0")
    #expect(try turn(&follower, &desk) == "register → live.pausing: a=1 b=2, last 0")
  }

  @Test func `a client drops an answer that flaps back, and continues from its finger`() throws {
    var desk = ViewDesk()
    var follower = ViewFollower()
    try desk.push(from: 1, ("add", 1))
    try desk.push(from: 2, ("add", 1))
    #expect(try turn(&follower, &desk) == "register → live.pausing: sum=2, last 2")
    #expect(try turn(&follower, &desk, asOf: 1) == "1.1 → live.pausing: sum=2, last 2")
    try desk.push(from: 3, ("add", 1))
    #expect(try turn(&follower, &desk) == "1.1 → live.pausing: sum=3, last 3")
  }

  @Test func `a client takes a full view as the answer to a poll`() throws {
    var desk = ViewDesk()
    var follower = ViewFollower()
    desk.put(["a": 1])
    _ = try turn(&follower, &desk)
    desk.server.diffServer.restart(epoch: 2)
    desk.put(["b": 2])
    #expect(try turn(&follower, &desk) == "1.1 → live.pausing: a=1 b=2, last 0")
    #expect(follower.client.finger?.state == ServerStateID(epoch: 2, number: 1))
  }

  @Test func `a diff server that reuses a state ID is noticed by the checksum`() throws {
    var desk = ViewDesk()
    var follower = ViewFollower()
    desk.put(["a": 1])
    _ = try turn(&follower, &desk)
    desk.server.diffServer.restart(epoch: 1)
    desk.put(["a": 2])
    _ = try desk.pull()  // Somebody else pulls, so the state is now 1.1.
    #expect(try turn(&follower, &desk) == "1.1 → registerFailed: a=1, last 0")
    #expect(try turn(&follower, &desk) == "register → live.pausing: a=2, last 0")
  }

  @Test func `a refusal above the last mutation ID is not taken`() throws {
    var desk = ViewDesk()
    desk.put(["a": 1])
    let model = try desk.model()
    desk.put(["a": 2])
    var wrong = try desk.pull(from: model.finger.state)
    wrong.refusal = MutationRefusal(MutationID(.max))
    var copy = model
    #expect(throws: ClientViewRefusal.refusesAhead) { try copy.apply(wrong) }
    #expect(throws: ClientViewRefusal.refusesAhead) {
      var full = try desk.pull()
      full.refusal = MutationRefusal(MutationID(1))
      _ = try ClientViewModel(snapshot: full, replacing: model)
    }
  }

  @Test func `a client keeps its model while the view is too large`() throws {
    var desk = ViewDesk()
    var follower = ViewFollower()
    desk.put(["a": 1])
    _ = try turn(&follower, &desk)
    let tooLarge = ClientViewFailure.viewTooLarge(byteCount: 30, maximum: 20)
    follower.ask()
    follower.answer(.failure(tooLarge))
    #expect("\(follower.client.status)" == "registerFailed")
    #expect(follower.model?.view.text == "a=1")
    #expect(try turn(&follower, &desk) == "register → live.pausing: a=1, last 0")
  }
}
