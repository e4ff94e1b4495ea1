public import UpdateMachine

// The sizes of views and answers, as bytes of JSON text.

/// The size of a view, kept up to date: the UTF-8 bytes of one compact JSON object with all its
/// keys and values.
@usableFromInline
package struct ViewSize: Hashable, Sendable {
  /// The number of keys.
  @inlinable
  package var count: Int64 { _count }
  @usableFromInline var _count: Int64 = 0
  /// The bytes of all keys and values, with their colons.
  @usableFromInline var entries: Int64 = 0

  /// The size of the empty view.
  @inlinable
  package init() {}

  /// The largest view allowed (Replicache's design, "Constraints"): 20 MB, because each pull
  /// fetches the whole view.
  @inlinable
  package static var byteCountMaximum: Int64 { 20_000_000 }

  /// The size with braces and commas.
  @inlinable
  package var byteCount: Int64 { 2 + entries + max(0, count - 1) }

  /// Updates the size after one key's value was added, removed or replaced.
  @inlinable
  package mutating func change<Value: ViewValue>(
    _ key: ViewKey, from old: Value?, to new: Value?
  ) {
    if let old {
      _count -= 1
      entries -= key.byteCount + 1 + old.byteCount
    }
    if let new {
      _count += 1
      entries += key.byteCount + 1 + new.byteCount
    }
  }
}

extension ViewSize {
  /// The size of a whole view. O(its bytes).
  @inlinable
  package init<Value: ViewValue>(of view: VersionedMap<ViewKey, Value>) {
    self.init()
    for (key, value) in view { change(key, from: nil, to: value) }
  }
}

extension ViewContent {
  /// The bytes that it takes to send. A full view is a JSON object. A delta is a list of `[key,
  /// value]`, and of `[key]` for a removed key. O(its size).
  @inlinable
  package var byteCount: Int64 {
    switch self {
    case .full(let view): ViewSize(of: view).byteCount
    case .delta(_, let changes):
      changes.reduce(Int64(2 + max(0, changes.count - 1))) {
        $0 + 2 + $1.key.byteCount + ($1.value.map { 1 + $0.byteCount } ?? 0)
      }
    }
  }
}
