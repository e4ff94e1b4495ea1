import SyncProtocols
import Testing
import UpdateMachine

/// A client whose data layer reads from a replica that lags, and says so.
struct LaggingViewTests {
  private var desk = ViewDesk()
  private var follower = ViewFollower()

  /// The claim once the debounce is over.
  private var claim: Freshness.Claim {
    follower.client.freshness(at: follower.now + MachineSettings().debounce).claim
  }

  private var commit: UInt64 { desk.dataLayer.lastNumber.number }

  /// Asks, and is answered with the view of a commit; `nil`: the newest.
  private mutating func pull(asOf commit: UInt64? = nil) throws {
    follower.ask()
    let (_, state) = try #require(follower.question)
    follower.answer(.success(try desk.pull(from: state, asOf: commit)))
  }

  /// A client that is up to date.
  private mutating func follow() throws {
    desk.put(["a": 1])
    try pull()
    #expect(claim == .connected)
  }

  @Test mutating func `a client is not connected while its data layer lags, even for an hour`()
    throws
  {
    try follow()
    let stopped = commit
    desk.put(["a": 2])
    var pulls = 0
    let end = follower.now + .seconds(3600)
    while follower.now < end {
      try pull(asOf: stopped)
      pulls += 1
      #expect(claim != .connected)
      #expect(follower.client.freshness(at: follower.now).upToDateAsOf == Moment(milliseconds: 0))
    }
    #expect(pulls < 400)
    try pull()
    #expect(claim == .connected)
    #expect(follower.model?.view.text == "a=2")
  }

  @Test mutating func `a client is not connected while a replica catches up, and takes each view`()
    throws
  {
    try follow()
    for value in 2...6 { desk.put(["a": JSONValue(integerLiteral: Int64(value))]) }
    for number in 2...5 as ClosedRange<UInt64> {
      try pull(asOf: number)
      #expect(claim != .connected)
      #expect(follower.model?.view.text == "a=\(number)")
    }
    try pull()
    #expect(claim == .connected)
    #expect(follower.model?.view.text == "a=6")
  }

  @Test mutating func `an older view than the client's own does not vouch for it`() throws {
    desk.put(["a": 1])
    let old = commit
    desk.put(["a": 2])
    try pull()
    #expect(claim == .connected)
    try pull(asOf: old)
    #expect(claim != .connected)
    #expect(follower.model?.view.text == "a=2")
  }

  @Test mutating func `a first view from a replica that lags is shown, and is as of no moment`()
    throws
  {
    desk.put(["a": 1])
    let old = commit
    desk.put(["a": 2])
    try pull(asOf: old)
    #expect(follower.model?.view.text == "a=1")
    #expect(claim == .connecting(since: Moment(milliseconds: 0)))
    #expect(follower.client.freshness(at: follower.now).upToDateAsOf == nil)
    try pull()
    #expect(claim == .connected)
  }

  @Test mutating func `a mutation that a lagging view contains is confirmed by its ID`() throws {
    try follow()
    try desk.push(from: 1, ("add", 1))
    let pushed = commit
    desk.put(["b": 1])
    try pull(asOf: pushed)
    #expect(follower.model?.lastMutation == MutationID(1))
    #expect(claim != .connected)
  }
}
