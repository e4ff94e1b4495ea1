/// A value that can be added to a ``StateDigest``.
///
/// Equal values fold alike, except text, which folds its bytes (see ``ChecksummedMap``). Unequal
/// values of one type fold different words, and no value folds a mere prefix of another's words. So
/// values of variable length also fold their count.
public protocol Digestible {
  /// Adds this value to a digest.
  func fold(into digest: inout StateDigest)
}

extension Int64: Digestible {
  @inlinable
  public func fold(into digest: inout StateDigest) { digest.fold(self) }
}

extension UInt64: Digestible {
  @inlinable
  public func fold(into digest: inout StateDigest) { digest.fold(self) }
}

extension Int: Digestible {
  /// Folds as an `Int64`, whatever its width.
  @inlinable
  public func fold(into digest: inout StateDigest) { digest.fold(Int64(self)) }
}

extension UInt8: Digestible {
  @inlinable
  public func fold(into digest: inout StateDigest) { digest.fold(UInt64(self)) }
}

extension Bool: Digestible {
  @inlinable
  public func fold(into digest: inout StateDigest) { digest.fold(self ? 1 : 0 as UInt64) }
}

extension String: Digestible {
  /// Folds the count of its UTF-8 bytes, then the bytes.
  @inlinable
  public func fold(into digest: inout StateDigest) {
    digest.fold(UInt64(utf8.count))
    digest.fold(self)
  }
}

extension Optional: Digestible where Wrapped: Digestible {
  @inlinable
  public func fold(into digest: inout StateDigest) {
    digest.fold(self == nil ? 0 : 1 as UInt64)
    self?.fold(into: &digest)
  }
}

extension Array: Digestible where Element: Digestible {
  /// Folds its count, then its elements in order.
  @inlinable
  public func fold(into digest: inout StateDigest) {
    digest.fold(UInt64(count))
    for element in self { element.fold(into: &digest) }
  }
}
