// Stored: the room of saved forms. It turns values into bytes and rows, and back. It imports
// nothing.
//
// Stored may use: VersionedMap.

/// A value with a saved form in bytes. Equal values give equal bytes, and each takes at least one.
///
/// Bytes that no value wrote give an error or another value, never a trap. The version of the whole
/// form tells what a later version of the app writes differently (``StorableModel``).
public protocol Storable: Sendable {
  /// Appends the value's saved form, at least one byte.
  func put(into bytes: inout ByteWriter)

  /// Takes a value out of the bytes, and leaves what follows it. Throws if there is none.
  init(from bytes: inout ByteReader) throws(StoredFormError)
}

extension Storable {
  /// The value's saved form.
  @inlinable
  public var storedBytes: [UInt8] {
    var writer = ByteWriter()
    put(into: &writer)
    return writer.bytes
  }

  /// Creates the value whose saved form is exactly this.
  @inlinable
  public init(storedBytes: [UInt8]) throws(StoredFormError) {
    var reader = ByteReader(storedBytes)
    self = try Self(from: &reader)
    try reader.end()
  }
}

/// A value that identifies a row. Its bytes sort as the values do.
public protocol StorableKey: Storable, Comparable {
  /// Bytes that sort, one by one, in the order of the keys.
  var keyBytes: [UInt8] { get }

  /// Creates the value from `keyBytes`. Throws if no value has these bytes.
  init(keyBytes: [UInt8]) throws(StoredFormError)
}

/// The saved form of a type without values.
extension Never: Storable {
  public func put(into bytes: inout ByteWriter) { switch self {} }

  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    throw StoredFormError(expected: "nothing")
  }
}

#if hasFeature(Embedded)
  /// An integer with a saved form.
  public typealias StorableInteger = FixedWidthInteger
#else
  /// An integer with a saved form. It is `Codable`, too, but its saved form is no JSON.
  public typealias StorableInteger = FixedWidthInteger & Codable
#endif

/// Integers of up to 64 bits: small ones are short.
extension Storable where Self: StorableInteger {
  /// Appends the number, with or without a sign as its type has one.
  @inlinable
  public func put(into bytes: inout ByteWriter) {
    if Self.isSigned { bytes.put(Int64(self)) } else { bytes.put(UInt64(self)) }
  }

  /// Throws if the number does not fit: `Int` may have 32 bits here, and more where it was written.
  @inlinable
  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    let number =
      Self.isSigned ? Self(exactly: try bytes.takeInt64()) : Self(exactly: try bytes.takeUInt64())
    guard let number else { throw StoredFormError(expected: "a smaller number") }
    self = number
  }
}

extension StorableKey where Self: FixedWidthInteger {
  /// All its bytes, the highest first. If it has a sign, that bit is flipped, so that negative
  /// numbers come first.
  @inlinable
  public var keyBytes: [UInt8] {
    var bytes: [UInt8] = []
    putKey(into: &bytes)
    return bytes
  }

  /// Appends the key's bytes.
  @inlinable
  package func putKey(into bytes: inout [UInt8]) {
    let number = (Self.isSigned ? self ^ Self.min : self).bigEndian
    unsafe withUnsafeBytes(of: number) { unsafe bytes.append(contentsOf: $0) }
  }

  @inlinable
  public init(keyBytes: [UInt8]) throws(StoredFormError) {
    guard keyBytes.count == Self.bitWidth / 8 else {
      throw StoredFormError(expected: "a key of \(Self.bitWidth / 8) bytes")
    }
    var number: Self = 0
    for byte in keyBytes { number = number << 8 | Self(truncatingIfNeeded: byte) }
    self = Self.isSigned ? number ^ Self.min : number
  }
}

extension UInt64: StorableKey {}
extension Int64: StorableKey {}
extension Int: Storable {}
extension UInt32: Storable {}

extension Bool: Storable {
  @inlinable
  public func put(into bytes: inout ByteWriter) { bytes.put(self) }

  @inlinable
  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    self = try bytes.takeBool()
  }
}

extension String: Storable {
  @inlinable
  public func put(into bytes: inout ByteWriter) { bytes.put(self) }

  @inlinable
  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    self = try bytes.takeString()
  }
}

extension Array: Storable where Element: Storable {
  @inlinable
  public func put(into bytes: inout ByteWriter) { bytes.put(self) }

  @inlinable
  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    self = try bytes.takeArray()
  }
}
