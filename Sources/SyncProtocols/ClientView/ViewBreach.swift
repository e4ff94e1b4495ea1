/// The ways in which a client view's servers can break their contract (*plants*), where a client
/// must trust them. An oracle must catch each.
@usableFromInline package enum ViewBreach: String, CaseIterable, Hashable, Sendable {
  /// A mutation's ID is committed, but its effects never are.
  case skipsAMutation = "skips-a-mutation"
  /// A mutation is run twice.
  case appliesTwice = "applies-twice"
  /// A mutation's effects are committed without its ID. The ID follows with its client's next push.
  case effectsWithoutID = "effects-without-id"
  /// A delta lacks a change, and the checksum is that of its wrong result.
  case wrongDelta = "wrong-delta"
  /// The replica that pulls are read from has stopped, and its views are said to be current.
  case claimsToBeCurrent = "claims-to-be-current"
}
