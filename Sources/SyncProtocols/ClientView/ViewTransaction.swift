public import UpdateMachine

/// Reads and writes many keys as one. It sees its own writes; nobody else does until it is over.
///
/// It is a fork of one version of a view, so to begin one costs nothing, and to give it up neither.
public struct ViewTransaction<Value: ViewValue>: Sendable {
  @usableFromInline var _view: ViewMap<Value>

  /// On a version of a view.
  @inlinable
  public init(on view: ViewMap<Value>) { _view = view }

  /// What its writes have made of the view.
  @inlinable
  public var view: ViewMap<Value> { _view }

  /// The value of a key; `nil`: there is none. O(log n).
  @inlinable
  public func get(_ key: ViewKey) -> Value? { _view[key] }

  /// Whether there is a value. O(log n).
  @inlinable
  public func has(_ key: ViewKey) -> Bool { _view.map.contains(key) }

  /// All entries from a key on, its own included, ascending; of the view as it is now, whatever is
  /// written while they are read. O(log n) for the first, then O(1) for each.
  @inlinable
  public func scan(from key: ViewKey) -> VersionedMap<ViewKey, Value>.Ascending {
    _view.map.ascending(from: key)
  }

  /// O(log n).
  @inlinable
  public mutating func put(_ key: ViewKey, _ value: Value) { _view.updateValue(value, forKey: key) }

  /// Removes a value; says whether there was one. O(log n).
  @inlinable
  @discardableResult
  public mutating func del(_ key: ViewKey) -> Bool { _view.removeValue(forKey: key) != nil }
}

extension ChecksummedMap where Key == ViewKey, Value: ViewValue {
  /// Makes what a transaction writes, all of it; nothing if it throws.
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
