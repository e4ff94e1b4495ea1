/// A value with a saved form in bytes: equal values give equal bytes, and each takes one at least.
///
/// Bytes that no value wrote give an error, or another value; never a trap. What a later version of the
/// app may write otherwise is told by the version of the whole form (``StorableModel``).
public protocol Storable: Sendable {
  func put(into bytes: inout ByteWriter)

  init(from bytes: inout ByteReader) throws(StoredFormError)
}

extension Storable {
  /// Its saved form.
  @inlinable
  public var storedBytes: [UInt8] {
    var writer = ByteWriter()
    put(into: &writer)
    return writer.bytes
  }

  /// The value whose saved form is exactly this.
  @inlinable
  public init(storedBytes: [UInt8]) throws(StoredFormError) {
    var reader = ByteReader(storedBytes)
    self = try Self(from: &reader)
    try reader.end()
  }
}

/// A value that names a row: its bytes stand in the order of the values.
public protocol StorableKey: Storable, Comparable {
  /// In the order of the keys, byte by byte.
  var keyBytes: [UInt8] { get }

  init(keyBytes: [UInt8]) throws(StoredFormError)
}

/// The saved form of what there is never one of.
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
  /// Eight, the highest first.
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
  /// Eight, the highest first, with the sign turned: negative ones come first.
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

  /// Where `Int` has 32 bits, what was written where it has more may be too much.
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

extension TimeSpan: Storable {
  @inlinable
  public func put(into bytes: inout ByteWriter) { bytes.put(milliseconds) }

  @inlinable
  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    self = .milliseconds(try bytes.takeInt64())
  }
}
