import SyncProtocols
import Testing
import UpdateMachine

@testable import Simulator

/// Tests whole worlds in which users post to a server that does not recognise a second copy.
struct PostsWorldTests {
  /// On the server, a post that comes twice is there twice, and a client that gives its name is
  /// known by it.
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
    var model = try PostsApp.Model(snapshot: snapshot)

    let arguments = JSONObject([
      .init("entry", 1), .init("channel", 0), .init("local", 1),
    ])
    let push = MutationPush(
      client: snapshot.client, knownRefusal: .none,
      mutations: [
        NamedMutation(
          id: MutationID(1), name: "post", arguments: .object(try #require(arguments)))
      ])
    #expect(server.push(push, at: now) == .accepted)
    #expect(server.push(push, at: now) == .accepted)
    #expect(server.truth.state.posts.count == 2)

    let reply = server.poll(
      finger, waits: false, waiter: 1, heartbeatAfter: .seconds(50), at: now)
    guard case .batch(let batch) = reply else {
      Issue.record("no events")
      return
    }
    for event in batch.events { if let event = event.event { try model.apply(event) } }
    #expect(PostsApp.checksum(of: model) == server.truth.checksum)
  }

  /// A client whose store succeeds at once.
  private struct Hand {
    typealias Client = PostsUser.Body

    var client = Client(incarnation: Incarnation(1))
    var request: RequestID?
    var now = Moment(milliseconds: 0)
    /// The pushes that have left. `timer` is the outbox's timer that was armed last.
    var sent: [RequestID] = []
    var timer: TimerID?

    mutating func put(_ input: Client.Input) { perform(client.handle(input, at: now)) }

    mutating func perform(_ effects: Client.Effects) {
      for effect in effects.list {
        switch effect {
        case .register(let id), .poll(let id, _, _): request = id
        case .load: put(.loaded(nil, age: nil))
        case .save(let write): put(.written(write))
        case .erase: put(.erased(succeeded: true))
        case .push(let push, _): sent.append(push.id)
        case .arm(let armed, _): if armed.part == .outbox { timer = armed }
        default: break
        }
      }
    }

    mutating func begin(as name: UInt64) throws {
      put(.app(.started(foreground: true)))
      var snapshot = PostsTruth().snapshot
      snapshot.client = ClientID(name)
      let finger = QueueFinger(queue: QueueID("q\(name)"), lastEventID: -1)
      let terms = QueueServerConfiguration().terms
      put(.snapshotArrived(try #require(request), snapshot, finger: finger, terms: terms))
      let post = Post(author: ClientID(name), entry: 1, channel: 0)
      perform(try client.mutate(PostChange(post: post), at: now).effects)
    }

    var outbox: Outbox<PostChange>? { client.local?.outbox }
  }

  @Test func `an answer to a client that has left reaches no other`() throws {
    var hand = Hand()
    try hand.begin(as: 1)
    hand.put(.app(.loggedOut))
    let old = try #require(hand.timer)
    try hand.begin(as: 2)
    #expect(hand.sent.count == 2)
    // Each outbox counts from 1, but no push ever has an earlier one's ID.
    #expect(hand.sent[0] != hand.sent[1])
    let before = try #require(hand.outbox)
    hand.put(.pushAnswered(hand.sent[0], .accepted))
    hand.put(.failed(hand.sent[0], .timedOut, hasLeft: true))
    hand.put(.fired(old))
    #expect(hand.outbox == before)
    hand.put(.pushAnswered(hand.sent[1], .accepted))
    #expect(hand.outbox != before)
  }

  @Test(arguments: Plant.all)
  func `a server of posts that breaks its contract is found`(plant: Plant) {
    for seed: UInt64 in 1...200 {
      let result = Simulation<PostsApp>.run(SimulationConfiguration(seed: seed, plant: plant))
      guard result.finding != nil else { continue }
      #expect(result.breaches > 0, "seed \(seed)")
      return
    }
    Issue.record("no oracle noticed \(plant.name)")
  }
}
