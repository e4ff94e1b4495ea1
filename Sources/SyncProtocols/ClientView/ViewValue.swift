public import UpdateMachine

/// A value of a client view. Neither client half nor diff server looks into one: they compare, digest
/// and measure it. So it may be ``JSON``, or something sealed with a key that the diff server has not
/// (seed, Encryption).
///
/// Values are equal if and only if they are the same bytes; that is what the checksum stands on. If
/// they are encrypted, then once, when they are written: a data layer that seals anew for each pull
/// makes every value a change.
public protocol ViewValue: Equatable, Digestible, Sendable {
  /// How many bytes it is, written as compact JSON text.
  var byteCount: Int64 { get }
}

/// A key of a client view: a text, told from others and ordered by its bytes in UTF-8, as servers in
/// other languages do. Swift's `String` takes two spellings of a letter for one.
public struct ViewKey: Sendable {
  public var text: String

  @inlinable
  public init(_ text: String) { self.text = text }
}

/// What a client holds of its view, and what every version of it is: a copy costs nothing, and has a
/// checksum.
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
  public func fold(into digest: inout Digest) { text.fold(into: &digest) }
}

extension ViewKey: ExpressibleByStringLiteral {
  @inlinable
  public init(stringLiteral text: String) { self.text = text }
}

extension ViewKey: CustomStringConvertible {
  public var description: String { text }
}

extension ViewKey {
  /// How many bytes it is, written as JSON text.
  @inlinable
  public var byteCount: Int64 { JSON.byteCount(ofText: text) }
}

extension JSON: ViewValue {}
