internal import UpdateMachine

/// The server's answers in a run, and their delays.
struct ServerRules {
  /// The most machines in one run; for more, use the fleet.
  static var clientsMaximum: Int { 100_000 }

  var register = Rule()
  var quick = Rule()
  var waiting = Rule()
  /// Whether quick and waiting polls are answered from one list.
  var pollsShareList = false
  /// How many snapshots a second the server gives before it refuses more; `nil` for no limit.
  var snapshotsASecond: Int64?
  /// Whether all machines share one log.
  var isShared = false

  /// The requests that a rule is about.
  enum Kind: String {
    case register
    case quick
    case waiting
    /// Quick and waiting polls.
    case poll
  }

  /// The answers to one kind of request. Without a rule, it gets none.
  struct Rule {
    /// The time from sending the request to the arrival of its answer.
    var latency: TimeSpan = .zero
    /// The answers, given in turn. Each client has its own place in the list.
    var replies: [Reply] = [.holds]
    /// Whether the list starts again after the last answer. If not, the last answer repeats.
    var repeats = true

    func reply(_ turn: Int) -> Reply {
      replies[repeats ? turn % replies.count : Swift.min(turn, replies.count - 1)]
    }
  }

  enum Reply {
    case snapshot(isComplete: Bool)
    /// One event, whatever the finger is. A heartbeat counts as one.
    case event(isComplete: Bool)
    /// Nothing new.
    case nothing(isComplete: Bool)
    case failed(SyncFailure)
    /// No answer, ever.
    case holds

    init(_ words: inout Words, kind: Kind) throws(ScenarioError) {
      let isRegister = kind == .register
      if words.take("failed") {
        self = .failed(try words.failure())
      } else if words.take("holds") {
        self = .holds
      } else if isRegister, words.take("snapshot") {
        self = .snapshot(isComplete: !words.take("incomplete"))
      } else if !isRegister, words.take("event") {
        self = .event(isComplete: !words.take("incomplete"))
      } else if !isRegister, words.take("nothing") {
        self = .nothing(isComplete: !words.take("incomplete"))
      } else {
        throw words.error(
          isRegister ? "snapshot, holds or failed" : "event, nothing, holds or failed")
      }
    }
  }

  mutating func set(_ kind: Kind, _ rule: Rule) {
    switch kind {
    case .register: register = rule
    case .quick: quick = rule
    case .waiting: waiting = rule
    case .poll:
      quick = rule
      waiting = rule
    }
    if kind != .register { pollsShareList = kind == .poll }
  }
}
