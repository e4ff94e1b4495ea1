/// The ways in which a client view's servers can break their contract (*plants*): what a client trusts
/// and cannot check. Each must be caught by an oracle.
public enum ViewBreach: String, CaseIterable, Hashable, Sendable {
  /// A mutation's ID is committed, and its effects never are.
  case skipsAMutation = "skips-a-mutation"
  /// A mutation is run twice.
  case appliesTwice = "applies-twice"
  /// A mutation's effects are committed without its ID, which follows with its client's next push.
  case effectsWithoutID = "effects-without-id"
  /// A delta leaves a change out, and the checksum is that of what it leads to.
  case wrongDelta = "wrong-delta"
}
