import SyncProtocols

/// The keys of a range: from one on, up to another, exclusive.
struct EtcdSpan: Hashable {
  var start: [UInt8]
  /// Empty: `start` alone. A zero byte: everything from `start` on.
  var end: [UInt8]

  /// One key.
  init(key: [UInt8]) {
    start = key
    end = []
  }

  init(from start: [UInt8], to end: [UInt8]) {
    self.start = start
    self.end = end
  }

  /// All keys that begin so. An empty prefix: all keys.
  init(prefix: [UInt8]) {
    start = prefix.isEmpty ? [0] : prefix
    // The first key that does not begin so: a byte of 255 has no next one.
    var end = prefix
    while let last = end.last, last == 255 { end.removeLast() }
    if let last = end.last { end[end.count - 1] = last + 1 }
    self.end = end.isEmpty ? [0] : end
  }

  /// The rest of the span, after a key in it.
  func after(_ key: [UInt8]) -> EtcdSpan { EtcdSpan(from: key + [0], to: end) }

  var members: [JSONObject.Member] {
    let start = JSONObject.Member("key", .base64(start))
    return end.isEmpty ? [start] : [start, JSONObject.Member("range_end", .base64(end))]
  }
}

/// A range to ask for.
struct EtcdRangeRequest: Hashable {
  var span: EtcdSpan
  /// 0: the newest.
  var revision: Int64 = 0
  /// 0: none.
  var limit: Int64 = 0
  /// Only keys that were modified at this revision or later; 0: all.
  var modifiedSince: Int64 = 0
  var onlyCount = false
  var onlyKeys = false

  init(_ span: EtcdSpan, revision: Int64 = 0) {
    self.span = span
    self.revision = revision
  }

  var json: JSONValue {
    var members = span.members
    if revision > 0 { members.append(.init("revision", .long(revision))) }
    if limit > 0 { members.append(.init("limit", .long(limit))) }
    if modifiedSince > 0 { members.append(.init("min_mod_revision", .long(modifiedSince))) }
    if onlyCount { members.append(.init("count_only", true)) }
    if onlyKeys { members.append(.init("keys_only", true)) }
    return .etcd(members)
  }
}

/// A transaction: if all comparisons hold, one list of operations is performed, else the other.
struct EtcdTransaction: Hashable {
  var comparisons: [Comparison] = []
  var success: [Operation] = []
  var failure: [Operation] = []

  /// What must be true of the revision at which a key, or each key of a span, was last modified.
  enum Comparison: Hashable {
    /// It is this one; 0: the key does not exist.
    case modified([UInt8], at: Int64)
    /// None of the span's keys was modified at this revision or later.
    case unmodified(EtcdSpan, since: Int64)
  }

  enum Operation: Hashable {
    case range(EtcdRangeRequest)
    /// A key, its value, and the lease with which it ends; 0: it stays.
    case put([UInt8], [UInt8], lease: Int64 = 0)
    case delete([UInt8])
  }

  var json: JSONValue {
    var members: [JSONObject.Member] = []
    if !comparisons.isEmpty {
      members.append(.init("compare", .array(comparisons.map(\.json))))
    }
    if !success.isEmpty { members.append(.init("success", .array(success.map(\.json)))) }
    if !failure.isEmpty { members.append(.init("failure", .array(failure.map(\.json)))) }
    return .etcd(members)
  }
}

extension EtcdTransaction.Comparison {
  var json: JSONValue {
    switch self {
    case .modified(let key, let revision):
      .etcd(
        EtcdSpan(key: key).members + [
          .init("target", "MOD"), .init("result", "EQUAL"), .init("mod_revision", .long(revision)),
        ])
    case .unmodified(let span, let revision):
      .etcd(
        span.members + [
          .init("target", "MOD"), .init("result", "LESS"), .init("mod_revision", .long(revision)),
        ])
    }
  }
}

extension EtcdTransaction.Operation {
  var json: JSONValue {
    switch self {
    case .range(let range): .etcd([.init("request_range", range.json)])
    case .put(let key, let value, let lease):
      .etcd([
        .init(
          "request_put",
          .etcd(
            [.init("key", .base64(key)), .init("value", .base64(value))]
              + (lease == 0 ? [] : [.init("lease", .long(lease))])))
      ])
    case .delete(let key):
      .etcd([.init("request_delete_range", .etcd([.init("key", .base64(key))]))])
    }
  }
}

/// What to do with a lease.
enum EtcdLeaseRequest: Hashable {
  /// etcd chooses its number.
  case grant(seconds: Int64)
  case renew(Int64)
  case revoke(Int64)

  var path: String {
    switch self {
    case .grant: "/v3/lease/grant"
    case .renew: "/v3/lease/keepalive"
    case .revoke: "/v3/lease/revoke"
    }
  }

  var json: JSONValue {
    switch self {
    case .grant(let seconds): .etcd([.init("TTL", .long(seconds))])
    case .renew(let id), .revoke(let id): .etcd([.init("ID", .long(id))])
    }
  }
}

/// A watch to open.
struct EtcdWatchRequest: Hashable {
  var span: EtcdSpan
  var start: Int64

  var json: JSONValue {
    let watch = span.members + [.init("start_revision", .long(start))]
    return .etcd([.init("create_request", .etcd(watch))])
  }
}

extension JSONValue {
  /// An object whose names are known to be different.
  fileprivate static func etcd(_ members: [JSONObject.Member]) -> JSONValue {
    guard let object = JSONObject(members) else { preconditionFailure("a name occurs twice") }
    return .object(object)
  }
}
