import SyncProtocols
import Testing
import UpdateMachine

@testable import Simulator

/// Whole worlds in which users post, to a server that knows no post again.
struct PostsWorldTests {
  @Test(arguments: [UInt64(0), 1000])
  func `each post is made as often as it was sent, or is uncertain or set aside`(first: UInt64) {
    for seed in first..<(first + 100) {
      let (result, trace) = Simulation<Posts>.trace(SimulationConfiguration(seed: seed))
      guard let finding = result.finding else { continue }
      Issue.record("seed \(seed): \(finding)\n\(trace.text.suffix(6000))")
      return
    }
  }

  @Test func `a seed tells one story, and its choices tell it again`() {
    var configuration = SimulationConfiguration(seed: 7)
    configuration.world = .posts
    let result = LibraryWorld.run(configuration)
    #expect(LibraryWorld.run(configuration).hash == result.hash)
    let record = Simulation<Posts>.choices(of: configuration)
    let token = RunToken(configuration, ChoiceLists(record))
    #expect((try? RunToken(token.text))?.configuration.world == .posts)
    #expect(LibraryWorld.traceReplay(token).0.steps == result.steps)
  }

  /// Everything that the users of these worlds are there for does happen.
  @Test func `sends are uncertain, refused and set aside, and sent again`() {
    var text = ""
    for seed: UInt64 in 1...40 {
      text += Simulation<Posts>.trace(SimulationConfiguration(seed: seed)).1.text
    }
    for words in [
      "uncertain", "refused", "set aside", "threw", "accepted", "halted(credentials)", "waiting",
      "modelRefused",
    ] {
      #expect(text.contains(words), "\(words)")
    }
    #expect(!text.contains("confirming"))  // Nothing is sent again by itself.
  }

  /// The server's own view of it: what comes twice is there twice, and who asks has a name.
  @Test func `each arrival of a push is a post`() throws {
    var server = EventQueueServer(
      truth: PostsTruth(), settings: ServerSettings(), at: Moment(milliseconds: 0))
    let now = Moment(milliseconds: 5)
    let queue = try server.beginRegister(at: now).get()
    let registered = server.finishRegister(queue, for: nil, at: now)
    guard case .registered(let snapshot, let finger, _) = registered else {
      Issue.record("no snapshot")
      return
    }
    #expect(snapshot.client == ClientID(1))
    var model = try Posts.Model(snapshot: snapshot)

    let arguments = JSONObject([
      .init("entry", 1), .init("channel", 0), .init("local", 1),
    ])
    let push = PushRequest(
      client: snapshot.client, knownRefusal: .none,
      mutations: [
        PushedMutation(
          id: MutationID(1), name: "post", arguments: .object(try #require(arguments)))
      ])
    #expect(server.push(push, at: now) == .accepted)
    #expect(server.push(push, at: now) == .accepted)
    #expect(server.truth.board.posts.count == 2)

    let reply = server.poll(
      finger, waits: false, waiter: 1, heartbeatAfter: .seconds(50), at: now)
    guard case .batch(let batch) = reply else {
      Issue.record("no events")
      return
    }
    for event in batch.events { if let event = event.event { try model.apply(event) } }
    #expect(Posts.checksum(of: model) == server.truth.checksum)
  }

  /// A user with a replica whose writes succeed at once.
  private struct Hand {
    var user = PostsUser()
    var replica = PostsUser.Body(life: Life(1))
    var request: RequestID?
    var now = Moment(milliseconds: 0)
    /// The pushes that left, and the timer that was armed last.
    var sent: [UInt64] = []
    var timer: UInt64?

    mutating func put(_ input: PostsUser.Body.Input) {
      let effects = replica.handle(input, at: now)
      switch effects.request {
      case .register(let id), .poll(let id, _, _): request = id
      case nil: break
      }
      perform(user.hear(input, &replica, at: now))
      if let write = effects.persist { put(.written(write)) }
    }

    mutating func perform(_ effects: PostsUser.Effects) {
      sent += effects.send
      if let arm = effects.arm { timer = arm.timer }
      guard effects.saves, let saved = replica.saved else { return }
      perform(user.note(written: saved, &replica, at: now))
    }

    mutating func begin(as client: UInt64) throws {
      put(.started(foreground: true))
      var snapshot = PostsTruth().snapshot
      snapshot.client = ClientID(client)
      let finger = QueueFinger(queue: QueueID("q\(client)"), lastEventID: -1)
      let terms = QueueServerConfiguration().terms
      put(.snapshotArrived(try #require(request), snapshot, finger: finger, terms: terms))
      let post = Post(author: ClientID(client), entry: 1, channel: 0)
      var wanted = PostsUser.Effects()
      user.courier.perform(
        try replica.mutate(PostChange(post: post), at: now).effects, &wanted)
      perform(wanted)
    }

    var outbox: Outbox<PostChange>? { replica.model?.local.outbox }
  }

  @Test func `what was out for one who has left reaches nobody else`() throws {
    var hand = Hand()
    hand.put(.loaded(nil, age: nil))
    try hand.begin(as: 1)
    hand.put(.loggedOut)
    let old = hand.timer
    try hand.begin(as: 2)
    #expect(hand.sent == [0, 1])
    // The two have the same name, for each outbox counts anew.
    #expect(hand.user.courier.push(0).id == hand.user.courier.push(1).id)
    let before = try #require(hand.outbox)
    hand.user.note(.accepted, to: 0)
    hand.perform(hand.user.take(0, &hand.replica, at: hand.now))
    hand.perform(hand.user.fail(0, .timedOut, hasLeft: true, &hand.replica, at: hand.now))
    hand.perform(hand.user.fire(try #require(old), &hand.replica, at: hand.now))
    #expect(hand.outbox == before)
    hand.user.note(.accepted, to: 1)
    hand.perform(hand.user.take(1, &hand.replica, at: hand.now))
    #expect(hand.outbox != before)
  }

  @Test(arguments: Plant.all)
  func `a server of posts that breaks its contract is seen`(plant: Plant) {
    for seed: UInt64 in 1...200 {
      let result = Simulation<Posts>.run(SimulationConfiguration(seed: seed, plant: plant))
      guard result.finding != nil else { continue }
      #expect(result.breaches > 0, "seed \(seed)")
      return
    }
    Issue.record("nobody saw \(plant.name)")
  }
}
