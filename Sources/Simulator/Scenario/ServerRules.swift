internal import UpdateMachine

/// What a run's server answers to whom, and how soon.
struct ServerRules {
  /// More machines than this in one run is a mistake: the fleet is for that.
  static var clientsMaximum: Int { 100_000 }

  var register = Rule()
  var quick = Rule()
  var waiting = Rule()
  /// Quick and waiting polls are answered from one list.
  var pollsShareList = false
  /// How many snapshots it makes in a second before it refuses; `nil`: as many as are wanted.
  var snapshotsASecond: Int64?
  /// How many machines share one log.
  var isShared = false

  /// What a rule is about.
  enum Kind: String {
    case register
    case quick
    case waiting
    /// Quick and waiting polls alike.
    case poll
  }

  /// How one kind of request is answered. Without one: never.
  struct Rule {
    /// From sending the request to the arrival of its answer.
    var latency: TimeSpan = .zero
    /// Given one after the other; each client goes through them for itself.
    var replies: [Reply] = [.holds]
    /// Whether they begin anew after the last one; else the last one stays.
    var repeats = true

    func reply(_ turn: Int) -> Reply {
      replies[repeats ? turn % replies.count : Swift.min(turn, replies.count - 1)]
    }
  }

  enum Reply {
    case snapshot
    /// One event, whatever the finger is. A heartbeat is one.
    case event
    /// Nothing new.
    case nothing
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
        self = .snapshot
      } else if !isRegister, words.take("event") {
        self = .event
      } else if !isRegister, words.take("nothing") {
        self = .nothing
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
