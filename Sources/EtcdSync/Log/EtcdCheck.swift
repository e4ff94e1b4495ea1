import UpdateMachine

/// The question what has changed since a finger, up to now: one transaction, which all members must
/// agree to have read at the newest revision.
///
/// It answers three things at once.
///
/// 1. *Is it still the same history?* A cluster that was restored from a backup, and a member that
///    was wiped, may have the old name. Then the revision is below the finger, or the term has gone
///    back, or the key that the finger remembers was not modified when it remembers, or another key
///    was modified in between, or the number of keys at the finger's revision is another.
/// 2. *Is that history still there?* A watch does not say so in all cases: from exactly the
///    revision at which history was compacted, etcd 3.4 serves a watch without the deletions of
///    that revision. A range at the finger's revision is refused there.
/// 3. *What is new?* The keys that were modified since, with their values; and by arithmetic, how
///    many of the finger's keys are gone. If any is, ``EtcdKeyList`` asks which.
enum EtcdCheck {
  /// What the answer means.
  enum Verdict: Hashable {
    /// All that has changed.
    case batch(EtcdBatch)
    /// So many of the finger's keys are gone besides; the batch lacks their deletions.
    case deleted(Int64, besides: EtcdBatch)
    /// It is not the history that the finger is in.
    case foreign
  }

  static func request(_ finger: EtcdFinger, prefix: [UInt8]) -> EtcdTransaction {
    var changed = EtcdRangeRequest(EtcdSpan(prefix: prefix))
    changed.modifiedSince = finger.marks.lastModified + 1
    var count = EtcdRangeRequest(EtcdSpan(prefix: prefix), revision: finger.revision)
    count.onlyCount = true
    var transaction = EtcdTransaction()
    transaction.success = [.range(changed), .range(count)]
    if let key = finger.marks.key {
      var mark = EtcdRangeRequest(
        EtcdSpan(key: prefix + key.bytes), revision: finger.revision)
      mark.onlyKeys = true
      transaction.success.append(.range(mark))
    }
    return transaction
  }

  /// Judges an answer. An answer that is no answer to the question throws.
  static func verdict(
    _ answer: EtcdTransactionAnswer, _ finger: EtcdFinger, prefix: [UInt8]
  ) throws(EtcdWireError) -> Verdict {
    let marks = finger.marks
    let changed = try answer.range(0)
    let countThen = try answer.range(1).count
    guard isSame(answer.header, finger), countThen == marks.count else { return .foreign }
    if marks.key != nil {
      let pairs = try answer.range(2).pairs
      guard pairs.count == 1, pairs[0].modified == marks.keyRevision else { return .foreign }
    }
    var created: Int64 = 0
    var items: [EtcdBatch.Item] = []
    for pair in changed.pairs {
      guard pair.key.starts(with: prefix), pair.modified <= answer.header.revision else {
        throw EtcdWireError(field: "kvs")
      }
      guard pair.modified > finger.revision else { return .foreign }
      let isNew = pair.created > finger.revision
      if isNew { created += 1 }
      let key = EtcdKey(bytes: Array(pair.key.dropFirst(prefix.count)))
      items.append(
        EtcdBatch.Item(
          event: EtcdEvent(key: key, value: pair.value, revision: pair.modified), isNew: isNew))
    }
    items.sort {
      ($0.event.revision, $0.event.key) < ($1.event.revision, $1.event.key)
    }
    let batch = EtcdBatch(
      cluster: finger.cluster, after: finger.revision, through: answer.header.revision,
      term: answer.header.term, isCurrent: true, total: changed.count, events: items)
    let gone = countThen - (changed.count - created)
    guard 0 <= gone, created <= changed.count else { throw EtcdWireError(field: "count") }
    return gone == 0 ? .batch(batch) : .deleted(gone, besides: batch)
  }

  /// Whether an answer may be from the history of a finger: the cluster has the name, and neither
  /// its revision nor its term has gone back. Only for answers that all members agree upon: one
  /// that lags is behind without harm.
  static func isSame(_ header: EtcdHeader, _ finger: EtcdFinger) -> Bool {
    header.cluster == finger.cluster.number && header.revision >= finger.revision
      && header.term >= finger.marks.term
  }
}

/// The question which keys a prefix had at a finger, and which it had at the end of a batch. The
/// difference is what was deleted in between.
enum EtcdKeyList {
  static func request(
    _ finger: EtcdFinger, through revision: Int64, prefix: [UInt8]
  ) -> EtcdTransaction {
    var transaction = EtcdTransaction()
    for revision in [finger.revision, revision] {
      var range = EtcdRangeRequest(EtcdSpan(prefix: prefix), revision: revision)
      range.onlyKeys = true
      transaction.success.append(.range(range))
    }
    return transaction
  }

  /// Completes a batch. Throws if not exactly as many keys are gone as there should be.
  static func completed(
    _ batch: EtcdBatch, lacking count: Int64, _ answer: EtcdTransactionAnswer, prefix: [UInt8]
  ) throws(EtcdWireError) -> EtcdBatch {
    let then = try answer.range(0).pairs
    let now = try answer.range(1).pairs
    guard answer.header.cluster == batch.cluster.number else {
      throw EtcdWireError(field: "header")
    }
    var batch = batch
    let new = Set(batch.events.filter(\.isNew).map(\.event.key))
    var index = 0
    var gone: Int64 = 0
    for pair in then {
      guard pair.key.starts(with: prefix) else { throw EtcdWireError(field: "kvs") }
      let key = EtcdKey(bytes: Array(pair.key.dropFirst(prefix.count)))
      while index < now.count, now[index].key.lexicographicallyPrecedes(pair.key) { index += 1 }
      if index < now.count, now[index].key == pair.key {
        if new.contains(key) { gone += 1 }  // Deleted, and written again.
        continue
      }
      gone += 1
      batch.events.append(
        EtcdBatch.Item(
          event: EtcdEvent(key: key, value: nil, revision: batch.through), isNew: false))
    }
    guard gone == count else { throw EtcdWireError(field: "count") }
    return batch
  }
}
