public import UpdateMachine

/// The name of an etcd cluster, as it calls itself.
///
/// etcd makes it of the members' addresses and a token. So a member whose disk was wiped, and which
/// begins anew under the old configuration, has the old name, and so may a cluster that was
/// restored from a backup. Hence ``EtcdFinger`` knows more than a name.
public struct EtcdClusterID: Hashable, Sendable {
  /// The number that stands in every answer.
  public var number: UInt64

  /// Creates a name from an answer's number.
  public init(_ number: UInt64) { self.number = number }
}

/// A client's place in the history of a cluster: everything up to a revision is known.
public struct EtcdFinger: Finger, Hashable {
  /// The cluster.
  public var cluster: EtcdClusterID
  /// The revision up to which every change of the prefix was applied. It counts the changes of the
  /// whole cluster, so it grows although nothing happens under the prefix.
  public var revision: Int64
  /// What the client remembers of that history, to recognise another one.
  var marks: EtcdMarks

  init(cluster: EtcdClusterID, revision: Int64, marks: EtcdMarks) {
    self.cluster = cluster
    self.revision = revision
    self.marks = marks
  }

  /// The log that this is a place in: the cluster's history. All clients share it, so none of them
  /// ever releases it.
  public var log: EtcdClusterID { cluster }
}

/// What a client remembers of a cluster's history at its finger.
///
/// A cluster that was restored from a backup has another history from some revision on, under the
/// old name. As soon as it has made more changes than the old one had, no revision tells. So a
/// client compares these marks with the cluster's own history (``EtcdCheck``).
struct EtcdMarks: Hashable, Storable {
  /// The greatest term of an answer. Terms begin anew with a cluster.
  var term: UInt64
  /// How many keys the prefix has at the finger, the library's own included.
  var count: Int64
  /// None of the keys that exist at the finger was modified after this revision.
  var lastModified: Int64
  /// A key that exists at the finger, without the prefix, and the revision at which it was last
  /// modified; `nil`: none is known.
  var key: EtcdKey?
  var keyRevision: Int64

  init(term: UInt64, count: Int64, lastModified: Int64, key: EtcdKey?, keyRevision: Int64) {
    self.term = term
    self.count = count
    self.lastModified = lastModified
    self.key = key
    self.keyRevision = keyRevision
  }

  func put(into bytes: inout ByteWriter) {
    bytes.put(term)
    bytes.put(count)
    bytes.put(lastModified)
    bytes.put(key)
    bytes.put(keyRevision)
  }

  init(from bytes: inout ByteReader) throws(StoredFormError) {
    term = try bytes.takeUInt64()
    count = try bytes.takeInt64()
    lastModified = try bytes.takeInt64()
    key = try bytes.takeOptional()
    keyRevision = try bytes.takeInt64()
    // Sums are made with them.
    guard [count, lastModified, keyRevision].allSatisfy({ (0..<Int64.max).contains($0) }) else {
      throw StoredFormError(expected: "marks of a history")
    }
  }
}

extension EtcdFinger: Storable {
  public func put(into bytes: inout ByteWriter) {
    bytes.put(cluster.number)
    bytes.put(revision)
    bytes.put(marks)
  }

  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    cluster = EtcdClusterID(try bytes.takeUInt64())
    revision = try bytes.takeInt64()
    marks = try bytes.take()
    // Sums are made with it, and etcd counts up from 1.
    guard 0 < revision, revision < .max else { throw StoredFormError(expected: "a revision") }
  }
}

extension EtcdClusterID: CustomStringConvertible {
  /// "cluster 14443903163313418560".
  public var description: String { "cluster \(number)" }
}

extension EtcdFinger: CustomStringConvertible {
  /// "14443903163313418560:41".
  public var description: String { "\(cluster.number):\(revision)" }
}
