import SyncProtocols
import Testing
import UpdateMachine

/// The stream, its holes, and what a client sends.
struct EventStreamTests {
  // MARK: Holes

  @Test func `the walk of the seed: held 0 to 9 and 15 to 19, it asks for 10 to 14`() {
    var place = StreamPlace(stream: StreamID(1))
    #expect(place.take(events(0...9), latest: 9) == true)
    #expect(place.take(events(15...19), latest: 19) == false)
    #expect("\(place)" == "[0…9] [15…19] of 19")
    #expect(place.request.holes.map(\.description) == ["[10…14]"])
    #expect(place.take(events(10...14), latest: 19) == true)
    #expect("\(place)" == "[0…19] of 19")
  }

  @Test func `an empty stream and one up to sequence 0 are told apart`() throws {
    var model = try StreamModel(snapshot: snapshot([]))
    #expect(model.state.stamped("a").preceding == .none)
    var place = StreamPlace(stream: StreamID(1))
    #expect(place.isLevel)
    #expect(place.take([], latest: 0) == false)
    #expect(place.request.holes.map(\.description) == ["[0]"])
    try model.apply(.event(event(0)))
    #expect(model.state.stamped("a").preceding == StreamSequence(0))
    #expect(StreamSequence.none < StreamSequence(0))
  }

  @Test func `events beyond a hole are held aside, and shown once it is filled`() throws {
    var model = try StreamModel(snapshot: snapshot([event(0), event(2)]))
    #expect(model.state.list == ["o0"])
    try model.apply(.event(event(4)))
    try model.apply(.event(event(1)))
    #expect(model.state.list == ["o0", "o1", "o2"])
    try model.apply(.event(event(3)))
    #expect(model.state.list == ["o0", "o1", "o2", "o3", "o4"])
  }

  @Test func `a read that misses what was written is asked again, and live events come meanwhile`()
    throws
  {
    var world = StreamWorld(devices: 2)
    try world.connect()
    world.server.lag = .seconds(300)
    try world.make(0, "a", .insert([:]))
    world.pushAll(0)
    world.server.lag = .zero
    try world.make(0, "b", .insert([:]))
    world.pushAll(0)
    for _ in 0..<5 {
      world.serve(1)
      world.devices[1].endSave(at: world.now)
      world.pass(.seconds(20))
    }
    // It holds "b", which came live, and shows neither.
    #expect(world.devices[1].client.finger.map { "\($0)" } == "[1] of 1")
    #expect(world.devices[1].client.view?.list == [])
    #expect(world.devices[1].client.freshness(at: world.now).claim != .connected)
    world.pass(.seconds(300))
    world.settle()
    #expect(world.devices[1].client.view?.list == ["a", "b"])
    #expect(world.devices[1].client.freshness(at: world.now).claim == .connected)
    #expect(world.violation == nil)
  }

  @Test func `a counter that lags proves nothing`() {
    var place = StreamPlace(stream: StreamID(1))
    #expect(place.take(events(0...4), latest: 4) == true)
    let stale = StreamBatch(stream: StreamID(1), latest: StreamSequence(2))
    #expect(EventStream.advance(place, over: stale) == .incomplete)
  }

  @Test func `what cannot be is a gap or a refusal`() throws {
    let place = StreamPlace(stream: StreamID(1))
    func advance(_ steps: [StreamStep], of stream: UInt64 = 1) -> SyncAdvance<StreamPlace> {
      EventStream.advance(
        place,
        over: StreamBatch(stream: StreamID(stream), latest: StreamSequence(9), steps: steps))
    }
    #expect(advance(events(0...1), of: 2) == .gap)
    #expect(advance([.event(event(1)), .event(event(0))]) == .gap)
    #expect(advance([.event(event(1)), .event(event(1))]) == .gap)
    #expect(advance([.event(event(3, seen: 3))]) == .gap)
    // We follow everything.
    #expect(advance([.others(StreamSequence(0), through: StreamSequence(3))]) == .gap)
    for (low, high) in [(-2, 3), (3, 2), (0, .max), (.max, .max)] as [(Int64, Int64)] {
      let step = StreamStep.others(StreamSequence(low), through: StreamSequence(high))
      #expect(advance([step]) == .gap)
      #expect(throws: StreamRefusal.self) { try StreamModel(snapshot: snapshot([], step)) }
    }
    var model = try StreamModel(snapshot: snapshot([event(0), event(2)]))
    try model.apply(.event(event(2)))  // Again.
    for sequence in [0, 2] as [Int64] {
      let contradiction = StreamRefusal.contradiction(StreamSequence(sequence))
      #expect(throws: contradiction) { try model.apply(.event(event(sequence, id: 77))) }
    }
    #expect(throws: StreamRefusal.impossible(StreamSequence(3))) {
      try model.apply(.event(event(3, seen: 5)))
    }
  }

  @Test func `a client that is told another event under a held sequence reads the stream anew`()
    throws
  {
    var world = StreamWorld(devices: 1)
    try world.connect()
    try world.make(0, "a", .insert([:]))
    world.settle()
    let wrong = StreamBatch(
      stream: StreamID(1), latest: StreamSequence(0), steps: [.event(event(0, id: 77))])
    world.devices[0].answer(.success(wrong), at: world.now)
    #expect(world.devices[0].reports == [.failure(.modelRefused)])
    world.pass(.seconds(3600))
    #expect(world.devices[0].question.map { $0.place == nil } == true)
    world.settle()
    #expect(world.devices[0].client.view?.list == ["a"])
  }

  // MARK: What a client sends

  @Test func `changes made before the first answer are queued, and sent once there is a server`()
    throws
  {
    var world = StreamWorld(devices: 2)
    try world.make(0, "a", .insert(["n": 1]))
    try world.make(0, "b", .insert(["n": 2]))
    #expect(world.devices[0].client.view?.list == ["a", "b"])
    #expect(world.devices[0].push == nil)
    world.settle()
    #expect(world.server.events.map(\.change.preceding) == [.none, .none])
    #expect(world.server.events.map(\.change.clientSequence) == [1, 2])
    #expect(world.devices[1].client.view?.list == ["a", "b"])
  }

  @Test func `of a push of three, the first and third are taken, and the second stays`() throws {
    var world = StreamWorld(devices: 1)
    for key in ["a", "b", "c"] { try world.make(0, key, .insert([:])) }
    world.serve(0)
    world.pushAll(0, failing: [1])
    #expect(world.server.events.map(\.change.key) == ["a", "c"])
    #expect(world.devices[0].client.pending.map(\.change.key).contains("b"))
    world.settle()
    #expect(world.server.events.map(\.change.key) == ["a", "c", "b"])
    // They were made in this order, and all of them at the same sight of the stream.
    #expect(world.devices[0].client.view?.list == ["a", "b", "c"])
  }

  @Test func `one UUID twice is one event, at the server and in the fold`() throws {
    var world = StreamWorld(devices: 1)
    try world.connect()
    try world.make(0, "a", .insert(["n": 1]))
    world.devices[0].endSave(at: world.now)
    world.take(0, losingAnswer: true, again: true)
    world.repeatPush()
    world.settle()
    #expect(world.server.events.count == 1)
    #expect(world.devices[0].client.pending.isEmpty)
    var fold = StreamFold(law: .firstWriterWins)
    let change = event(0).change
    #expect(fold.add(change, by: ClientID(1), at: StreamSequence(0)) == 1)
    #expect(fold.add(change, by: ClientID(1), at: StreamSequence(5)) == 0)
  }

  @Test func `unsent changes of one object become one`() {
    let one: StreamFields = ["a": 1, "b": 1]
    let two: StreamFields = ["b": 2, "c": 2]
    let both: StreamFields = ["a": 1, "b": 2, "c": 2]
    func coalesced(_ one: StreamChange.Kind, _ two: StreamChange.Kind) -> StreamChange.Kind? {
      let first = StreamChange(StreamEventID(high: 0, low: 1), "o", one)
      return first.coalesced(with: StreamChange(StreamEventID(high: 0, low: 2), "o", two))?.kind
    }
    #expect(coalesced(.insert(one), .update(two)) == .insert(both))
    #expect(coalesced(.update(one), .update(two)) == .update(both))
    for kind in [.insert(one), .update(one), .delete] as [StreamChange.Kind] {
      // Who undoes a deletion wants back what was updated before it.
      #expect(coalesced(kind, .delete) == (kind == .update(one) ? nil : .delete))
      #expect(coalesced(kind, .insert(two)) == nil)
    }
    #expect(coalesced(.delete, .update(two)) == nil)
    let other = StreamChange(StreamEventID(high: 0, low: 3), "p", .delete)
    #expect(StreamChange(id(1), "o", .delete).coalesced(with: other) == nil)
  }

  @Test func `changes with news between them stay two, and each keeps its place`() throws {
    // Client 1 sets b off line, hears that client 2 has set a and b, and sets a.
    var model = try StreamModel(snapshot: snapshot([event(0)]))
    let first = model.state.stamped("o0", .update(["b": "mine"]), id: 100)
    let theirs = StreamChange(id(101), "o0", .update(["a": "theirs", "b": "theirs"]))
    try model.apply(
      .event(StreamEvent(sequence: StreamSequence(1), client: ClientID(2), change: theirs)))
    let later = model.state.stamped("o0", .update(["a": "mine"]), id: 102)
    #expect(first.coalesced(with: later) == nil)
    var state = model.state
    for change in [first, later] { try change.apply(to: &state) }
    #expect(state.plain["o0"] == ["a": "mine", "b": "mine", "n": .null])
    // With the key of the first change, what it answers to would win.
    var wrong = later
    wrong.preceding = .none
    state = model.state
    try wrong.apply(to: &state)
    #expect(state.plain["o0"]?["a"] == "theirs")
  }

  /// Found by a simulated world, in seed 1701 of real drivers; later also in seed 1179.
  @Test func `a deletion takes no change whose maker did not know of it`() throws {
    var model = try StreamModel(snapshot: snapshot([event(0)], law: .lastWriterWins))
    let first = model.state.stamped("o0", .update(["n": 1]), id: 100)
    let deletion = StreamChange(id(101), "o0", .delete)
    try model.apply(
      .event(StreamEvent(sequence: StreamSequence(1), client: ClientID(2), change: deletion)))
    // The deletion was made without knowing of the update, and the update brings the object back.
    var state = model.state
    try first.apply(to: &state)
    #expect(state.plain["o0"]?["n"] == 1)
    let later = state.stamped("o0", .update(["n": 2]), id: 102)
    try later.apply(to: &state)
    #expect(state.plain["o0"]?["n"] == 2)
    #expect(first.coalesced(with: later) == nil)
    // With the key of the later change, both would come from somebody who knew of the deletion.
    state = model.state
    #expect(throws: StreamChangeRefusal.deleted) { try later.apply(to: &state) }
  }

  /// Found by a simulated world, in seed 4: an edit was given a client sequence that another change
  /// had.
  @Test func `an edited change takes a new place, which no other change has`() throws {
    var world = StreamWorld(devices: 2)
    for key in ["a", "b", "c"] { try world.make(0, key, .insert([:])) }
    try world.make(0, "a", .update(["n": 1]))  // One with the insert: it takes the last place.
    world.edit(0, MutationTicket(2), "b", .insert(["n": 2]))
    try world.make(0, "d", .insert([:]))
    var places = world.devices[0].client.pending.map(\.change.clientSequence)
    #expect(places == [4, 2, 3, 5])
    try world.make(1, "x", .insert([:]))
    world.settle()
    #expect(world.server.events.count == 5)

    // News has come since the change was made. The edit answers to it.
    try world.make(0, "a", .update(["n": 3]))
    try world.make(1, "a", .update(["n": 4]))
    world.pushAll(1)
    world.serve(0)
    let ticket = try #require(world.devices[0].client.pending.last?.ticket)
    world.edit(0, ticket, "a", .update(["n": 5]))
    let edited = try #require(world.devices[0].client.pending.last?.change)
    #expect((edited.preceding, edited.clientSequence) == (world.server.latest, ticket.number))
    #expect(world.devices[0].client.view?.plain["a"] == ["n": 5])
    places = world.devices[0].client.pending.map(\.change.clientSequence)
    #expect(places == [6])
  }

  /// Found by a simulated world, in seeds 44 and 84.
  @Test func `an edited change stays ahead of a later one of its object`() throws {
    var model = try StreamModel(snapshot: snapshot([event(0)]))
    var local = LocalChanges<StreamChange>(
      Outbox(client: ClientID(1), delivery: .atLeastOnce), over: model.state)
    let now = Moment(milliseconds: 0)
    let (first, last) = (
      StreamChange(id(50), "a", .delete), StreamChange(id(51), "a", .insert([:]))
    )
    let ticket = try local.mutate(first, at: now).ticket
    _ = try local.mutate(last, at: now)  // A deletion and an insert do not become one.
    try model.apply(
      .event(
        StreamEvent(
          sequence: StreamSequence(1), client: ClientID(2),
          change: StreamChange(id(52), "b", .insert([:])))))
    local.confirm(model.state, echo: nil)
    _ = local.handle(.edited(ticket, StreamChange(id(53), "a", .delete)), at: now)
    let places = local.outbox.pending.map { ($0.change.preceding, $0.change.clientSequence) }
    #expect(places.map(\.0) == [StreamSequence(0), StreamSequence(0)])
    #expect(places.map(\.1) == [1, 2])
    #expect(local.view.state.objects.contains("a"))
  }

  /// Found by a simulated world with real actors, in seed 99.
  @Test func `a client that reads the stream anew stamps its changes after its own events`() throws
  {
    var world = StreamWorld(devices: 1)
    try world.connect()
    for number in 0..<4 {
      try world.make(0, "o\(number)", .insert([:]))
      world.settle()
    }
    let own = try #require(world.server.events.last?.change)
    world.server.pageMaximum = 1
    world.devices[0].answer(.failure(.expired), at: world.now)
    world.pass(.seconds(3600))
    world.serve(0)
    world.devices[0].endSave(at: world.now)
    #expect(world.devices[0].client.finger.map { "\($0)" } == "[0] of 3")
    let saved = try #require(world.devices[0].model)
    var rows = RowWriter()
    saved.store(since: nil, into: &rows)
    let read = try StreamModel(
      stored: RowReader(rows.rows.map { (key: $0.key, value: $0.value ?? []) }))
    // It has seen its last event, too, since it had held that.
    for state in [saved.state, read.state] {
      #expect(state.stamped("o0", .update([:])).preceding == StreamSequence(3))
    }
    try world.make(0, "o0", .update(["n": 1]))
    let change = try #require(world.devices[0].client.pending.first?.change)
    #expect(change.preceding >= own.preceding)
    #expect(change.clientSequence > own.clientSequence)
  }

  /// Found by a reader. Page by page the stream shows a deletion, and only then that the object was
  /// made anew. A change of the new object was given up in between, and its user was told so.
  @Test func `what a half-read stream shows overrules no change whose maker had seen more`() throws
  {
    func event(
      _ sequence: Int64, after preceding: Int64, _ kind: StreamChange.Kind
    ) -> StreamEvent {
      var change = StreamChange(StreamEventID(high: 1, low: UInt64(sequence)), "a", kind)
      change.preceding = StreamSequence(preceding)
      return StreamEvent(
        sequence: StreamSequence(sequence), client: ClientID(9), change: change)
    }
    var model = try StreamModel(
      snapshot: StreamSnapshot(
        client: ClientID(20), law: .firstWriterWins, scope: nil,
        batch: StreamBatch(
          stream: StreamID(1), latest: StreamSequence(2),
          steps: [.event(event(0, after: -1, .insert([:]))), .event(event(1, after: 0, .delete))])))
    var change = StreamChange(StreamEventID(high: 2, low: 0), "a", .update(["n": 1]))
    change.preceding = StreamSequence(2)
    var state = model.state
    #expect(throws: StreamChangeRefusal.missing) { try change.apply(to: &state) }
    #expect(!change.isOverruled(by: .missing))
    try model.apply(.event(event(2, after: 1, .insert([:]))))
    state = model.state
    try change.apply(to: &state)
    #expect(state.objects["a"]?.fields["n"] == 1)
    // Another change, whose maker knew of no deletion, is overruled all the same.
    change.id = StreamEventID(high: 2, low: 1)
    change.preceding = StreamSequence(0)
    state = model.state
    #expect(throws: StreamChangeRefusal.deleted) { try change.apply(to: &state) }
  }

  /// Found by a reader. A stream was read anew; what its maker did meanwhile sorted before what it
  /// had done before, which was pending.
  @Test func `what was seen of a stream is seen when it is read anew, but not of a shorter one`()
    throws
  {
    func snapshot(latest: Int64) -> StreamSnapshot {
      StreamSnapshot(
        client: ClientID(1), law: .firstWriterWins, scope: nil,
        batch: StreamBatch(
          stream: StreamID(1), latest: StreamSequence(latest), steps: [.event(event(0))]))
    }
    var old = try StreamModel(snapshot: snapshot(latest: 5))
    for number in 1...5 as ClosedRange<Int64> { try old.apply(.event(event(number))) }
    let again = try StreamModel(snapshot: snapshot(latest: 5), replacing: old)
    #expect(again.state.stamped("a").preceding == StreamSequence(5))
    let another = try StreamModel(snapshot: snapshot(latest: 3), replacing: old)
    #expect(another.state.stamped("a").preceding == StreamSequence(0))
  }

  /// Found by a simulated world, in seed 58.
  @Test func `a coalesced insert stands at once where all will see it`() throws {
    var world = StreamWorld(devices: 1)
    try world.make(0, "r", .insert([:]))
    try world.make(0, "s", .insert([:]))
    try world.make(0, "t", .insert([:]))
    try world.make(0, "s", .update(["a": 1]))
    #expect(world.devices[0].client.view?.list == ["r", "t", "s"])
    try world.make(0, "t", .update(["a": 2]))
    #expect(world.devices[0].client.pending.count == 3)
    #expect(world.devices[0].client.view?.list == ["r", "s", "t"])
  }

  @Test func `the deletion of an object that no server has heard of is harmless`() throws {
    var world = StreamWorld(devices: 2)
    try world.make(0, "a", .insert(["n": 1]))
    try world.make(0, "a", .delete)
    #expect(world.devices[0].client.pending.map(\.change.kind) == [.delete])
    world.settle()
    #expect(world.server.events.map(\.change.kind) == [.delete])
    #expect(world.devices[1].client.view?.list == [])
    try world.make(1, "a", .insert(["n": 2]))
    world.settle()
    #expect(world.devices[0].client.view?.plain == ["a": ["n": 2]])
  }

  @Test func `a client that floods is paced, and loses nothing`() throws {
    var world = StreamWorld(devices: 1)
    try world.connect()
    world.server.rate = (10, .seconds(60))
    for number in 0..<45 { try world.make(0, "o\(number)", .insert([:])) }
    var counts: [Int] = []
    for _ in 0..<100 where counts.last != 45 {
      for _ in 0..<4 {
        world.devices[0].endSave(at: world.now)
        world.take(0)
        world.serve(0)
      }
      counts.append(world.server.events.count)
      world.pass(.seconds(10))
    }
    #expect(counts.last == 45)
    for (index, count) in counts.enumerated() { #expect(count <= 10 * (1 + index / 6)) }
    #expect(world.counts["rate limited", default: 0] > 0)
    #expect(world.counts["rate limited", default: 0] < 15)
    world.settle()
    #expect(world.devices[0].client.view?.list.count == 45)
  }
}

// MARK: Helpers

func id(_ number: UInt64) -> StreamEventID { StreamEventID(high: 9, low: number) }

/// An event of client 1, which inserts an object "o" with the number of its sequence.
func event(_ sequence: Int64, id number: UInt64? = nil, seen: Int64 = -1) -> StreamEvent {
  var change = StreamChange(
    id(number ?? UInt64(sequence)), ViewKey("o\(sequence)"), .insert(["n": .null]))
  change.preceding = StreamSequence(seen)
  change.clientSequence = UInt64(sequence)
  return StreamEvent(sequence: StreamSequence(sequence), client: ClientID(1), change: change)
}

func events(_ range: ClosedRange<Int64>) -> [StreamStep] { range.map { .event(event($0)) } }

func snapshot(
  _ events: [StreamEvent], _ steps: StreamStep..., law: StreamConflictLaw = .firstWriterWins,
  client: UInt64 = 1
) -> StreamSnapshot {
  StreamSnapshot(
    client: ClientID(client), law: law, scope: nil,
    batch: StreamBatch(
      stream: StreamID(1), latest: events.last?.sequence ?? .none,
      steps: events.map { .event($0) } + steps))
}

extension StreamPlace {
  /// Takes a batch; returns whether the client is up to date then. `nil`: nothing new, or a gap.
  mutating func take(_ steps: [StreamStep], latest: Int64) -> Bool? {
    let batch = StreamBatch(stream: stream, latest: StreamSequence(latest), steps: steps)
    guard case .next(let next, _, let isComplete) = EventStream.advance(self, over: batch) else {
      return nil
    }
    self = next
    return isComplete
  }
}

extension StreamState {
  /// A change that is made now.
  func stamped(
    _ key: ViewKey, _ kind: StreamChange.Kind = .insert([:]), id number: UInt64 = 100
  ) -> StreamChange {
    var change = StreamChange(id(number), key, kind)
    change.stamp(from: self, ticket: MutationTicket(number), inPlaceOf: nil)
    return change
  }
}

extension StreamWorld {
  /// All devices have read the empty stream.
  mutating func connect() throws {
    for index in devices.indices { serve(index) }
    settle()
    #expect(server.events.isEmpty)
  }

  /// Lets a device send what it can.
  mutating func pushAll(_ index: Int, failing: [Int] = []) {
    for _ in 0..<20 where devices[index].push == nil {
      devices[index].endSave(at: clock(index))
      if devices[index].push == nil { pass(.seconds(1)) }
    }
    take(index, failing: failing)
  }
}
