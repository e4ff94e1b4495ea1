import SyncProtocols
import UpdateMachine

/// A watch of a cluster as a value: where it is open, and what it has told.
package struct EtcdClusterWatch: Hashable, Sendable {
  /// The member that it is open at.
  package var member: Int
  /// The revision up to which everything was told.
  package var told: Int64

  package init(member: Int, told: Int64) {
    self.member = member
    self.told = told
  }
}

extension EtcdCluster {
  typealias WatchMessage = (header: EtcdHeader, events: [EtcdWatchMessage.Event])

  /// What a new watch tells of a span from a revision on, at a member: whole revisions, ascending;
  /// `nil`: nothing yet. From exactly the revision of a compaction on, it tells only what is still
  /// kept, without that revision's deletions.
  func message(
    of span: EtcdSpan, from start: Int64, at member: Int
  ) throws(EtcdRefusal) -> WatchMessage? {
    if start < compacted { throw .compacted }
    return events(of: span, from: start, at: member) { revision, event in
      revision > compacted || !event.isDeletion
    }
  }

  private func events(
    of span: EtcdSpan, from start: Int64, at member: Int,
    where isTold: (Int64, EtcdWatchMessage.Event) -> Bool = { _, _ in true }
  ) -> WatchMessage? {
    let applied = members[member].applied
    guard start <= applied else { return nil }
    var events: [EtcdWatchMessage.Event] = []
    for revision in max(start, 1)...applied {
      events += self[revision].events.filter {
        span.contains($0.pair.key) && isTold(revision, $0)
      }
    }
    return events.isEmpty ? nil : (header(of: member), events)
  }

  /// Whether history was thrown away that an open watch has not told yet. Then its member ends it.
  ///
  /// A member may also have it in a buffer and go on. This one never does.
  package func hasEnded(_ watch: EtcdClusterWatch, of prefix: [UInt8]) -> Bool {
    breach != .compactionUnsaid && hasLost(watch, EtcdSpan(prefix: prefix))
  }

  private func hasLost(_ watch: EtcdClusterWatch, _ span: EtcdSpan) -> Bool {
    guard watch.told < compacted else { return false }
    return (watch.told + 1...compacted).contains { revision in
      self[revision].events.contains { span.contains($0.pair.key) }
    }
  }

  /// What an open watch tells next; `nil`: nothing yet. Plants leave out a revision, or all that a
  /// compaction has thrown away.
  mutating func next(
    of span: EtcdSpan, _ watch: EtcdClusterWatch
  ) throws(EtcdRefusal) -> WatchMessage? {
    let hasLost = hasLost(watch, span)
    if hasLost, breach != .compactionUnsaid { throw .compacted }
    let start = max(watch.told, compacted) + 1
    guard var message = events(of: span, from: start, at: watch.member) else { return nil }
    if hasLost { breachCount += 1 }
    guard breach == .watchSkipsARevision, let first = message.events.first?.pair.modified else {
      return message
    }
    // A single revision is held back. The next one is told without it.
    guard message.events.last?.pair.modified != first else { return nil }
    message.events.removeAll { $0.pair.modified == first }
    breachCount += 1
    return message
  }
}
