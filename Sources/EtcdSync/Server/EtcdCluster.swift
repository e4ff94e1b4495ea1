package import SyncProtocols
import UpdateMachine

// Server: the room of a cluster as a value, for tests and simulations: etcd's revisions, ranges,
// transactions, watches and compaction, and members that lag behind. It also asks such a cluster
// what a source asks a real one, with the same questions and the same judgements. No app uses it.
//
// Server may use: Log, State, Wire.

/// An etcd cluster as a value: the history of its keys, and how far each member has come.
///
/// It follows what etcd 3.4 was recorded to answer. A revision is one transaction that has changed
/// something. Its disk is never full, it knows no leases, and it asks for no password.
package struct EtcdCluster: Sendable {
  /// The name in every answer.
  package private(set) var id: EtcdClusterID
  /// The term of its consensus. A cluster that has just begun has elected its first leader.
  private(set) var term: UInt64 = 2
  /// The revision up to which history is thrown away; 0: none is.
  package private(set) var compacted: Int64 = 0
  /// Every revision, from 1 on, though compaction may forbid to look.
  private var revisions: [Revision]
  private(set) var members: [Member]

  /// How it breaks its contract at each opportunity; `nil`: it keeps it.
  package var breach: ClusterBreach?
  /// How often it has broken it.
  package internal(set) var breachCount: Int64 = 0
  /// The plant's transaction that will be performed again.
  private var repeated: EtcdTransaction?

  /// What one member knows.
  struct Member: Sendable {
    /// The last revision that it has applied.
    var applied: Int64 = 1
    var term: UInt64 = 2
    /// Whether it hears nothing from the others.
    var isCutOff = false
  }

  struct Revision: Sendable {
    var keys = VersionedMap<EtcdKey, EtcdKeyValue>()
    /// What it has changed, by key.
    var events: [EtcdWatchMessage.Event] = []
  }

  /// The most operations and comparisons of a transaction, etcd's default.
  static let operationMaximum = 128

  /// Creates an empty cluster of members, at least one. As in etcd, its first revision is 1.
  package init(_ id: EtcdClusterID, members count: Int = 1) {
    self.id = id
    revisions = [Revision(), Revision()]
    members = Array(repeating: Member(), count: max(count, 1))
  }

  /// The newest revision.
  package var revision: Int64 { Int64(revisions.count) - 1 }

  subscript(revision: Int64) -> Revision { revisions[Int(revision)] }

  /// The beginning of an answer that all members agree upon.
  var header: EtcdHeader { EtcdHeader(cluster: id.number, revision: revision, term: term) }

  /// The beginning of what one member says by itself.
  func header(of member: Int) -> EtcdHeader {
    EtcdHeader(cluster: id.number, revision: members[member].applied, term: members[member].term)
  }

  // MARK: Ranges

  /// Reads a range at a quorum, with which the member that is asked catches up.
  func range(
    _ request: EtcdRangeRequest, at member: Int
  ) throws(EtcdRefusal) -> EtcdRangeAnswer {
    if members[member].isCutOff { throw .unavailable }
    try allow(request, newest: revision)
    return EtcdRangeAnswer(header: header, range: read(request, self[revision].keys))
  }

  /// Reads a range as one member knows it, which may lag.
  func range(
    _ request: EtcdRangeRequest, serializableAt member: Int
  ) throws(EtcdRefusal) -> EtcdRangeAnswer {
    let applied = members[member].applied
    try allow(request, newest: applied)
    return EtcdRangeAnswer(
      header: header(of: member), range: read(request, self[applied].keys))
  }

  private func allow(_ request: EtcdRangeRequest, newest: Int64) throws(EtcdRefusal) {
    if request.revision > newest { throw .future }
    if request.revision > 0, request.revision < compacted { throw .compacted }
  }

  /// Reads a range of the keys of one state, or of the revision that it names.
  func read(
    _ request: EtcdRangeRequest, _ present: VersionedMap<EtcdKey, EtcdKeyValue>
  ) -> EtcdRange {
    let keys = request.revision > 0 ? self[request.revision].keys : present
    var found: [EtcdKeyValue] = []
    for (key, pair) in keys.ascending(from: EtcdKey(bytes: request.span.start)) {
      guard request.span.contains(key.bytes) else { break }
      found.append(pair)
    }
    let count = Int64(found.count)
    var pairs = found.filter { $0.modified >= request.modifiedSince }
    let hasMore = request.limit > 0 && Int64(pairs.count) > request.limit
    if hasMore { pairs.removeLast(pairs.count - Int(request.limit)) }
    if request.onlyCount { pairs = [] }
    if request.onlyKeys { for index in pairs.indices { pairs[index].value = [] } }
    return EtcdRange(pairs: pairs, hasMore: hasMore, count: count)
  }

  // MARK: Transactions

  /// Performs a transaction: one branch, whole, or nothing.
  mutating func perform(
    _ transaction: EtcdTransaction, at member: Int
  ) throws(EtcdRefusal) -> EtcdTransactionAnswer {
    if members[member].isCutOff { throw .unavailable }
    let answer = try commit(transaction)
    if breach == .appliesATransactionTwice, answer.succeeded, transaction.writes {
      repeated = repeated ?? transaction
    }
    return answer
  }

  /// The plant: performs a transaction again, if that changes what a key holds.
  package mutating func repeatTransaction() {
    guard breach == .appliesATransactionTwice, var again = repeated else { return }
    let present = self[revision].keys
    let isNews = again.success.contains { operation in
      guard case .put(let key, let value, _) = operation else { return false }
      return present[EtcdKey(bytes: key)]?.value != value
    }
    guard isNews else { return }
    repeated = nil
    again.comparisons = []
    again.success.removeAll { !$0.isWrite }
    if (try? commit(again)) != nil { breachCount += 1 }
  }

  private mutating func commit(
    _ transaction: EtcdTransaction
  ) throws(EtcdRefusal) -> EtcdTransactionAnswer {
    for list in [transaction.success, transaction.failure] {
      if list.count > EtcdCluster.operationMaximum { throw .tooLarge }
      try forbidRepeatedKeys(list)
    }
    if transaction.comparisons.count > EtcdCluster.operationMaximum { throw .tooLarge }
    let succeeded = transaction.comparisons.allSatisfy(holds)
    let branch = succeeded ? transaction.success : transaction.failure
    for case .range(let request) in branch { try allow(request, newest: revision) }
    var next = Revision(keys: self[revision].keys)
    var ranges: [EtcdRange?] = []
    for operation in branch {
      switch operation {
      case .range(let request):
        ranges.append(read(request, next.keys))
        continue
      case .put(let key, let value, _): next.put(value, for: key, at: revision + 1)
      case .delete(let key): next.delete(key, at: revision + 1)
      }
      ranges.append(nil)
    }
    if !next.events.isEmpty { append(next) }
    return EtcdTransactionAnswer(header: header, succeeded: succeeded, ranges: ranges)
  }

  private func forbidRepeatedKeys(
    _ operations: [EtcdTransaction.Operation]
  ) throws(EtcdRefusal) {
    var keys: [[UInt8]] = []
    for case .put(let key, _, _) in operations {
      if keys.contains(key) { throw .other(3) }
      keys.append(key)
    }
  }

  private func holds(_ comparison: EtcdTransaction.Comparison) -> Bool {
    let keys = self[revision].keys
    switch comparison {
    case .modified(let key, let expected):
      return keys[EtcdKey(bytes: key)]?.modified ?? 0 == expected
    case .unmodified(let span, let since):
      for (key, pair) in keys.ascending(from: EtcdKey(bytes: span.start)) {
        guard span.contains(key.bytes) else { break }
        if pair.modified >= since { return false }
      }
      return since > 0
    }
  }

  private mutating func append(_ next: Revision) {
    revisions.append(next)
    for index in members.indices where !members[index].isCutOff {
      members[index].applied = revision
    }
  }

  /// Writes values, and deletes the keys without one, in one transaction.
  package mutating func write(_ changes: [(key: [UInt8], value: [UInt8]?)]) {
    var transaction = EtcdTransaction()
    for change in changes {
      transaction.success.append(
        change.value.map { .put(change.key, $0) } ?? .delete(change.key))
    }
    do throws(EtcdRefusal) {
      _ = try commit(transaction)
    } catch {
      preconditionFailure("\(error): a change names a key twice, or too many")
    }
  }

  // MARK: What happens to it

  /// Throws away the history before a revision.
  package mutating func compact(at revision: Int64) {
    compacted = max(compacted, min(revision, self.revision))
  }

  /// Elects a leader anew, as after a restart. A member that is cut off does not hear of it.
  package mutating func elect() {
    term += 1
    for index in members.indices where !members[index].isCutOff { members[index].term = term }
  }

  /// Restores it from a backup of this moment, as a cluster of another name. Terms begin anew.
  package mutating func restore(as id: EtcdClusterID) {
    self.id = id
    term = Member().term
    for index in members.indices { members[index] = Member(applied: revision) }
  }

  /// Cuts a member off from the others: it learns of nothing from now on.
  package mutating func cutOff(_ member: Int) { members[member].isCutOff = true }

  /// Joins a member to the others again. It catches up at once.
  package mutating func join(_ member: Int) {
    members[member] = Member(applied: revision, term: term)
  }

  package var memberCount: Int { members.count }

  package func isCutOff(_ member: Int) -> Bool { members[member].isCutOff }

  /// Whether a member has not applied all that there is.
  package func isBehind(_ member: Int) -> Bool { members[member].applied < revision }
}

extension EtcdCluster.Revision {
  init(keys: VersionedMap<EtcdKey, EtcdKeyValue>) { self.keys = keys }

  mutating func put(_ value: [UInt8], for key: [UInt8], at revision: Int64) {
    let old = keys[EtcdKey(bytes: key)]
    let pair = EtcdKeyValue(
      key: key, value: value, created: old?.created ?? revision, modified: revision)
    keys.updateValue(pair, forKey: EtcdKey(bytes: key))
    events.append(EtcdWatchMessage.Event(isDeletion: false, pair: pair))
  }

  mutating func delete(_ key: [UInt8], at revision: Int64) {
    guard keys.removeValue(forKey: EtcdKey(bytes: key)) != nil else { return }
    events.append(
      EtcdWatchMessage.Event(
        isDeletion: true, pair: EtcdKeyValue(key: key, modified: revision)))
  }
}

extension EtcdTransaction {
  var writes: Bool { success.contains { $0.isWrite } }
}

extension EtcdTransaction.Operation {
  var isWrite: Bool {
    switch self {
    case .put, .delete: true
    case .range: false
    }
  }
}

extension EtcdSpan {
  /// Whether a key lies in the span.
  func contains(_ key: [UInt8]) -> Bool {
    if end.isEmpty { return key == start }
    guard !key.lexicographicallyPrecedes(start) else { return false }
    return end == [0] || key.lexicographicallyPrecedes(end)
  }
}

extension EtcdRange {
  init(pairs: [EtcdKeyValue], hasMore: Bool, count: Int64) {
    self.pairs = pairs
    self.hasMore = hasMore
    self.count = count
  }
}

extension EtcdRangeAnswer {
  init(header: EtcdHeader, range: EtcdRange) {
    self.header = header
    self.range = range
  }
}

extension EtcdTransactionAnswer {
  init(header: EtcdHeader, succeeded: Bool, ranges: [EtcdRange?]) {
    self.header = header
    self.succeeded = succeeded
    self.ranges = ranges
  }
}
