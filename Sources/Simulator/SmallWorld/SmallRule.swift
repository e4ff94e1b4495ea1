internal import UpdateMachine

/// A rule of a small world, and the oracle that checks it.
enum SmallRule: UInt8, CaseIterable {
  case invariants = 1
  case model
  case unchanged
  case durable
  case oneRequest
  case followed
  case walls
  case absorbed
  case pending
  case freshness
  case patience
  case rest
  case alive
  case packed

  var oracle: Oracle {
    switch self {
    case .invariants, .walls, .packed: .walls
    case .model, .unchanged, .durable: .replica
    case .oneRequest, .followed, .rest: .ownership
    case .alive: .budget
    case .absorbed: .idempotence
    case .pending: .liveness
    case .freshness: .honesty
    case .patience: .budget
    }
  }

  var text: String {
    switch self {
    case .invariants: "the machine's own invariants hold"
    case .model: "at its finger a model is what the server's state was there"
    case .unchanged: "a model changes only by what it took whole"
    case .durable: "what is not durable is not acknowledged"
    case .oneRequest:
      "at most one request is out, the one that the status names, and it is of this incarnation"
    case .followed: "the log that is followed is not released"
    case .packed: "a packed client goes on as the client does"
    case .walls: "every effect can be performed"
    case .absorbed: "what is late, repeated or foreign changes nothing"
    case .pending: "something is always pending: a request, a timer, a write, or the app"
    case .freshness: "a claim fits the status, and changes when it said it would"
    case .patience: "after a failure there is a wait"
    case .rest: "a machine that rests or is halted asks nothing, and writes nothing"
    case .alive: "a finger is given up unasked only when its log may be gone"
    }
  }
}
