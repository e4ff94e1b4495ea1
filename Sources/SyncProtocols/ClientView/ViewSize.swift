public import UpdateMachine

// How large views and answers are: the bytes of JSON text that carries them.

/// How large a view is, kept while it changes: the UTF-8 bytes of one compact JSON object of its keys
/// and values.
public struct ViewSize: Hashable, Sendable {
  /// How many keys it has.
  @inlinable
  public var count: Int64 { _count }
  @usableFromInline var _count: Int64 = 0
  /// Its keys and values, with the colon between them.
  @usableFromInline var entries: Int64 = 0

  /// Of the empty view.
  @inlinable
  public init() {}

  /// How much a view may be (seed, Constraints): 20 MB, for it is fetched whole for each pull.
  @inlinable
  public static var byteCountMaximum: Int64 { 20_000_000 }

  /// With braces and commas.
  @inlinable
  public var byteCount: Int64 { 2 + entries + max(0, count - 1) }

  /// A value of a key came, went, or took the place of another.
  @inlinable
  public mutating func change<Value: ViewValue>(
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
  /// Of a whole view. O(its bytes).
  @inlinable
  public init<Value: ViewValue>(of view: VersionedMap<ViewKey, Value>) {
    self.init()
    for (key, value) in view { change(key, from: nil, to: value) }
  }
}

extension ViewContent {
  /// What it costs to send: the bytes of a full view as a JSON object; of a delta, as a list of
  /// `[key, value]`, and of `[key]` for what is gone. O(its size).
  @inlinable
  public var byteCount: Int64 {
    switch self {
    case .full(let view): ViewSize(of: view).byteCount
    case .delta(_, let changes):
      changes.reduce(Int64(2 + max(0, changes.count - 1))) {
        $0 + 2 + $1.key.byteCount + ($1.value.map { 1 + $0.byteCount } ?? 0)
      }
    }
  }
}
