public import UpdateMachine

/// A value of a client view. Client half and diff server compare, digest and measure values, and
/// never read them. So a value may be ``JSONValue``, or encrypted with a key that the diff server
/// does not have (Replicache's design, "Encryption").
///
/// Values must be equal exactly if their bytes are equal, because the checksum relies on it.
/// Encrypt a value once, when it is written. If the data layer encrypted anew for each pull, every
/// value would look changed.
public protocol ViewValue: Equatable, Digestible, Sendable {
  /// The length in bytes, as compact JSON text.
  var byteCount: Int64 { get }
}

/// A key of a client view: a text that is compared and ordered by its UTF-8 bytes, as servers in
/// other languages do. Swift's `String` treats two spellings of a letter as equal.
public struct ViewKey: Sendable {
  /// The key as text; compared by its UTF-8 bytes.
  public var text: String

  /// Creates a key from any text.
  @inlinable
  public init(_ text: String) { self.text = text }
}

/// Any version of a client's view. Copies are O(1), and each has a checksum.
public typealias ViewMap<Value: ViewValue> = ChecksummedMap<ViewKey, Value>

extension ViewKey: Hashable, Comparable {
  @inlinable
  public static func == (one: ViewKey, other: ViewKey) -> Bool { one.text.isSame(as: other.text) }

  @inlinable
  public static func < (one: ViewKey, other: ViewKey) -> Bool {
    one.text.precedes(other.text)
  }
}

extension ViewKey: Digestible {
  @inlinable
  public func fold(into digest: inout StateDigest) { text.fold(into: &digest) }
}

extension ViewKey: ExpressibleByStringLiteral {
  @inlinable
  public init(stringLiteral text: String) { self.text = text }
}

extension ViewKey: CustomStringConvertible {
  public var description: String { text }
}

extension ViewKey {
  /// The length in bytes, as JSON text.
  @inlinable
  package var byteCount: Int64 { JSONValue.byteCount(ofText: text) }
}

extension JSONValue: ViewValue {}
