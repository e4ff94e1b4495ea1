public import UpdateMachine

/// A checker that can object to a run (Architecture §6).
public enum Oracle: String, CaseIterable, Hashable, Sendable {
  /// A: at finger f the model equals the server's state at f; at rest, the server's state.
  case replica = "A replica"
  /// B: what a client holds of a partial state, and what it claims to know of it, is true at the
  /// finger, except for what was read ahead of it.
  case interval = "B interval"
  /// C: after the faults stop, live and up to date within the bound.
  case liveness = "C liveness"
  /// D: requests in any window stay within pace and waits; retry-after is kept; failures escalate.
  case budget = "D budget"
  /// E: one loop; nothing superseded has an effect; nothing happens after a stop.
  case ownership = "E ownership"
  /// F: never *connected* with an older state than promised; freshness changes when it was
  /// announced to.
  case honesty = "F honesty"
  /// G: applying any answer twice changes nothing.
  case idempotence = "G idempotence"
  /// H: each of a user's changes takes effect exactly once and in order, or is visibly set aside.
  case input = "H no lost input"
  /// No letter: a client sees whole transactions, in one order that respects causality, with its
  /// own changes on top.
  case causality = "causality"
  /// I: after a crash at any byte of any write, the last state written is restored.
  case durability = "I durability"
  /// J: no effect that the driver cannot perform; the machine's own invariants.
  case walls = "J walls"
  /// K: a server without a planted bug answers a poll that waits when there is news or a sign of
  /// life is due; it refuses no finger that it gave, and loses no log without a reason.
  case server = "K server"
  /// No letter: what an app itself says of its users' view (``SimulatedOfflineApp``).
  case app = "app's objection"
  /// No letter: compares two runs of one seed, which must be equal to the last bit.
  case determinism = "determinism"
}

/// Something wrong: the oracle, the client, the moment, and what should have been.
public struct Finding: Hashable, Sendable {
  /// The oracle that objects.
  public var oracle: Oracle
  /// The client's number from 0; `nil`: the world as a whole.
  public var client: Int?
  /// When, in the world's time.
  public var at: Moment
  /// The rule that should hold, stated positively.
  public var expected: String
  /// What was found instead.
  public var found: String

  package init(_ oracle: Oracle, client: Int?, at: Moment, expected: String, found: String) {
    self.oracle = oracle
    self.client = client
    self.at = at
    self.expected = expected
    self.found = found
  }
}
