// Log: the room of what a client is told of its keys: the place in a cluster's history, snapshots,
// batches, how one follows on the other, and how much of a cluster's history is believed. It does
// no I/O.
//
// Log may use: Wire.

public import UpdateMachine

/// A key below the prefix of a model: any bytes, ordered one by one, as etcd orders them.
///
/// Those that begin with a zero byte are the library's own. No model hears of them, and no change
/// can write them.
public struct EtcdKey: Hashable, Sendable {
  /// The bytes after the prefix; may be empty.
  public var bytes: [UInt8]

  /// Creates a key of any bytes.
  public init(bytes: [UInt8]) { self.bytes = bytes }

  /// Creates the key that is this text in UTF-8.
  public init(_ text: String) { bytes = Array(text.utf8) }

  /// The key as text; `nil`: it is no UTF-8.
  public var text: String? { String(validating: bytes, as: UTF8.self) }

  /// Whether it is the library's own.
  var isReserved: Bool { bytes.first == 0 }

  /// The key under which the cluster keeps what it knows of a client's changes.
  static func record(of client: ClientID) -> EtcdKey {
    let digits = String(client.number, radix: 16)
    let zeros = String(repeating: "0", count: 16 - digits.utf8.count)
    return EtcdKey(bytes: [0] + Array("client/\(zeros)\(digits)".utf8))
  }
}

extension EtcdKey: Comparable {
  public static func < (one: EtcdKey, other: EtcdKey) -> Bool {
    one.bytes.lexicographicallyPrecedes(other.bytes)
  }
}

extension EtcdKey: StorableKey {
  public func put(into bytes: inout ByteWriter) { bytes.put(self.bytes) }

  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    self.bytes = try bytes.takeBytes()
  }

  public var keyBytes: [UInt8] { bytes }

  public init(keyBytes: [UInt8]) throws(StoredFormError) { bytes = keyBytes }
}

extension EtcdKey: ExpressibleByStringLiteral {
  public init(stringLiteral text: String) { self.init(text) }
}

extension EtcdKey: CustomStringConvertible {
  /// The text, or how many bytes it has.
  public var description: String { text ?? "\(bytes.count) bytes" }
}

/// What a key holds.
public struct EtcdEntry: Hashable, Sendable {
  /// The value: any bytes, perhaps none.
  public var value: [UInt8]
  /// The revision of the cluster at which it was written. In a view with pending changes, 0: a
  /// pending change has written it.
  public var revision: Int64

  /// Creates an entry. By default no cluster has it yet.
  public init(_ value: [UInt8], revision: Int64 = 0) {
    self.value = value
    self.revision = revision
  }

  /// The value as text; `nil`: it is no UTF-8.
  public var text: String? { String(validating: value, as: UTF8.self) }
}

extension EtcdEntry: Storable {
  public func put(into bytes: inout ByteWriter) {
    bytes.put(value)
    bytes.put(revision)
  }

  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    value = try bytes.takeBytes()
    revision = try bytes.takeInt64()
  }
}

/// One change of one key in a cluster.
public struct EtcdEvent: Hashable, Sendable {
  /// The key that changed.
  public var key: EtcdKey
  /// What it holds now; `nil`: it was deleted.
  public var value: [UInt8]?
  /// The revision of the cluster that made the change. Of a deletion, it may be a later one.
  public var revision: Int64

  /// Creates the change of a key; `nil` deletes it.
  public init(key: EtcdKey, value: [UInt8]?, revision: Int64) {
    self.key = key
    self.value = value
    self.revision = revision
  }
}

/// All keys of a prefix with their values, as of one revision.
public struct EtcdSnapshot: Sendable {
  /// The keys, without the library's own.
  public var entries: VersionedMap<EtcdKey, EtcdEntry>
  /// The name under which the client makes its changes.
  public var client: ClientID
  /// What the cluster knows of this client's changes; `nil`: nothing.
  var record: EtcdEntry?

  /// Creates a snapshot of entries, for a test of a model.
  public init(entries: VersionedMap<EtcdKey, EtcdEntry>, client: ClientID) {
    self.entries = entries
    self.client = client
  }
}
