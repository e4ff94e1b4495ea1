/// The state of a machine (TheMachine §4). It holds only the data of the request that is out. Data
/// that must survive a change of status is stored in `Machine`.
public enum MachineStatus: Hashable, Sendable {
  /// Resting without a finger: not started, or in the background.
  case stale
  /// Resting with a finger: not started, or in the background. May hold the refresh timer.
  case idle
  /// Waiting for a snapshot. The timer is the request's deadline.
  case registering(Outstanding)
  /// Waiting to register, for any reason. The timer says until when.
  case registerFailed
  /// Following the log.
  case live(Activity)
  /// Waiting to poll again: the last poll, or the last write, failed. The timer says until when.
  case pollFailed
  /// Only the app can go on.
  case halted(Halt)

  /// What a live machine is doing; always exactly one of these.
  public enum Activity: Hashable, Sendable {
    /// A poll is out. The timer is its deadline.
    case polling(Outstanding)
    /// New data is being written. Nothing is asked until it is durable, because asking
    /// acknowledges.
    case writing
    /// Between two polls, because of the pace, an answer that moved nothing, or the protocol's
    /// rhythm.
    case pausing
  }

  /// Why a machine is halted, and what the app calls to go on.
  /// ``UpdateMachine/run(inForeground:)`` always helps, after ``UpdateMachine/stop()``.
  /// ``UpdateMachine/retryNow()`` helps three times in a row, and then once in 10 s.
  public enum Halt: Hashable, Sendable {
    /// The server refused the credentials. Call ``UpdateMachine/credentialsChanged()`` when the
    /// source has new ones, or ``UpdateMachine/retryNow()``.
    case credentials
    /// Client and server do not understand each other. Call ``UpdateMachine/retryNow()``, best
    /// after an update of either.
    case unsupported
    /// The app called ``UpdateMachine/stop()`` or ``UpdateMachine/logOut()``, or cancelled the task
    /// that ran it. Call ``UpdateMachine/run(inForeground:)``.
    case stopped
  }
}

/// The one request that is out.
public struct Outstanding: Hashable, Sendable {
  /// Its ID; only an answer to it is believed.
  @usableFromInline package var id: RequestID
  /// When it was sent. The server's notes about it are never earlier.
  @usableFromInline package var sent: Moment
  /// Whether the server may hold it open until there is news.
  @usableFromInline package var waits: Bool

  @inlinable
  package init(id: RequestID, sent: Moment, waits: Bool) {
    self.id = id
    self.sent = sent
    self.waits = waits
  }
}

extension MachineStatus {
  /// The request that is out.
  @inlinable
  package var outstanding: Outstanding? {
    switch self {
    case .registering(let request), .live(.polling(let request)): request
    case .stale, .idle, .registerFailed, .live(.writing), .live(.pausing), .pollFailed, .halted:
      nil
    }
  }

  @inlinable
  package var isLive: Bool {
    switch self {
    case .live: true
    case .stale, .idle, .registering, .registerFailed, .pollFailed, .halted: false
    }
  }

  @inlinable
  package var isHalted: Bool {
    switch self {
    case .halted: true
    case .stale, .idle, .registering, .registerFailed, .live, .pollFailed: false
    }
  }

  /// Whether the machine is at rest: it wants nothing from the server for now.
  @inlinable
  package var isResting: Bool {
    switch self {
    case .stale, .idle: true
    case .registering, .registerFailed, .live, .pollFailed, .halted: false
    }
  }

  /// A small number for each state, for tables and hashes: its index in ``names``.
  @inlinable
  package var code: Int {
    switch self {
    case .stale: 0
    case .idle: 1
    case .registering: 2
    case .registerFailed: 3
    case .live(.polling): 4
    case .live(.writing): 5
    case .live(.pausing): 6
    case .pollFailed: 7
    case .halted(.credentials): 8
    case .halted(.unsupported): 9
    case .halted(.stopped): 10
    }
  }

  /// Every state's name, by ``code``.
  package static var names: [String] {
    [
      "stale", "idle", "registering", "registerFailed", "live.polling", "live.writing",
      "live.pausing", "pollFailed", "halted(credentials)", "halted(unsupported)",
      "halted(stopped)",
    ]
  }
}

extension MachineStatus: CustomStringConvertible {
  public var description: String { MachineStatus.names[code] }
}

extension MachineStatus.Halt: CustomStringConvertible {
  public var description: String {
    switch self {
    case .credentials: "credentials"
    case .unsupported: "unsupported"
    case .stopped: "stopped"
    }
  }
}
