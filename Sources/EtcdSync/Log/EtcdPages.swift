import UpdateMachine

/// A snapshot that is read page by page. All pages are of the revision of the first.
struct EtcdPages {
  private let prefix: [UInt8]
  /// The most keys of the next page.
  private(set) var limit: Int64
  private var header: EtcdHeader?
  private var pairs: [EtcdKeyValue] = []
  /// Whether the next page must be asked for.
  private(set) var hasMore = true

  /// - Parameter limit: the most keys of a page.
  init(prefix: [UInt8], limit: Int64) {
    self.prefix = prefix
    self.limit = max(limit, 1)
  }

  /// The next page.
  var request: EtcdRangeRequest {
    let span = EtcdSpan(prefix: prefix)
    var request = EtcdRangeRequest(
      pairs.last.map { span.after($0.key) } ?? span, revision: header?.revision ?? 0)
    request.limit = limit
    return request
  }

  /// Asks for fewer keys from now on, because a page was too large. Returns whether that helps.
  mutating func shrink() -> Bool {
    guard limit > 1 else { return false }
    limit /= 2
    return true
  }

  /// Takes a page. Throws if it does not follow on the one before.
  mutating func take(_ page: EtcdRangeAnswer) throws(EtcdWireError) {
    if let header {
      // Another member may answer, in a later term, and at a later revision. Neither goes back in
      // one history, and pages of two histories make no snapshot.
      guard page.header.cluster == header.cluster, page.header.revision >= header.revision,
        page.header.term >= header.term
      else { throw EtcdWireError(field: "header") }
    } else {
      guard page.header.revision > 0 else { throw EtcdWireError(field: "revision") }
      header = page.header
    }
    for pair in page.range.pairs {
      let follows = pairs.last.map { $0.key.lexicographicallyPrecedes(pair.key) } ?? true
      guard follows, pair.key.starts(with: prefix), pair.modified <= header?.revision ?? 0 else {
        throw EtcdWireError(field: "kvs")
      }
      pairs.append(pair)
    }
    hasMore = page.range.hasMore
    guard !hasMore || !page.range.pairs.isEmpty else { throw EtcdWireError(field: "more") }
  }

  /// The place that the snapshot is of; `nil`: nothing has come yet.
  var finger: EtcdFinger? {
    guard let header else { return nil }
    let newest = pairs.max { $0.modified < $1.modified }
    let marks = EtcdMarks(
      term: header.term, count: Int64(pairs.count), lastModified: newest?.modified ?? 0,
      key: newest.map { EtcdKey(bytes: Array($0.key.dropFirst(prefix.count))) },
      keyRevision: newest?.modified ?? 0)
    return EtcdFinger(
      cluster: EtcdClusterID(header.cluster), revision: header.revision, marks: marks)
  }

  /// The snapshot for a client. The library's own keys are left out, except its record.
  func snapshot(for client: ClientID) -> EtcdSnapshot {
    var entries: [(key: EtcdKey, value: EtcdEntry)] = []
    entries.reserveCapacity(pairs.count)
    let recordKey = EtcdKey.record(of: client)
    var record: EtcdEntry?
    for pair in pairs {
      let key = EtcdKey(bytes: Array(pair.key.dropFirst(prefix.count)))
      let entry = EtcdEntry(pair.value, revision: pair.modified)
      if key == recordKey { record = entry }
      if !key.isReserved { entries.append((key: key, value: entry)) }
    }
    var snapshot = EtcdSnapshot(entries: VersionedMap(sorted: entries), client: client)
    snapshot.record = record
    return snapshot
  }
}
