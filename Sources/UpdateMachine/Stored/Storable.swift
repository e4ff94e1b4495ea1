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

extension UInt64: Storable {
  @inlinable
  public func put(into bytes: inout ByteWriter) { bytes.put(self) }

  @inlinable
  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    self = try bytes.takeUInt64()
  }
}

extension UInt64: StorableKey {
  /// Eight bytes, the highest first.
  @inlinable
  public var keyBytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(8)
    var shift: UInt64 = 64
    while shift > 0 {
      shift -= 8
      bytes.append(UInt8(truncatingIfNeeded: self >> shift))
    }
    return bytes
  }

  @inlinable
  public init(keyBytes: [UInt8]) throws(StoredFormError) {
    guard keyBytes.count == 8 else { throw StoredFormError(expected: "a key of 8 bytes") }
    var number: UInt64 = 0
    for byte in keyBytes { number = number << 8 | UInt64(byte) }
    self = number
  }
}

extension Int64: Storable {
  @inlinable
  public func put(into bytes: inout ByteWriter) { bytes.put(self) }

  @inlinable
  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    self = try bytes.takeInt64()
  }
}

extension Int64: StorableKey {
  /// Eight bytes, the highest first, with the sign bit flipped: negative numbers come first.
  @inlinable
  public var keyBytes: [UInt8] { (UInt64(bitPattern: self) ^ 1 << 63).keyBytes }

  @inlinable
  public init(keyBytes: [UInt8]) throws(StoredFormError) {
    self = Int64(bitPattern: try UInt64(keyBytes: keyBytes) ^ 1 << 63)
  }
}

extension Int: Storable {
  @inlinable
  public func put(into bytes: inout ByteWriter) { bytes.put(Int64(self)) }

  /// Throws if the number does not fit: `Int` may have 32 bits here, and more where it was written.
  @inlinable
  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    guard let number = Int(exactly: try bytes.takeInt64()) else {
      throw StoredFormError(expected: "a smaller number")
    }
    self = number
  }
}

extension UInt32: Storable {
  @inlinable
  public func put(into bytes: inout ByteWriter) { bytes.put(UInt64(self)) }

  @inlinable
  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    guard let number = UInt32(exactly: try bytes.takeUInt64()) else {
      throw StoredFormError(expected: "a number of 32 bits")
    }
    self = number
  }
}

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
