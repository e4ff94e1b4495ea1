public import UpdateMachine

/// A transaction over many keys. It sees its own writes; others see them only once it has ended.
///
/// It is a fork of one version of a view, so beginning and abandoning one are O(1).
public struct ViewTransaction<Value: ViewValue>: Sendable {
  @usableFromInline var _view: ViewMap<Value>

  /// Begins a transaction on a version of a view.
  @inlinable
  public init(on view: ViewMap<Value>) { _view = view }

  /// The view with this transaction's writes.
  @inlinable
  public var view: ViewMap<Value> { _view }

  /// The value of a key; `nil`: none. O(log n).
  @inlinable
  public func get(_ key: ViewKey) -> Value? { _view[key] }

  /// Whether the key has a value. O(log n).
  @inlinable
  public func has(_ key: ViewKey) -> Bool { _view.map.contains(key) }

  /// All entries from a key on (included), ascending. It reads the view as it is now, even if
  /// entries are written meanwhile. O(log n) for the first, then O(1) for each.
  @inlinable
  public func scan(from key: ViewKey) -> VersionedMap<ViewKey, Value>.Ascending {
    _view.map.ascending(from: key)
  }

  /// Sets a value. O(log n).
  @inlinable
  public mutating func put(_ key: ViewKey, _ value: Value) { _view.updateValue(value, forKey: key) }

  /// Removes a value, and returns whether there was one. O(log n).
  @inlinable
  @discardableResult
  public mutating func del(_ key: ViewKey) -> Bool { _view.removeValue(forKey: key) != nil }
}

extension ChecksummedMap where Key == ViewKey, Value: ViewValue {
  /// Applies all writes of a transaction; none if it throws.
  @inlinable
  @discardableResult
  public mutating func transact<Result, Failure: Error>(
    _ body: (inout ViewTransaction<Value>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var transaction = ViewTransaction(on: self)
    let result = try body(&transaction)
    self = transaction.view
    return result
  }
}
