/// The beginning of every answer: who says it, and as of which revision.
struct EtcdHeader: Hashable {
  var cluster: UInt64
  var revision: Int64
  /// The term of the member's consensus. It grows with each election, and never goes back.
  var term: UInt64

  init(cluster: UInt64, revision: Int64, term: UInt64) {
    self.cluster = cluster
    self.revision = revision
    self.term = term
  }

  init(_ fields: EtcdFields) throws(EtcdWireError) {
    cluster = try fields.uint64("cluster_id")
    revision = try fields.int64("revision")
    term = try fields.uint64("raft_term")
    // Sums are made with it, and etcd counts up from 1.
    guard cluster != 0, revision >= 0, revision < .max else { throw EtcdWireError(field: "header") }
  }
}

/// A key with its value. A deleted one has only a key, and the revision of its deletion.
struct EtcdKeyValue: Hashable {
  var key: [UInt8]
  var value: [UInt8]
  var created: Int64
  var modified: Int64
  /// The lease with which it ends; 0: none.
  var lease: Int64

  init(
    key: [UInt8], value: [UInt8] = [], created: Int64 = 0, modified: Int64, lease: Int64 = 0
  ) {
    self.key = key
    self.value = value
    self.created = created
    self.modified = modified
    self.lease = lease
  }

  init(_ fields: EtcdFields) throws(EtcdWireError) {
    key = try fields.bytes("key")
    value = try fields.bytes("value")
    created = try fields.int64("create_revision")
    modified = try fields.int64("mod_revision")
    lease = try fields.int64("lease")
    guard !key.isEmpty, 0 <= created, created <= modified, 0 < modified, modified < .max else {
      throw EtcdWireError(field: "kvs")
    }
  }
}

/// The answer to a range.
struct EtcdRange: Hashable {
  /// Ascending by key, if it was asked for without another order.
  var pairs: [EtcdKeyValue]
  /// Whether the range has more keys than a limit let through.
  var hasMore: Bool
  /// How many keys the range has, whatever was left out.
  var count: Int64

  init(_ fields: EtcdFields) throws(EtcdWireError) {
    pairs = []
    for pair in try fields.list("kvs") { pairs.append(try EtcdKeyValue(pair)) }
    hasMore = try fields.bool("more")
    count = try fields.int64("count")
    guard count >= 0, count < .max else { throw EtcdWireError(field: "count") }
  }
}

/// The answer to a range that is asked for alone.
struct EtcdRangeAnswer: Hashable {
  var header: EtcdHeader
  var range: EtcdRange

  init(_ fields: EtcdFields) throws(EtcdWireError) {
    header = try EtcdHeader(try fields.fields("header"))
    range = try EtcdRange(fields)
  }
}

/// The answer to a transaction.
struct EtcdTransactionAnswer: Hashable {
  var header: EtcdHeader
  /// Whether all comparisons held.
  var succeeded: Bool
  /// The answers to the ranges of the branch that was taken, in their order; `nil` in the place of
  /// a put or a deletion.
  var ranges: [EtcdRange?]

  init(_ fields: EtcdFields) throws(EtcdWireError) {
    header = try EtcdHeader(try fields.fields("header"))
    succeeded = try fields.bool("succeeded")
    ranges = []
    for response in try fields.list("responses") {
      let isRange = response.has("response_range")
      ranges.append(isRange ? try EtcdRange(try response.fields("response_range")) : nil)
    }
  }

  /// Returns the answer to the range at an index. Throws if there is none.
  func range(_ index: Int) throws(EtcdWireError) -> EtcdRange {
    guard ranges.indices.contains(index), let range = ranges[index] else {
      throw EtcdWireError(field: "responses")
    }
    return range
  }
}

/// The answer about a lease that was granted or renewed.
struct EtcdLease: Hashable {
  /// From the member itself, whose revision may lag.
  var header: EtcdHeader
  var id: Int64
  /// In seconds; 0: there is no such lease.
  var timeToLive: Int64

  init(header: EtcdHeader, id: Int64, timeToLive: Int64) {
    self.header = header
    self.id = id
    self.timeToLive = timeToLive
  }

  private init(_ fields: EtcdFields) throws(EtcdWireError) {
    header = try EtcdHeader(try fields.fields("header"))
    id = try fields.int64("ID")
    timeToLive = try fields.int64("TTL")
    guard id != 0 else { throw EtcdWireError(field: "ID") }
  }

  init(granted fields: EtcdFields) throws(EtcdWireError) {
    try self.init(fields)
    guard timeToLive > 0 else { throw EtcdWireError(field: "TTL") }
  }

  /// An answer to a renewal is a message of a stream, though of one that ends at once.
  init(renewed fields: EtcdFields) throws(EtcdWireError) {
    try self.init(try fields.fields("result"))
  }
}

/// One message of a watch. Messages come one a line.
enum EtcdWatchMessage: Hashable {
  /// The watch was made. The revision is how far the member is, which may lag.
  case created(EtcdHeader)
  /// Whole revisions, ascending. The header's revision may lie beyond the last of them, though
  /// more is to come below it.
  case events(EtcdHeader, [Event])
  /// Everything up to the header's revision was sent.
  case progress(EtcdHeader)
  /// The watch is over, and will say nothing more.
  case canceled(EtcdRefusal)

  /// One change of one key.
  struct Event: Hashable {
    var isDeletion: Bool
    var pair: EtcdKeyValue
  }

  /// Reads one line.
  init(line: some Collection<UInt8>) throws(EtcdWireError) {
    let fields = try EtcdFields(body: line)
    guard !fields.has("error") else {
      self = .canceled(try EtcdRefusal(fields))
      return
    }
    let result = try fields.fields("result")
    let header = try EtcdHeader(try result.fields("header"))
    guard try !result.bool("canceled") else {
      let compacted = try result.int64("compact_revision")
      let reason = try result.text("cancel_reason")
      self = .canceled(compacted > 0 ? .compacted : EtcdRefusal(cancelReason: reason))
      return
    }
    guard try !result.bool("created") else {
      self = .created(header)
      return
    }
    var events: [Event] = []
    for event in try result.list("events") { events.append(try Event(event)) }
    self = events.isEmpty ? .progress(header) : .events(header, events)
  }
}

extension EtcdWatchMessage.Event {
  init(_ fields: EtcdFields) throws(EtcdWireError) {
    switch try fields.text("type") {
    case "", "PUT": isDeletion = false
    case "DELETE": isDeletion = true
    default: throw EtcdWireError(field: "type")
    }
    pair = try EtcdKeyValue(try fields.fields("kv"))
  }
}
