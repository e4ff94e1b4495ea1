// State: the room of what an app holds of a prefix: a view that notes what is read of it, the
// models made of it, and the changes that a user makes to it.
//
// State may use: Log, Wire.

import Foundation
public import SyncProtocols
public import UpdateMachine

/// What an app sees of a prefix: the cluster's keys and values, with the user's pending changes.
///
/// A copy costs nothing. Changes read and write it (``EtcdMutation``). While a change is sent, the
/// view notes what the change reads, and the cluster takes the change only if nothing of that has
/// changed meanwhile.
public struct EtcdView: Sendable {
  var map: VersionedMap<EtcdKey, EtcdEntry>
  /// What the cluster knows of this client's changes.
  var record: EtcdEntry?
  /// Notes what is read and written; `nil`: nobody asks.
  var notes: EtcdNotes?

  init(_ map: VersionedMap<EtcdKey, EtcdEntry>, record: EtcdEntry?) {
    self.map = map
    self.record = record
  }

  /// Creates a view of entries, for a test of changes.
  public init(_ entries: VersionedMap<EtcdKey, EtcdEntry> = VersionedMap()) { map = entries }

  /// What a key holds; `nil`: it does not exist. O(log n).
  public subscript(key: EtcdKey) -> EtcdEntry? {
    notes?.noteRead(of: key)
    return map[key]
  }

  /// All keys that begin so, ascending, with what they hold; by default all keys. O(log n + those).
  ///
  /// A change that reads them depends on each of them, and on there being no others. etcd compares
  /// 128 keys in one transaction, unless it is told otherwise. A change that depends on more is set
  /// aside (`RejectionCode.tooLarge`).
  public func entries(under prefix: EtcdKey = "") -> [(key: EtcdKey, entry: EtcdEntry)] {
    notes?.noteRead(under: prefix)
    var found: [(key: EtcdKey, entry: EtcdEntry)] = []
    for (key, entry) in map.ascending(from: prefix) {
      guard key.bytes.starts(with: prefix.bytes) else { break }
      found.append((key: key, entry: entry))
    }
    return found
  }

  /// Writes a value, whatever the key holds. Throws `RESERVED_KEY` for a key of the library's own.
  /// O(log n).
  public mutating func put(_ value: [UInt8], for key: EtcdKey) throws(ChangeRefusal) {
    try write(EtcdEntry(value), for: key)
  }

  /// The same for a text, in UTF-8.
  public mutating func put(_ text: String, for key: EtcdKey) throws(ChangeRefusal) {
    try write(EtcdEntry(Array(text.utf8)), for: key)
  }

  /// Deletes a key, if it exists. Throws `RESERVED_KEY` for a key of the library's own. O(log n).
  public mutating func remove(_ key: EtcdKey) throws(ChangeRefusal) { try write(nil, for: key) }

  private mutating func write(_ entry: EtcdEntry?, for key: EtcdKey) throws(ChangeRefusal) {
    guard !key.isReserved else { throw ChangeRefusal("RESERVED_KEY") }
    notes?.noteWrite(of: key)
    if let entry { map.updateValue(entry, forKey: key) } else { map.removeValue(forKey: key) }
  }
}

/// Equal views have equal entries, as of the same revisions.
extension EtcdView: Equatable {
  public static func == (one: EtcdView, other: EtcdView) -> Bool {
    one.map == other.map && one.record == other.record
  }
}

/// What one run of a change has read and written. All copies of a view share it.
final class EtcdNotes: @unchecked Sendable {
  private let lock = NSLock()
  private var content = Content()

  struct Content: Sendable {
    var keys: Set<EtcdKey> = []
    var prefixes: Set<EtcdKey> = []
    var writes: Set<EtcdKey> = []
  }

  var all: Content { lock.withLock { content } }

  func noteRead(of key: EtcdKey) { _ = lock.withLock { content.keys.insert(key) } }
  func noteRead(under prefix: EtcdKey) { _ = lock.withLock { content.prefixes.insert(prefix) } }
  func noteWrite(of key: EtcdKey) { _ = lock.withLock { content.writes.insert(key) } }
}

/// A change that a user makes to the keys of a prefix. Usually an enum of the app.
///
///     enum Edit: EtcdMutation {
///       case add(String)
///       case rename(EtcdKey, String)
///       …
///       func apply(to view: inout EtcdView) throws(ChangeRefusal) { … }
///     }
///
/// It runs when the user makes it, and again over every newer state while it is pending. What it
/// does in the last of these runs is written to the cluster in one transaction, if nothing that it
/// has read has changed until then. If anything has, it runs anew over the newer state. So it may
/// read, decide and write as if nobody else were there.
///
/// If it throws, it has no effect. Should that happen when it is sent, it is refused, with the
/// error's code.
public protocol EtcdMutation<Value>: Mutation where State == EtcdView, Refusal == ChangeRefusal {}
