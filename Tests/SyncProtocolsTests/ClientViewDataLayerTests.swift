import SyncProtocols
import Testing
import UpdateMachine

struct ClientViewDataLayerTests {
  @Test func `mutations run in order, each with its ID`() throws {
    var desk = ViewDesk()
    #expect(try desk.push(from: 1, ("add", 2), ("add", 3)) == "accepted")
    #expect(desk.text() == "sum=5, last 2")
    #expect(desk.dataLayer.lastNumber == CommitNumber(2))
    #expect(desk.dataLayer.commit(CommitNumber(1)).view.text == "sum=2")
    #expect(desk.dataLayer.commit(CommitNumber(1)).cause == .mutation(ViewDesk.one, MutationID(1)))
  }

  @Test func `an ID that is not exactly the next one is ignored`() throws {
    var desk = ViewDesk()
    try desk.push(from: 1, ("add", 1), ("add", 10))
    #expect(try desk.push(from: 1, ("add", 1), ("add", 10)) == "accepted")
    #expect(desk.text() == "sum=11, last 2")
    #expect(try desk.push(from: 4, ("add", 100)) == "accepted")
    #expect(desk.text() == "sum=11, last 2")
    #expect(try desk.push(from: 0, ("add", 1000)) == "accepted")
    #expect(try desk.push(from: .max, ("add", 1000)) == "accepted")
    #expect(desk.text() == "sum=11, last 2")
    #expect(try desk.push(from: 2, ("add", 10), ("add", 100)) == "accepted")
    #expect(desk.text() == "sum=111, last 3")
  }

  @Test func `each client counts its own mutations`() throws {
    var desk = ViewDesk()
    try desk.push(ViewDesk.one, from: 1, ("add", 1))
    try desk.push(ViewDesk.two, from: 1, ("add", 10), ("add", 100))
    #expect(desk.text(ViewDesk.one) == "sum=111, last 1")
    #expect(desk.text(ViewDesk.two) == "sum=111, last 2")
    #expect(desk.text(ClientID(3)) == "sum=111, last 0")
  }

  @Test func `a mutation without effects counts as processed`() throws {
    var desk = ViewDesk()
    try desk.push(from: 1, ("nothing", .null))
    #expect(desk.text() == ", last 1")
  }

  @Test func `a refused mutation has no effects, counts as processed, and stops the push`() throws {
    var desk = ViewDesk()
    desk.put(["closed": true])
    let note: JSONValue = ["client": 1, "token": "a"]
    #expect(
      try desk.push(from: 1, ("add", 1), ("note", note), ("add", 10)) == "refused 2 (closed)")
    #expect(desk.text() == "closed=true sum=1, last 2 refused 2 (closed)")
    #expect(desk.dataLayer.last.cause == .refusal(ViewDesk.one, MutationID(2)))
    let before = desk.dataLayer.commit(CommitNumber(2))
    #expect(before.record(of: ViewDesk.one).refusal == nil)
    #expect(before.record(of: ViewDesk.one).lastMutation == MutationID(1))
  }

  @Test func `a client that does not know of the refusal is told, and nothing is run`() throws {
    var desk = ViewDesk()
    try desk.push(from: 1, ("fly", .null))
    #expect(try desk.push(from: 2, ("add", 1)) == "refused 1 (no mutator fly)")
    #expect(try desk.push(from: 1, ("add", 1)) == "refused 1 (no mutator fly)")
    #expect(try desk.push(from: 2) == "refused 1 (no mutator fly)")
    #expect(desk.text() == ", last 1 refused 1 (no mutator fly)")
    #expect(try desk.push(from: 2, knowing: 1, ("add", 1)) == "accepted")
    #expect(desk.text() == "sum=1, last 2 refused 1 (no mutator fly)")
    #expect(try desk.push(ViewDesk.two, from: 1, ("add", 1)) == "accepted")
  }

  /// A proxy refuses a whole push. The data layer never hears of the mutation, and the client
  /// counts it as refused. If the client did not say so, the data layer would wait for the mutation
  /// for ever.
  @Test func `a voided ID is consumed when its turn comes`() throws {
    var desk = ViewDesk()
    // 2 is refused on its way. 1, which left before it, is late.
    #expect(try desk.push(from: 3, knowing: 2, without: [2], ("add", 10)) == "accepted")
    #expect(desk.text() == ", last 0")
    #expect(try desk.push(from: 1, ("add", 1)) == "accepted")
    #expect(try desk.push(from: 3, knowing: 2, without: [2], ("add", 10)) == "accepted")
    #expect(desk.text() == "sum=11, last 3 refused 2")
    // The refused push may arrive later still.
    #expect(try desk.push(from: 2, ("add", 100)) == "refused 2")
    #expect(try desk.push(from: 3, knowing: 2, without: [2], ("add", 10)) == "accepted")
    #expect(desk.text() == "sum=11, last 3 refused 2")
  }

  @Test func `a voided ID does not hide a refusal of the data layer`() throws {
    var desk = ViewDesk()
    desk.server.runsAtOnce = false
    // 1 is accepted. 2 is refused with its push by something in front of the data layer.
    try desk.push(from: 1, ("fly", .null))
    try desk.push(from: 3, without: [2], ("add", 10))
    while desk.dataLayer.runNext() != nil {}
    #expect(desk.text() == ", last 1 refused 1 (no mutator fly)")
    desk.server.runsAtOnce = true
    #expect(try desk.push(from: 3, without: [2], ("add", 10)) == "refused 1 (no mutator fly)")
    #expect(try desk.push(from: 3, knowing: 1, without: [2], ("add", 10)) == "accepted")
    #expect(desk.text() == "sum=10, last 3 refused 2")
    // Until the refusal is confirmed, the client names 2 in every push. Old pushes do not name it.
    #expect(try desk.push(from: 4, knowing: 1, without: [2], ("add", 1)) == "accepted")
    #expect(try desk.push(from: 5, knowing: 1, ("add", 100)) == "refused 2")
    #expect(desk.text() == "sum=11, last 4 refused 2")
  }

  @Test func `IDs above a refusal are reused, and late pushes are not mistaken for them`() throws {
    var desk = ViewDesk()
    // 1 is refused. 2 was on its way behind it, and then the user had second thoughts.
    try desk.push(from: 1, ("fly", .null), ("add", 1))
    try desk.push(from: 2, knowing: 1, ("fly", .null), ("add", 10))
    try desk.push(from: 3, knowing: 2, ("add", 100))
    #expect(desk.text() == "sum=100, last 3 refused 2 (no mutator fly)")
    for (first, known, number) in [(1, 0, 1), (2, 1, 10), (3, 1, 10), (3, 2, 100)]
      as [(UInt64, UInt64, JSONValue)]
    {
      try desk.push(from: first, knowing: known, ("add", number), ("add", number))
      if known < 2 { #expect(desk.text() == "sum=100, last 3 refused 2 (no mutator fly)") }
    }
    #expect(desk.text() == "sum=200, last 4 refused 2 (no mutator fly)")
  }

  @Test func `a push may be accepted first, run later in order, or be lost`() throws {
    var desk = ViewDesk()
    desk.server.runsAtOnce = false
    #expect(try desk.push(from: 1, ("add", 1)) == "accepted")
    #expect(try desk.push(from: 2, ("fly", .null)) == "accepted")
    #expect(try desk.push(from: 3, ("add", 10)) == "accepted")
    #expect(desk.text() == ", last 0")
    #expect(desk.dataLayer.runNext() == .accepted)
    #expect(desk.text() == "sum=1, last 1")
    desk.server.runsAtOnce = true
    #expect(try desk.push(from: 1, ("add", 1)) == "accepted")  // It queues behind those that wait.
    desk.dataLayer.loseNext()
    #expect(desk.dataLayer.runNext() == .accepted)  // 3 now comes too early.
    #expect(desk.dataLayer.runNext() == .accepted)
    #expect(desk.dataLayer.runNext() == nil)
    #expect(desk.text() == "sum=1, last 1")
    #expect(try desk.push(from: 2, ("fly", .null)) == "refused 2 (no mutator fly)")
  }

  @Test func `the number of waiting pushes is limited`() throws {
    var desk = ViewDesk()
    desk.server.runsAtOnce = false
    for _ in 0..<1000 { try desk.push(from: 1, ("add", 1)) }
    #expect(throws: ClientViewFailure.busy) { try desk.push(from: 1, ("add", 1)) }
    #expect(ClientViewFailure.busy.failure == .serverFault)
    while desk.dataLayer.runNext() != nil {}
    #expect(desk.text() == "sum=1, last 1")
  }

  @Test func `changes from outside are made whole or not at all`() throws {
    var desk = ViewDesk()
    desk.put(["a": 1, "b": 2])
    #expect(desk.dataLayer.last.cause == .outside)
    #expect(throws: ChangeRefusal("no")) {
      try desk.dataLayer.change { transaction throws(ChangeRefusal) in
        transaction.del("a")
        throw ChangeRefusal("no")
      }
    }
    #expect(desk.text() == "a=1 b=2, last 0")
    #expect(desk.dataLayer.lastNumber == CommitNumber(1))
  }

  @Test func `the client view may be that of any commit, always with its last mutation ID`() throws
  {
    var desk = ViewDesk()
    try desk.push(from: 1, ("add", 1), ("fly", .null))
    try desk.push(from: 3, knowing: 2, ("add", 1))
    let fetched = (0...3 as ClosedRange<UInt64>).map { number in
      let view = desk.dataLayer.view(for: ViewDesk.one, asOf: CommitNumber(number))
      return "\(view.view["sum"] ?? 0) \(view.lastMutation) \(view.refusal?.id ?? .none)"
    }
    #expect(fetched == ["0 0 0", "1 1 0", "1 2 2", "2 3 2"])
  }

  @Test func `random pushes run each ID once and in order`() throws {
    var desk = ViewDesk()
    func push(
      _ ids: [UInt64], knowing known: UInt64 = 0, without voided: [UInt64] = []
    ) -> PushAnswer {
      desk.dataLayer.run(
        MutationPush(
          client: ViewDesk.one, knownRefusal: MutationID(known),
          voided: voided.map { MutationID($0) },
          mutations: ids.map { NamedMutation(id: MutationID($0), name: "add", arguments: 1) }))
    }
    #expect(push([]) == .accepted)
    #expect(push([3, 2, 1, 1, 0, .max]) == .accepted)
    #expect(desk.text() == "sum=1, last 1")
    #expect(push([2, 2, 3, 3, 2, 5]) == .accepted)
    #expect(desk.text() == "sum=3, last 3")
    #expect(push([], without: [4]) == .accepted, "the ID is consumed once something follows")
    #expect(push([4, 6], without: [0, 2, 4, 4, 5, .max]) == .accepted)
    #expect(desk.text() == "sum=4, last 6 refused 5")
    #expect(push([7], knowing: 4) == .refused(MutationRefusal(MutationID(5))))
    #expect(push([], knowing: 4) == .refused(MutationRefusal(MutationID(5))))
    #expect(push([7], knowing: .max) == .accepted)
    #expect(desk.text() == "sum=5, last 7 refused 5")
    // A hostile client can make the list as long as it likes. The time to run it must grow only in
    // proportion.
    let many = Array(8..<20_000 as Range<UInt64>)
    #expect(push(Array(20_000..<40_000), knowing: 5, without: many) == .accepted)
    #expect(desk.text() == "sum=20005, last 39999 refused 19999")
  }

  @Test func `no text contains credentials`() {
    let desk = ViewDesk()
    let push = PushCredential("abracadabra")
    let pull = PullCredential("abracadabra")
    var server = desk.server
    (server.pushCredential, server.pullCredential) = (push, pull)
    var dumped = ""
    for value in [push, pull, server, [push], ["key": pull]] as [Any] {
      dumped += "\(value)" + String(describing: value) + String(reflecting: value)
      dump(value, to: &dumped)
    }
    #expect(!dumped.contains("abracadabra"))
    #expect(!"\(ClientViewFailure.unauthorized)".contains("abracadabra"))
  }

  @Test func `push and pull have separate credentials`() throws {
    var desk = ViewDesk()
    desk.put(["a": 1])
    let push = MutationPush(client: ViewDesk.one, knownRefusal: .none, mutations: [])
    let pull = PullRequest(client: ViewDesk.one, state: nil)
    #expect(throws: ClientViewFailure.unauthorized) {
      try desk.server.push(push, with: PushCredential("down"))
    }
    #expect(throws: ClientViewFailure.unauthorized) {
      try desk.server.pull(pull, with: PullCredential("up"))
    }
    desk.server.pullCredential = PullCredential("new")
    #expect(throws: ClientViewFailure.unauthorized) { try desk.pull() }
    #expect(try desk.push(from: 1, ("add", 1)) == "accepted")
    #expect(desk.server.diffServer.states.count == 1)
    #expect(ClientViewFailure.unauthorized.failure == .unauthorized)
  }
}
