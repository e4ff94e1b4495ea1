import SyncProtocols
import Testing
import UpdateMachine

/// The one order in which all clients fold the stream, what it costs, conflicts, partial sync, and
/// the server half.
struct EventStreamOrderTests {
  // MARK: Order

  @Test func `one client's events stay together while several interleave on the stream`() throws {
    var world = StreamWorld(devices: 2)
    for key in ["a1", "a2", "a3"] { try world.make(0, key, .insert([:])) }
    for key in ["b1", "b2"] { try world.make(1, key, .insert([:])) }
    for index in [0, 1] { world.serve(index) }
    world.pushAll(0, failing: [1, 2])
    world.pushAll(1)
    world.settle()
    #expect(world.server.events.map(\.change.key) == ["a1", "b1", "b2", "a2", "a3"])
    for device in world.devices {
      #expect(device.client.view?.list == ["a1", "a2", "a3", "b1", "b2"])
    }
  }

  @Test func `an event that comes days late takes its place, at the cost of what it concerns`() {
    // 30 objects of 40 events each, then a change from before all of them.
    var fold = StreamFold(law: .firstWriterWins)
    var sequence = StreamSequence.none
    var events: [(StreamChange, ClientID)] = []
    func update(_ object: Int, _ fields: StreamFields, seen: StreamSequence) -> StreamChange {
      var change = StreamChange(id(UInt64(events.count)), ViewKey("o\(object)"), .update(fields))
      if events.count < 30 { change.kind = .insert(fields) }
      change.preceding = seen
      return change
    }
    for number in 0..<1200 {
      let value = JSONValue(integerLiteral: Int64(number))
      let fields: StreamFields =
        number < 30 ? ["a": value, "b": value] : number % 4 == 0 ? ["a": value] : ["b": value]
      events.append((update(number % 30, fields, seen: sequence), ClientID(1)))
      sequence = StreamSequence(Int64(number))
      #expect(fold.add(events[number].0, by: ClientID(1), at: sequence) == 1)
    }
    func addLate(_ fields: StreamFields) -> Int {
      events.append((update(7, fields, seen: StreamSequence(40)), ClientID(2)))
      sequence = StreamSequence(Int64(events.count - 1))
      return fold.add(events[events.count - 1].0, by: ClientID(2), at: sequence)
    }
    let fields = fold.objects["o7"]?.fields
    // It is overwritten by the next event that sets its field, and nothing further is looked at.
    #expect(addLate(["b": "late"]) <= 4)
    #expect(fold.objects["o7"]?.fields == fields)
    // Nothing overwrites this one: all later events of this object, and of no other.
    #expect(addLate(["c": "late"]) == 39)
    #expect(fold.objects["o7"]?.fields["c"] == "late")

    var again = StreamFold(law: .firstWriterWins)
    for (index, event) in events.enumerated().reversed() {
      again.add(event.0, by: event.1, at: StreamSequence(Int64(index)))
    }
    #expect(again == fold)
  }

  @Test func `the list is in causal order, not in the order of arrival`() throws {
    var world = StreamWorld(devices: 2)
    try world.connect()
    try world.make(1, "late", .insert([:]))  // It is not sent for days.
    try world.make(0, "first", .insert([:]))
    world.pushAll(0)
    for _ in 0..<3 {
      world.serve(0)
      world.devices[0].endSave(at: world.now)
      world.pass(.seconds(60))
    }
    try world.make(0, "second", .insert([:]))
    world.pushAll(0)
    world.pass(.seconds(400_000))
    world.settle()
    #expect(world.server.events.map(\.change.key) == ["first", "second", "late"])
    for device in world.devices {
      #expect(device.client.view?.list == ["first", "late", "second"])
    }
  }

  @Test func `a maker that reads the stream anew has not forgotten what it had seen`() throws {
    var state = try StreamModel(snapshot: snapshot([event(0)])).state  // The first page.
    var pending = StreamChange(id(50), "o", .insert([:]))
    pending.preceding = StreamSequence(9)
    pending.clientSequence = 2
    try pending.apply(to: &state)
    let change = state.stamped("o", .update(["a": 1]))
    #expect((change.preceding, change.clientSequence) == (StreamSequence(9), 100))
    try change.apply(to: &state)
    #expect(state.plain["o"] == ["a": 1])
  }

  // MARK: Conflicts

  /// Client 1 deletes an object; client 2, which has not heard of it, updates it.
  private func conflict(_ law: StreamConflictLaw) throws -> StreamWorld {
    var world = StreamWorld(devices: 2, law: law)
    try world.connect()
    try world.make(0, "o", .insert(["a": 1, "b": 1]))
    world.settle()
    try world.make(1, "o", .update(["b": 2]))
    try world.make(0, "o", .delete)
    world.pushAll(0)
    return world
  }

  /// Without a look at the law, the answer to a later poll acknowledges whatever was accepted.
  @Test func `first writer wins: a change that was accepted and then dropped is overruled`() throws
  {
    var world = try conflict(.firstWriterWins)
    world.pushAll(1)
    #expect(world.devices[1].client.pending.count == 1, "accepted, and not seen yet")
    world.devices[1].answer(.failure(.timedOut), at: world.now)
    world.settle()
    #expect(world.devices[1].client.view?.list == [])
    #expect(world.devices[1].client.local?.outbox.state(of: MutationTicket(1)) == .overruled)
  }

  @Test func `first writer wins: the update is dropped, and its maker sees that`() throws {
    var world = try conflict(.firstWriterWins)
    world.serve(1)  // It hears of the deletion before its push was taken.
    let client = world.devices[1].client
    #expect(client.view?.list == [])
    #expect(client.setAside.isEmpty, "it is overruled, not set aside")
    #expect(client.pending.isEmpty)
    #expect(StreamChange(id(1), "o", .update([:])).isOverruled(by: .deleted))
    #expect(!StreamChange(id(1), "o", .update([:])).isOverruled(by: .missing))
    world.settle()
    #expect(world.devices[1].client.pending.isEmpty)
    for device in world.devices { #expect(device.client.view?.plain == [:]) }
  }

  @Test func `first writer wins: an update that is on the stream already is told, too`() throws {
    var world = try conflict(.firstWriterWins)
    world.pushAll(1)
    world.serve(1)
    // Its event has come, and does not acknowledge it.
    let outbox = try #require(world.devices[1].client.local?.outbox)
    #expect(outbox.state(of: MutationTicket(1)) != .acknowledged)
    world.settle()
    #expect(world.server.events.count == 3)
    for device in world.devices {
      #expect(device.client.view?.list == [])
      #expect(device.client.view?.hasDropped(world.made[1].id) == true)
    }
  }

  @Test func `last writer wins: the update brings the object back`() throws {
    var world = try conflict(.lastWriterWins)
    world.pushAll(1)
    world.settle()
    for device in world.devices { #expect(device.client.view?.plain == ["o": ["a": 1, "b": 2]]) }
  }

  @Test(arguments: [true, false])
  func `ask: the question is put once, and whoever answers settles it for all`(
    revives: Bool
  ) throws {
    var world = try conflict(.ask)
    world.pushAll(1)
    world.settle()
    for device in world.devices {
      #expect(device.client.view?.list == [])
      let questions = device.client.view?.questions.map { "\($0.key) \($0.value.client)" }
      #expect(questions == ["o client 2"])
    }
    // The same question after a crash, and after another update from the same time.
    world.devices[1].crash(at: world.now)
    world.settle()
    let question = try #require(world.devices[1].client.view?.questions["o"])
    #expect(question == world.devices[0].client.view?.questions["o"])
    try world.make(0, "o", revives ? .insert(question.fields) : .delete)
    world.settle()
    for device in world.devices {
      #expect(device.client.view?.questions.isEmpty == true)
      #expect(device.client.view?.plain == (revives ? ["o": ["a": 1, "b": 2]] : [:]))
    }
  }

  @Test func `a change of what the user knows to be deleted cannot be made`() throws {
    for law in StreamConflictLaw.allCases {
      var model = try StreamModel(snapshot: snapshot([event(0)], law: law, client: 2))
      var delete = model.state.stamped("o0", .delete, id: 50)
      delete.preceding = StreamSequence(0)
      try model.apply(
        .event(StreamEvent(sequence: StreamSequence(1), client: ClientID(1), change: delete)))
      var state = model.state
      let change = state.stamped("o0", .update([:]))
      #expect(throws: StreamChangeRefusal.deleted) { try change.apply(to: &state) }
      state = model.state
      let nothing = state.stamped("nothing", .update([:]))
      #expect(throws: StreamChangeRefusal.missing) { try nothing.apply(to: &state) }
    }
  }

  // MARK: Partial sync

  @Test func `a client that follows a few objects reads only their events`() throws {
    var server = StreamServer(StreamID(1), law: .firstWriterWins)
    server.pageMaximum = 3
    for number in 0..<60 as Range<UInt64> {
      let fields: StreamFields = [ViewKey("f\(number % 7)"): .null]
      let change = StreamChange(
        id(number), ViewKey("o\(number % 10)"), number < 10 ? .insert(fields) : .update(fields))
      let mutation = NamedMutation(
        id: MutationID(number + 1), name: change.name, arguments: change.arguments(ticket: nil))
      let push = MutationPush(
        client: ClientID(1), knownRefusal: MutationID(0), mutations: [mutation])
      // Every fifth event can be read later only.
      server.lag = number % 5 == 0 ? .seconds(9) : .zero
      #expect(try server.push(push, at: Moment(milliseconds: 0)) == .accepted)
    }
    let first = server.register(nil, scope: ["o5", "o2"], at: Moment(milliseconds: 0))
    var model = try StreamModel(snapshot: first)
    var (place, isComplete) = try #require(first.opening)
    var read = first.batch.steps
    for round in 1..<20 where !isComplete {
      #expect(place.holes(atMost: 1).isEmpty == false)
      let now = Moment(milliseconds: round < 10 ? 0 : 9_000)
      let batch = try #require(try server.poll(place.request, at: now))
      read += batch.steps
      switch EventStream.advance(place, over: batch) {
      case .next(let next, _, let complete): (place, isComplete) = (next, complete)
      case .incomplete: #expect(round < 10)
      case .seen, .lost, .gap: Issue.record("\(batch) at \(place)")
      }
      for step in batch.steps { try model.apply(step) }
    }
    #expect(isComplete)
    let events = read.filter { if case .event = $0 { true } else { false } }
    #expect(events.count == 12)
    #expect(model.state.latest == StreamSequence(59))
    #expect(model.state.plain == server.objects.filter { ["o2", "o5"].contains($0.key) })
    var state = model.state
    #expect(throws: StreamChangeRefusal.outOfScope) {
      try state.stamped("o3").apply(to: &state)
    }
    // A client that follows everything is told of no others.
    let all = server.register(nil, at: Moment(milliseconds: 9_000)).batch.steps
    #expect(all.count == 3)
  }

  // MARK: The server

  @Test func `a poll waits for the next event, or for its time`() throws {
    var server = StreamServer(StreamID(1), law: .ask)
    let now = Moment(milliseconds: 0)
    let place = try #require(server.register(nil, at: now).opening?.place)
    for waiter in 1...4 as ClosedRange<UInt64> {
      let end = now + .seconds(Int64(waiter * 10))
      #expect(
        try server.poll(place.request, waiter: waiter, waitingUntil: end, at: now) == nil)
    }
    server.abandon(2)
    #expect(server.nextDue == now + .seconds(10))
    server.wake(at: now + .seconds(10))
    #expect(server.takeEnded().map(\.waiter) == [1])
    let change = StreamChange(id(1), "o", .insert([:]))
    let push = MutationPush(
      client: ClientID(1), knownRefusal: MutationID(0),
      mutations: [
        NamedMutation(id: MutationID(1), name: "insert", arguments: change.arguments(ticket: nil))
      ])
    #expect(try server.push(push, at: now) == .accepted)
    let ended = server.takeEnded()
    #expect(ended.map(\.waiter) == [3, 4])
    #expect(try ended[0].answer.get().latest == StreamSequence(0))
    #expect(
      try server.poll(place.request, waiter: 5, waitingUntil: .distantPast, at: now) != nil)
    server.begin(StreamID(2))
    #expect(throws: SyncFailure.expired) { try server.poll(place.request, at: now) }
  }

  @Test func `a push that is no event is refused, and so is one from the future`() throws {
    var server = StreamServer(StreamID(1), law: .ask)
    var change = StreamChange(id(1), "o", .insert([:]))
    change.preceding = StreamSequence(0)
    for arguments in [.null, [:], ["id": [1, 2], "key": "o"], change.arguments(ticket: nil)]
      as [JSONValue]
    {
      let mutation = NamedMutation(id: MutationID(7), name: "insert", arguments: arguments)
      let push = MutationPush(
        client: ClientID(1), knownRefusal: MutationID(0), mutations: [mutation])
      let refusal = MutationRefusal(MutationID(7), RejectionCode("NO_EVENT"))
      #expect(try server.push(push, at: Moment(milliseconds: 0)) == .refused(refusal))
    }
    #expect(server.latest == .none)
  }

  // MARK: The saved form

  @Test func `a model and a place are saved and read, and damage gives an error`() throws {
    var model = try StreamModel(snapshot: snapshot([event(0), event(1), event(5)]))
    var rows = RowWriter()
    model.store(since: nil, into: &rows)
    let old = model
    try model.apply(.event(event(3)))
    var step = RowWriter()
    model.store(since: old, into: &step)
    #expect(step.rows.count == 1)
    func read(_ rows: [StoredRow]) throws -> StreamModel {
      try StreamModel(stored: RowReader(rows.map { (key: $0.key, value: $0.value ?? []) }))
    }
    #expect(try read(rows.rows) == old)
    for index in rows.rows.indices {
      for byte in rows.rows[index].value?.indices ?? 0..<0 {
        var damaged = rows.rows
        damaged[index].value?[byte] ^= 0x21
        do {
          // Other bytes may be another model, but one that shows no more than it holds.
          let other = try read(damaged)
          #expect(other.events[other.state.latest.next] == nil)
        } catch {
          #expect(error is StoredFormError)  // That is what is promised, and no trap.
        }
      }
    }
    var place = StreamPlace(stream: StreamID(3), scope: ["a", "b"])
    _ = place.take(events(2...4), latest: 9)
    #expect(try StreamPlace(storedBytes: place.storedBytes) == place)
    let change = model.state.stamped("o1", .update(["a": ["x": [1, .null]]]))
    #expect(try StreamChange(storedBytes: change.storedBytes) == change)
  }
}
