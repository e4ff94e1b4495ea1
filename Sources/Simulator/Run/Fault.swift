/// A kind of fault in a world (Architecture §6). Each seed turns on a random subset.
public enum Fault: UInt8, CaseIterable, Hashable, Sendable {
  /// A request or an answer takes much longer on its way.
  case slowNetwork
  /// A request is lost on its way. The client may be told at once, or only its deadline ends it.
  case lostRequest
  /// The server has done its work, and the answer is lost.
  case lostAnswer
  /// The client has given up a request, and its answer arrives anyway.
  case lateAnswer
  /// An answer arrives twice, the second copy up to 5 s later. A proxy may repeat a push.
  case repeatedAnswer
  /// A request reaches the server, but nothing comes back on that connection.
  case halfOpen
  /// No connection can be made; the request never leaves.
  case refusedConnection
  /// The connection of a waiting poll breaks, and the client is told.
  case brokenConnection
  /// The client cannot reach the server for a while. It is told so, or hears nothing.
  case partition
  /// The source reports a timeout of its own. A push still arrives, up to 10 minutes later.
  case sourceTimeout
  /// The server answers that it has failed.
  case serverError
  /// A captive portal's page comes in place of the answer.
  case portal
  /// The server says to wait. Its `retry-after` is missing, negative, or up to an hour.
  case rateLimit
  /// The answer cannot be understood.
  case malformedAnswer
  /// An event of an unknown type reaches every client.
  case unknownEvent
  /// The server rejects a request as bad.
  case rejectedRequest
  /// A register is refused as if its queue were gone.
  case expiredRegister
  /// The server refuses the client's credentials until it gets new ones.
  case revokedCredentials
  /// For a while registers, polls and pushes fail: the server does not support the client.
  case unsupportedServer
  /// The snapshot of a register is one that the model refuses.
  case refusedSnapshot
  /// A change is committed whose event the model refuses.
  case refusedEvent
  /// A snapshot is read late, or is long on its way and old on arrival.
  case slowSnapshot
  /// The server restarts and keeps its queues. It is down for up to 30 s.
  case gentleRestart
  /// The server restarts and loses its queues. It is down for up to 30 s.
  case killedServer
  /// The server ends the client's queue early.
  case queueExpiry
  /// Another client polls the same queue, which ends this client's wait.
  case secondPoller
  /// The app goes to the background for a while.
  case background
  /// The device sleeps. What arrives meanwhile reaches the client when it wakes, all at once.
  case suspension
  /// The process ends without notice, and another begins later.
  case crash
  /// The app stops the machine, and starts it again later.
  case stopAndStart
  /// The user logs out, and logs in again later.
  case logOut
  /// A loaded form has a wrong age, or an unknown one, as after a change of the wall clock.
  case clockJump
  /// The device reports up to four network changes within half a second.
  case networkChanges
  /// Many signals of one kind within seconds, or all queues lost at once.
  case storm
  /// A write takes much longer.
  case slowWrite
  /// A write fails, and the disk stays as it was.
  case failedWrite
  /// A batch begins with the event that the client has already acknowledged.
  case repeatedEvents
  /// Reading the saved form, or rows of it, takes much longer.
  case slowLoad
  /// Only where users change nothing: an older saved form comes back after a crash.
  case oldBackup
  /// Lasts for ever: this client need not become up to date any more.
  case endlessPartition
  /// A process ends without notice, and none follows. This client need not become up to date any
  /// more.
  case abandonedClient
  /// Only where clients hold a part and read pages: a change that no client is told of.
  case silentChange
  /// Pages show an old version of a row, for a while.
  case oldCache
  /// Every write fails until there is space again. Reads and erasures still work.
  case fullDisk
  /// A process finds a saved form that it cannot read: some bytes have changed, or a newer app
  /// wrote it.
  case damagedForm
  /// Only where users change things: an older saved form comes back, and with it an older outbox.
  case oldOutbox
  /// A process ends during a write or right after one.
  case crashAtWrite
  /// Only where clients hold a part: a process leaves rows on its disk until they are needed.
  case unloadedRows
  /// The saved form, or some of its rows, cannot be read this time.
  case failedRead
  /// Only where users change things: the app was updated, and cannot read the saved model. It reads
  /// what its user changed.
  case appUpdate
  /// Only where users change things: the server takes no push of more than a few changes.
  case smallPushes
  /// Only where users change things: they undo and redo some of it.
  case undo
  /// Only where servers name their clients: with its log the server forgets a client. It refuses
  /// that client's polls, and gives it another name at its next register.
  case forgottenName

  /// Whether only registers are affected.
  var isOfRegisters: Bool {
    self == .expiredRegister || self == .refusedSnapshot || self == .slowSnapshot
  }

  /// Whether the fault exists only where clients hold a part and read pages.
  package var isOfPages: Bool { breaksContract || self == .unloadedRows }

  /// Whether the server breaks its contract towards readers of pages. Clients must repair what they
  /// can.
  var breaksContract: Bool { self == .silentChange || self == .oldCache }

  /// Whether the fault exists only where users change things.
  var isOfChanges: Bool { self == .oldOutbox || rawValue >= Fault.appUpdate.rawValue }

  /// The stream that decides which worlds have this fault. Faults added later have streams of their
  /// own, so that old seeds keep their stories.
  var stream: Choices.Stream {
    if rawValue >= Fault.forgottenName.rawValue { return .names }
    if rawValue >= Fault.undo.rawValue { return .undo }
    if rawValue >= Fault.appUpdate.rawValue { return .updates }
    if rawValue >= Fault.unloadedRows.rawValue { return .rows }
    if rawValue >= Fault.fullDisk.rawValue { return .storage }
    return rawValue >= Fault.repeatedEvents.rawValue ? .weather : .swarm
  }

  /// The name on the command line and in the JSON: words joined by hyphens.
  public var name: String {
    switch self {
    case .slowNetwork: "slow-network"
    case .lostRequest: "lost-request"
    case .lostAnswer: "lost-answer"
    case .lateAnswer: "late-answer"
    case .repeatedAnswer: "repeated-answer"
    case .halfOpen: "half-open"
    case .refusedConnection: "refused-connection"
    case .brokenConnection: "broken-connection"
    case .partition: "partition"
    case .sourceTimeout: "source-timeout"
    case .serverError: "server-error"
    case .portal: "portal"
    case .rateLimit: "rate-limit"
    case .malformedAnswer: "malformed-answer"
    case .unknownEvent: "unknown-event"
    case .rejectedRequest: "rejected-request"
    case .expiredRegister: "expired-register"
    case .revokedCredentials: "revoked-credentials"
    case .unsupportedServer: "unsupported-server"
    case .refusedSnapshot: "refused-snapshot"
    case .refusedEvent: "refused-event"
    case .slowSnapshot: "slow-snapshot"
    case .gentleRestart: "gentle-restart"
    case .killedServer: "killed-server"
    case .queueExpiry: "queue-expiry"
    case .secondPoller: "second-poller"
    case .background: "background"
    case .suspension: "suspension"
    case .crash: "crash"
    case .stopAndStart: "stop-and-start"
    case .logOut: "log-out"
    case .clockJump: "clock-jump"
    case .networkChanges: "network-changes"
    case .storm: "storm"
    case .slowWrite: "slow-write"
    case .failedWrite: "failed-write"
    case .repeatedEvents: "repeated-events"
    case .slowLoad: "slow-load"
    case .oldBackup: "old-backup"
    case .endlessPartition: "endless-partition"
    case .abandonedClient: "abandoned-client"
    case .silentChange: "silent-change"
    case .oldCache: "old-cache"
    case .fullDisk: "full-disk"
    case .damagedForm: "damaged-form"
    case .oldOutbox: "old-outbox"
    case .crashAtWrite: "crash-at-write"
    case .unloadedRows: "unloaded-rows"
    case .failedRead: "failed-read"
    case .appUpdate: "app-update"
    case .smallPushes: "small-pushes"
    case .undo: "undo"
    case .forgottenName: "forgotten-name"
    }
  }
}

extension Fault {
  /// Whether it strikes the server, and so every client, whichever client was drawn.
  var isOfServer: Bool {
    switch self {
    case .unknownEvent, .refusedEvent, .gentleRestart, .killedServer, .unsupportedServer, .storm,
      .silentChange, .oldCache, .smallPushes:
      true
    case .slowNetwork, .lostRequest, .lostAnswer, .lateAnswer, .repeatedAnswer, .halfOpen,
      .refusedConnection, .brokenConnection, .partition, .sourceTimeout, .serverError, .portal,
      .rateLimit, .malformedAnswer, .rejectedRequest, .expiredRegister, .revokedCredentials,
      .refusedSnapshot, .slowSnapshot, .queueExpiry, .secondPoller, .background, .suspension,
      .crash, .stopAndStart, .logOut, .clockJump, .networkChanges, .slowWrite, .failedWrite,
      .repeatedEvents, .slowLoad, .oldBackup, .endlessPartition, .abandonedClient, .fullDisk,
      .damagedForm, .oldOutbox, .crashAtWrite, .unloadedRows, .failedRead, .appUpdate, .undo,
      .forgottenName:
      false
    }
  }
}

/// A set of faults, in declaration order.
public struct FaultSet: Hashable, Sendable {
  /// One bit per fault.
  private(set) var bits: UInt64

  package init() { bits = 0 }

  /// The faults of these bits; unknown bits are ignored.
  init(bits: UInt64) { self.bits = bits & FaultSet.all.bits }

  /// Nothing goes wrong.
  public static var none: FaultSet { FaultSet() }

  /// Every fault.
  public static var all: FaultSet {
    var set = FaultSet()
    for fault in Fault.allCases { set.insert(fault) }
    return set
  }

  /// Whether the set contains the fault.
  public func contains(_ fault: Fault) -> Bool { bits & (1 << UInt64(fault.rawValue)) != 0 }

  /// Adds the fault, if it is missing.
  public mutating func insert(_ fault: Fault) { bits |= 1 << UInt64(fault.rawValue) }

  /// Removes the fault, if it is there.
  mutating func remove(_ fault: Fault) { bits &= ~(1 << UInt64(fault.rawValue)) }

  /// The faults in declaration order.
  package var list: [Fault] { Fault.allCases.filter { contains($0) } }
}

extension FaultSet: ExpressibleByArrayLiteral {
  public init(arrayLiteral faults: Fault...) {
    self.init()
    for fault in faults { insert(fault) }
  }
}

/// How often each fault struck.
public struct FaultCounts: Hashable, Sendable {
  private var counts: [Int64]

  package init() { counts = Array(repeating: 0, count: Fault.allCases.count) }

  /// The number of times that this fault struck.
  public subscript(fault: Fault) -> Int64 {
    get { counts[Int(fault.rawValue)] }
    set { counts[Int(fault.rawValue)] = newValue }
  }

  /// Adds the counts of `other`.
  package mutating func add(_ other: FaultCounts) {
    for index in counts.indices { counts[index] += other.counts[index] }
  }
}
