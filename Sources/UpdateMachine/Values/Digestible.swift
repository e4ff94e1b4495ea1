/// A value that can be added to a ``StateDigest``.
///
/// Equal values fold alike, except text, which folds its bytes (see ``ChecksummedMap``). Unequal
/// values of one type fold different words, and no value folds a mere prefix of another's words. So
/// values of variable length also fold their count.
public protocol Digestible {
  /// Adds this value to a digest.
  func fold(into digest: inout StateDigest)
}

/// Integers of up to 64 bits fold as one word, the same one whatever their width.
extension Digestible where Self: FixedWidthInteger {
  @inlinable
  public func fold(into digest: inout StateDigest) {
    digest.fold(UInt64(truncatingIfNeeded: self))
  }
}

extension Int64: Digestible {}
extension UInt64: Digestible {}
extension Int: Digestible {}
extension UInt8: Digestible {}

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
