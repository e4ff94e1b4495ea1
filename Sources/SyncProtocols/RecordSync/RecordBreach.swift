/// The ways in which a server of records can break its contract (*plants*), where a client must
/// trust it. An oracle must catch each.
package enum RecordBreach: String, CaseIterable, Hashable, Sendable {
  /// A change gets the stamp of the change before it, as two in one millisecond could. Clients that
  /// have pulled in between never hear of it.
  case sharesAStamp = "shares-a-stamp"
  /// The last deletion is left out of a pull.
  case leavesADeletionOut = "leaves-a-deletion-out"
  /// A pull is read before the last change, and stamped after it.
  case readsTooEarly = "reads-too-early"
  /// A pushed record that has changed since its client's pull is written all the same.
  case overwritesAConflict = "overwrites-a-conflict"
  /// A push is answered as accepted, but one record of it is not written.
  case makesAPushInPart = "makes-a-push-in-part"
}
