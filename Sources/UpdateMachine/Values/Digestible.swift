/// What can be taken into a ``Digest``.
///
/// Values that are equal fold alike, except text, which folds as its bytes (see ``ChecksummedMap``).
/// Values of one type that are not equal fold different words, and none folds just the beginning of
/// what another folds: so what has no fixed length folds its count, too.
public protocol Digestible {
  func fold(into digest: inout Digest)
}

extension Int64: Digestible {
  @inlinable
  public func fold(into digest: inout Digest) { digest.fold(self) }
}

extension UInt64: Digestible {
  @inlinable
  public func fold(into digest: inout Digest) { digest.fold(self) }
}

extension Int: Digestible {
  /// As an `Int64`, whatever its width.
  @inlinable
  public func fold(into digest: inout Digest) { digest.fold(Int64(self)) }
}

extension Int32: Digestible {
  @inlinable
  public func fold(into digest: inout Digest) { digest.fold(Int64(self)) }
}

extension UInt32: Digestible {
  @inlinable
  public func fold(into digest: inout Digest) { digest.fold(UInt64(self)) }
}

extension UInt8: Digestible {
  @inlinable
  public func fold(into digest: inout Digest) { digest.fold(UInt64(self)) }
}

extension Bool: Digestible {
  @inlinable
  public func fold(into digest: inout Digest) { digest.fold(self ? 1 : 0 as UInt64) }
}

extension String: Digestible {
  /// Its bytes in UTF-8, their count before them.
  @inlinable
  public func fold(into digest: inout Digest) {
    digest.fold(UInt64(utf8.count))
    digest.fold(self)
  }
}

extension Optional: Digestible where Wrapped: Digestible {
  @inlinable
  public func fold(into digest: inout Digest) {
    digest.fold(self == nil ? 0 : 1 as UInt64)
    self?.fold(into: &digest)
  }
}

extension Array: Digestible where Element: Digestible {
  /// Its count, and its elements in order.
  @inlinable
  public func fold(into digest: inout Digest) {
    digest.fold(UInt64(count))
    for element in self { element.fold(into: &digest) }
  }
}

extension Moment: Digestible {
  @inlinable
  public func fold(into digest: inout Digest) { digest.fold(milliseconds) }
}

extension TimeSpan: Digestible {
  @inlinable
  public func fold(into digest: inout Digest) { digest.fold(milliseconds) }
}

extension Digest: Digestible {
  @inlinable
  public func fold(into digest: inout Digest) { digest.fold(value) }
}
