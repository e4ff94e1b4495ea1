import Testing

@testable import UpdateMachine

/// A letter, which the post office numbers. Its state has the last number that is known.
private struct Letter: Mutation, Equatable, Storable {
  var person: String

  init(_ person: String) { self.person = person }

  var name: String { "letter \(person)" }
  var object: String? { person }

  func apply(to state: inout VersionedMap<String, Int64>) throws(Never) {}

  func createsAbove(in state: VersionedMap<String, Int64>) -> Int64? { state["last"] }

  func put(into bytes: inout ByteWriter) { bytes.put(person) }

  init(from bytes: inout ByteReader) throws(StoredFormError) { person = try bytes.takeString() }
}

/// What may have arrived is looked for before the app is asked.
@Suite struct OutboxSearchTests {
  private typealias Desk = LoneDesk<Letter>

  @Test func `a letter without an answer is looked for, and counts as accepted if it is there`()
    throws
  {
    var desk = Desk()
    let ticket = try desk.make(Letter("ada"))
    #expect(desk.push?.seeksAbove == nil)
    try desk.lose(.timedOut)
    #expect(desk.push?.seeksAbove == 100 && desk.push?.mutations.map(\.ticket) == [ticket])
    #expect(desk.push?.description == "search 2: 1 letter ada")
    #expect(desk.state(ticket) == .sent && desk.local.outbox.uncertain.isEmpty)
    try desk.answer(.created(103))
    #expect(desk.stages == ["#1 letter ada accepted 1"] && !desk.isOut)
    #expect(desk.local.outbox.heldMutation { $1 == 103 } == ticket)
    #expect(desk.local.outbox.wantsPull, "so that its event comes, or the answer to a poll")
  }

  @Test func `a letter that is not there is uncertain, and is not looked for again`() throws {
    var desk = Desk()
    let ticket = try desk.make(Letter("ada"))
    try desk.lose(.unreachable)
    try desk.answer(.absent)
    #expect(desk.state(ticket) == .uncertain && !desk.isOut)
    #expect(desk.local.outbox.block == .uncertain(ticket))
    #expect(desk.local.outbox.uncertain.map(\.ticket) == [ticket])
    desk.feed(.app(.retryRequested))
    #expect(!desk.isOut)
    // The next process cannot know, and asks once more.
    try desk.restart()
    #expect(desk.state(ticket) == .sent && desk.push?.seeksAbove == 100)
  }

  @Test func `a letter that had left when the process ended is looked for by the next`() throws {
    var desk = Desk()
    let ticket = try desk.make(Letter("ada"))
    desk.local.confirm(["last": 120], echo: nil)
    try desk.restart()
    #expect(desk.push?.seeksAbove == 100, "as it was when it left")
    try desk.answer(.created(101))
    #expect(desk.state(ticket) == .sent && desk.local.outbox.isAccepted(ticket))
  }

  @Test func `a letter that has not left is sent, and not looked for`() throws {
    var desk = Desk()
    _ = try desk.make(Letter("ada"))
    try desk.lose(.unreachable, hasLeft: false)
    #expect(desk.push?.seeksAbove == nil && desk.isOut)
  }

  /// Otherwise the first letter would be taken for the second, which is lost.
  @Test func `a letter is not taken for an equal one before it that only its answer told of`()
    throws
  {
    var desk = Desk()
    let first = try desk.make(Letter("ada"))
    try desk.answer(.created(107))
    desk.local.confirm(desk.local.view.confirmed, echo: first)
    try desk.restart()
    _ = try desk.make(Letter("ada"))
    try desk.lose(.timedOut)
    #expect(desk.push?.seeksAbove == 107)
  }

  @Test func `the bound is what was known when it left, not when it was made`() throws {
    var desk = Desk()
    desk.feed(.heldBack(true))
    let made = try desk.local.mutate(Letter("ada"), at: desk.now)
    desk.take(made.effects)
    desk.local.confirm(["last": 110], echo: nil)
    desk.feed(.heldBack(false))
    desk.save()
    try desk.lose(.timedOut)
    #expect(desk.push?.seeksAbove == 110)
  }

  /// Its form once left out what the first copy had left above, and a search began above that copy.
  @Test func `a second copy that has not left when the process ends is looked for like the first`()
    throws
  {
    var desk = Desk()
    let ticket = try desk.make(Letter("ada"))
    try desk.lose(.timedOut)
    try desk.answer(.absent)
    desk.local.confirm(["last": 150], echo: nil)
    desk.feed(.heldBack(true))
    desk.feed(.retried(ticket))
    desk.save()
    #expect(desk.stages == ["#1 letter ada unsent"])
    try desk.restart()
    #expect(desk.isOut && desk.push?.seeksAbove == nil)
    try desk.lose(.timedOut)
    #expect(desk.push?.seeksAbove == 100)
  }

  @Test func `a second copy that the user has sent is looked for where the first may be`() throws {
    var desk = Desk()
    let ticket = try desk.make(Letter("ada"))
    try desk.lose(.timedOut)
    try desk.answer(.absent)
    desk.local.confirm(["last": 150], echo: nil)
    desk.feed(.retried(ticket))
    desk.save()
    #expect(desk.isOut && desk.push?.seeksAbove == nil)
    try desk.lose(.timedOut)
    #expect(desk.push?.seeksAbove == 100)
  }

  @Test func `a search that fails is repeated after a wait`() throws {
    var desk = Desk()
    let ticket = try desk.make(Letter("ada"))
    try desk.lose(.timedOut)
    for failure in [SyncFailure.timedOut, .unreachable, .serverFault, .rateLimited(after: nil)] {
      let search = try #require(desk.push).id
      try desk.lose(failure)
      #expect(desk.push?.id != search && desk.push?.seeksAbove == 100)
      #expect(desk.state(ticket) == .sent)
    }
    // The conversation is gone, say: then only the user can tell.
    try desk.lose(.rejected(RejectionCode("BAD_NARROW")))
    #expect(desk.state(ticket) == .uncertain && !desk.isOut)
  }

  @Test func `a search comes after what can be sent, and holds up letters to the same person`()
    throws
  {
    var desk = Desk()
    let ada = try desk.make(Letter("ada"))
    _ = try desk.make(Letter("ada"))
    _ = try desk.make(Letter("bo"))
    try desk.lose(.timedOut)
    #expect(desk.push?.mutations.map(\.change) == [Letter("bo")])
    try desk.answer(.created(101))
    #expect(desk.push?.seeksAbove == 100 && desk.push?.mutations.map(\.ticket) == [ada])
    try desk.answer(.created(102))
    #expect(desk.push?.seeksAbove == nil && desk.push?.mutations.map(\.change) == [Letter("ada")])
  }

  @Test(arguments: [true, false])
  func `a decision of the user ends the search`(discards: Bool) throws {
    var desk = Desk()
    let ticket = try desk.make(Letter("ada"))
    try desk.lose(.timedOut)
    let search = try #require(desk.push).id
    desk.feed(discards ? .discarded(ticket) : .retried(ticket))
    desk.save()
    #expect(desk.cancelled == search)
    #expect(desk.isOut == !discards && desk.push?.seeksAbove == (discards ? 100 : nil))
    desk.feed(.answered(search, .created(101)))
    #expect(desk.stages == (discards ? [] : ["#1 letter ada marked 2"]))
  }

  @Test func `an event ends the doubt while the search is out`() throws {
    var desk = Desk()
    let ticket = try desk.make(Letter("ada"))
    try desk.lose(.timedOut)
    desk.local.confirm(["last": 101], echo: ticket)
    try desk.answer(.absent)
    #expect(desk.state(ticket) == .acknowledged && desk.stages.isEmpty)
  }

  @Test func `what cannot be found is uncertain at once`() throws {
    var desk = Desk(last: nil)
    let ticket = try desk.make(Letter("ada"))
    try desk.lose(.timedOut)
    #expect(desk.state(ticket) == .uncertain && !desk.isOut)
  }

  @Test func `an answer to a search that was not made leaves a letter in doubt`() throws {
    var desk = Desk()
    let ticket = try desk.make(Letter("ada"))
    try desk.answer(.absent)
    #expect(desk.local.outbox.status == .waiting && desk.state(ticket) == .sent)
  }
}

extension LoneDesk where Change == Letter {
  /// - Parameter last: the last number that is known.
  fileprivate init(last: Int64? = 100) {
    self.init(over: last.map { ["last": $0] } ?? [:])
  }

  /// The push that is out fails, and the wait after that ends.
  fileprivate mutating func lose(_ failure: SyncFailure, hasLeft: Bool = true) throws {
    try fail(failure, hasLeft: hasLeft)
    if local.outbox.status == .waiting { try wait() }
  }
}
