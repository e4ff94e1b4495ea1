public import SyncProtocols
public import UpdateMachine

/// One client's user, who changes things, and what sends his changes: pushes, beside the machine's one
/// request.
///
/// The world carries its pushes to the server and back, and loses, delays and repeats them; it writes
/// what it wants written, and asks after every step whether what it holds is right. A push that has
/// left may arrive when its process is long gone.
public protocol SimulatedWriter: Sendable {
  associatedtype Model: SyncModel
  associatedtype Truth: ServerTruth where Truth.Event == Model.Event
  associatedtype Sync: SyncProtocol where Sync.Batch.Event == Model.Event
  /// What it knows of what is on the disk.
  associatedtype Memory: Sendable
  typealias Body = Replica<Model, Sync>
  typealias Saved = SavedReplica<Model, Sync.Place>
  typealias Effects = WriterEffects<Body.Input>

  /// Whether there is anything to write.
  static var writes: Bool { get }

  /// How long it may take until everything is sent and confirmed, once nothing goes wrong any more.
  static var bound: TimeSpan { get }

  init()

  /// Noted with what is written, and given back with what is read.
  var memory: Memory { get set }

  /// What is remembered before anything was written.
  static var blank: Memory { get }

  /// What is remembered when an older saved form comes back, with what was noted with it then. What has
  /// become of all that this writer knows besides, nobody can tell.
  func memory(of saved: Saved, _ old: Memory) -> Memory

  /// A process begins.
  mutating func begin()

  /// The replica has taken an input.
  mutating func hear(
    _ input: Body.Input, _ replica: inout Body, at now: Moment
  ) -> Effects

  /// The user does something.
  mutating func act(
    _ replica: inout Body, at now: Moment, _ choices: inout Choices
  ) -> Effects

  /// After the faults: the user sees to it that everything can be sent.
  mutating func tidy(_ replica: inout Body, at now: Moment) -> Effects

  /// What a push tells the server.
  func request(_ push: UInt64) -> PushRequest

  /// What the server says to it.
  mutating func note(_ answer: PushAnswer, to push: UInt64)

  /// The answer is here.
  mutating func take(_ push: UInt64, _ replica: inout Body, at now: Moment) -> Effects

  /// There will be none. `hasLeft`: the server may have heard of it.
  mutating func fail(
    _ push: UInt64, _ failure: SyncFailure, hasLeft: Bool, _ replica: inout Body, at now: Moment
  ) -> Effects

  mutating func fire(_ timer: UInt64, _ replica: inout Body, at now: Moment) -> Effects

  /// This is on the disk.
  mutating func note(
    written saved: Saved, _ replica: inout Body, at now: Moment
  ) -> Effects

  /// What is wrong with a push that leaves; `nil`: nothing.
  func objection(toSending push: UInt64, disk: Saved?) -> WriterObjection?

  /// What is wrong with what is held; `nil`: nothing.
  mutating func objection(
    to replica: Body, _ truth: Truth, disk: Saved?
  ) -> WriterObjection?

  /// Whether nothing is left to be sent.
  func isLevel(_ replica: Body) -> Bool

  /// What is held of changes, for the hash of the run.
  func fold(_ replica: Body, into digest: inout Digest)

  /// What is held of changes, in one line.
  func words(_ replica: Body) -> String

  /// A push in one line.
  func words(ofPush push: UInt64) -> String
}

/// Who objects to what a writer holds, and why.
public struct WriterObjection: Hashable, Sendable {
  public var oracle: Oracle
  public var expected: String
  public var found: String

  public init(_ oracle: Oracle, _ expected: String, _ found: String) {
    self.oracle = oracle
    self.expected = expected
    self.found = found
  }
}

/// What a writer wants done, in this order.
public struct WriterEffects<Input: Sendable>: Sendable {
  /// The replica shall be written, now or soon.
  public var saves = false
  /// Pushes to send.
  public var send: [UInt64] = []
  /// A timer, and when it is to fire. It takes the place of the one before.
  public var arm: (timer: UInt64, range: MomentRange)?
  /// What the replica shall hear next, as an input of its own.
  public var next: Input?

  public init() {}
}

/// Nobody changes anything.
public struct NoWriter<Model: SyncModel, Truth: ServerTruth, Sync: SyncProtocol>: SimulatedWriter
where Truth.Event == Model.Event, Sync.Batch.Event == Model.Event {
  public typealias Body = Replica<Model, Sync>
  public typealias Saved = SavedReplica<Model, Sync.Place>
  public typealias Effects = WriterEffects<Body.Input>

  public static var writes: Bool { false }
  public static var bound: TimeSpan { .zero }
  public init() {}
  public var memory: Void {
    get { () }
    set {}
  }
  public static var blank: Void { () }
  public func memory(of saved: Saved, _ old: Void) {}
  public mutating func begin() {}
  public mutating func hear(
    _ input: Body.Input, _ replica: inout Body, at now: Moment
  ) -> Effects { Effects() }
  public mutating func act(
    _ replica: inout Body, at now: Moment, _ choices: inout Choices
  ) -> Effects { Effects() }
  public mutating func tidy(_ replica: inout Body, at now: Moment) -> Effects {
    Effects()
  }
  public func request(_ push: UInt64) -> PushRequest {
    PushRequest(client: ClientID(0), knownRefusal: .none, mutations: [])
  }
  public mutating func note(_ answer: PushAnswer, to push: UInt64) {}
  public mutating func take(
    _ push: UInt64, _ replica: inout Body, at now: Moment
  ) -> Effects { Effects() }
  public mutating func fail(
    _ push: UInt64, _ failure: SyncFailure, hasLeft: Bool, _ replica: inout Body, at now: Moment
  ) -> Effects { Effects() }
  public mutating func fire(
    _ timer: UInt64, _ replica: inout Body, at now: Moment
  ) -> Effects { Effects() }
  public mutating func note(
    written saved: Saved, _ replica: inout Body, at now: Moment
  ) -> Effects { Effects() }
  public func objection(toSending push: UInt64, disk: Saved?) -> WriterObjection? { nil }
  public mutating func objection(
    to replica: Body, _ truth: Truth, disk: Saved?
  ) -> WriterObjection? { nil }
  public func isLevel(_ replica: Body) -> Bool { true }
  public func fold(_ replica: Body, into digest: inout Digest) {}
  public func words(_ replica: Body) -> String { "" }
  public func words(ofPush push: UInt64) -> String { "" }
}
