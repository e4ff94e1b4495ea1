/// The ways in which a replicated store can break its contract (*plants*), where a client must
/// trust it. An oracle must catch each.
package enum ClusterBreach: String, CaseIterable, Hashable, Sendable {
  /// A transaction is performed a second time, and nobody looks whether its conditions still hold.
  case appliesATransactionTwice = "applies-a-transaction-twice"
  /// A watch leaves out a revision.
  case watchSkipsARevision = "watch-skips-a-revision"
  /// The keys of a range are older than the revision that its answer names.
  case rangeIsOlder = "range-older-than-its-revision"
  /// History is thrown away that a watch has not told yet. It goes on after that, and says nothing.
  case compactionUnsaid = "compaction-unsaid"
}
