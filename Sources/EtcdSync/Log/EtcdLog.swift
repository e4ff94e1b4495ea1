public import UpdateMachine

/// The protocol of a client of etcd: how a batch follows on a finger.
///
/// A client reads all keys of a prefix as of one revision. From then on it watches what comes after
/// that revision. The client's place is the name of the cluster and a revision.
public enum EtcdLog: SyncProtocol {
  public typealias Place = EtcdFinger
  public typealias Batch = EtcdBatch

  /// Takes the events above the finger. A batch of another cluster, one that begins above the
  /// finger, and one whose events are out of order are gaps. One that ends below the finger is a
  /// repeat, or from a member that lags: it does not show that the client is up to date.
  public static func advance(
    _ finger: EtcdFinger, over batch: EtcdBatch
  ) -> SyncAdvance<EtcdFinger> {
    guard batch.cluster == finger.cluster, batch.after <= finger.revision, batch.isInOrder else {
      return .gap
    }
    if batch.through < finger.revision { return .incomplete }
    if batch.through == finger.revision { return batch.isCurrent ? .seen : .incomplete }
    let first = batch.events.firstIndex { $0.event.revision > finger.revision }
    guard let marks = batch.marks(from: first ?? batch.count, after: finger.marks) else {
      return .gap
    }
    let next = EtcdFinger(cluster: finger.cluster, revision: batch.through, marks: marks)
    return .next(next, first: first ?? batch.count, isComplete: batch.isCurrent)
  }
}

/// The answer to a poll: all changes of a prefix in a range of revisions.
///
/// A revision is never split. What a key held in between may be left out, but never what it holds
/// at the end.
public struct EtcdBatch: EventBatch, Hashable {
  /// Who said it.
  var cluster: EtcdClusterID
  /// The revision after which it begins. It may lie below the client's.
  var after: Int64
  /// The revision up to which nothing is missing.
  package var through: Int64
  var term: UInt64
  /// Whether the cluster had nothing after `through` under the prefix when it answered.
  var isCurrent: Bool
  /// How many keys the prefix has at `through`; `nil`: the events tell.
  var total: Int64?
  /// Ascending by revision.
  var events: [Item]
  /// Whether the model is one that knows nothing of the library's own keys.
  var hidesReserved = false

  /// An event, and whether it is the first of its key.
  struct Item: Hashable {
    var event: EtcdEvent
    /// Whether the key did not exist before.
    var isNew: Bool
  }

  public var count: Int { events.count }

  /// `nil` for a key of the library's own, unless the model knows them.
  public func event(at index: Int) -> EtcdEvent? {
    let event = events[index].event
    return hidesReserved && event.key.isReserved ? nil : event
  }

  /// Whether its revisions ascend, within its range.
  var isInOrder: Bool {
    var last = after
    for item in events {
      guard after < item.event.revision, last <= item.event.revision else { return false }
      last = item.event.revision
    }
    return last <= through
  }

  /// The marks at the end, if the events from an index on are new; `nil`: they contradict what was
  /// known.
  func marks(from first: Int, after old: EtcdMarks) -> EtcdMarks? {
    var marks = old
    marks.term = max(marks.term, term)
    for item in events[first...] {
      marks.lastModified = item.event.revision
      if item.event.value != nil {
        if item.isNew { marks.count += 1 }
        marks.key = item.event.key
        marks.keyRevision = item.event.revision
      } else {
        marks.count -= 1
        if marks.key == item.event.key { marks.key = nil }
      }
    }
    marks.count = total ?? marks.count
    return marks.count < 0 ? nil : marks
  }
}

extension EtcdBatch {
  /// The batch of a watch's message; `nil`: it tells nothing that the finger does not have. A
  /// member that lags sends such messages, and so does one that was asked when the watch began.
  ///
  /// - Parameters:
  ///   - header: the message's.
  ///   - prefix: what is watched.
  ///   - finger: where the watch has come to.
  init?(
    _ events: [EtcdWatchMessage.Event], _ header: EtcdHeader, prefix: [UInt8],
    after finger: EtcdFinger
  ) throws(EtcdWireError) {
    cluster = EtcdClusterID(header.cluster)
    term = header.term
    after = finger.revision
    // The header may be ahead of the events: more is to come below it.
    through = events.last?.pair.modified ?? header.revision
    guard through > finger.revision else { return nil }
    // Sent the moment it happens, unless the header is ahead.
    isCurrent = header.revision <= through
    self.events = []
    // A watch may begin below the finger: the member was asked for what is new after it was opened.
    for event in events where event.pair.modified > finger.revision {
      guard event.pair.key.starts(with: prefix) else { throw EtcdWireError(field: "key") }
      let key = EtcdKey(bytes: Array(event.pair.key.dropFirst(prefix.count)))
      self.events.append(
        Item(
          event: EtcdEvent(
            key: key, value: event.isDeletion ? nil : event.pair.value,
            revision: event.pair.modified),
          isNew: !event.isDeletion && event.pair.created == event.pair.modified))
    }
  }
}
