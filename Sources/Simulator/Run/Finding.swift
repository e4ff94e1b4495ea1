public import UpdateMachine

/// Who found something wrong (DESIGN §9).
public enum Oracle: String, CaseIterable, Hashable, Sendable {
  /// A: at finger f the model equals the server's state at f; at rest, the server's state.
  case replica = "A replica"
  /// B: what is held of a partial state, and what is claimed to be known of it, is true at the finger,
  /// but for what was read ahead of it.
  case interval = "B interval"
  /// C: after the faults stop, live and level within the bound.
  case liveness = "C liveness"
  /// D: requests in any window bounded by pace and waits; retry-after kept; failures escalate.
  case budget = "D budget"
  /// E: one loop; nothing superseded has an effect; nothing happens after a stop.
  case ownership = "E ownership"
  /// F: never *connected* with an older state than promised; freshness changes when it said.
  case honesty = "F honesty"
  /// G: giving any answer twice changes nothing.
  case idempotence = "G idempotence"
  /// H: each change of a user's takes effect exactly once and in order, or is visibly set aside.
  case input = "H no lost input"
  /// No letter: a client sees whole transactions, in one order that agrees with causality, and its own
  /// changes over them.
  case causality = "causality"
  /// I: after a crash at any byte of any write, what is restored is what was written last.
  case durability = "I durability"
  /// J: no effect that the driver cannot perform; the machine's own invariants.
  case walls = "J walls"
  /// No letter: it looks at two runs of one seed, which must be the same to the last bit.
  case determinism = "determinism"
}

/// Something wrong: who found it, with whom, when, and what should have been.
public struct Finding: Hashable, Sendable {
  /// Who objects.
  public var oracle: Oracle
  /// The client's number from 0; `nil`: the world as a whole.
  public var client: Int?
  /// When, in the world's time.
  public var at: Moment
  /// What holds in a right history, stated positively.
  public var expected: String
  /// What was found instead.
  public var found: String

  public init(_ oracle: Oracle, client: Int?, at: Moment, expected: String, found: String) {
    self.oracle = oracle
    self.client = client
    self.at = at
    self.expected = expected
    self.found = found
  }
}
