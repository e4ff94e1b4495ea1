// Stored: the room of saved forms. It turns values into bytes and rows, and back. It imports
// nothing.
//
// Stored may use: VersionedMap.

/// Why a saved form cannot be read. The client starts without it, and it is kept aside.
public enum StoredFormError: Error, Hashable, Sendable {
  /// The form is damaged, cut off, or not ours. `expected` is for the app's log. It never says what
  /// was found, which is the user's.
  case damaged(expected: String)
  /// A later version of the app or the library wrote it.
  case newer(version: UInt64)

  /// Creates a `damaged` error. The text must not contain what was found.
  @inlinable
  package init(expected: String) { self = .damaged(expected: expected) }
}

extension StoredFormError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .damaged(let expected): "the saved form is damaged: expected \(expected)"
    case .newer(let version): "the saved form is of a newer version, \(version)"
    }
  }
}

/// A writer that appends values as bytes. Equal values give equal bytes, on every platform.
public struct ByteWriter: Sendable {
  /// The bytes written so far.
  @inlinable
  package var bytes: [UInt8] { _bytes }
  @usableFromInline var _bytes: [UInt8] = []

  @inlinable
  package init() {}

  /// Appends one byte, as it is.
  @inlinable
  package mutating func put(_ byte: UInt8) { _bytes.append(byte) }

  /// Seven bits a byte, the lowest first (LEB128), so small numbers are short.
  @inlinable
  package mutating func put(_ number: UInt64) {
    var rest = number
    while rest >= 0x80 {
      _bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    _bytes.append(UInt8(truncatingIfNeeded: rest))
  }

  /// Zigzag: the sign is the lowest bit, so numbers near 0 are short.
  @inlinable
  package mutating func put(_ number: Int64) {
    put(UInt64(bitPattern: number << 1) ^ UInt64(bitPattern: number >> 63))
  }

  @inlinable
  package mutating func put(_ flag: Bool) { _bytes.append(flag ? 1 : 0) }

  /// Its length in bytes, then its UTF-8.
  @inlinable
  package mutating func put(_ text: String) {
    put(UInt64(text.utf8.count))
    _bytes.append(contentsOf: text.utf8)
  }

  /// The length, then the bytes.
  @inlinable
  public mutating func put(_ bytes: [UInt8]) {
    put(UInt64(bytes.count))
    _bytes.append(contentsOf: bytes)
  }

  /// Appends the value's own saved form, without a length.
  @inlinable
  public mutating func put<Value: Storable>(_ value: Value) { value.put(into: &self) }

  /// Whether there is a value, then the value.
  @inlinable
  public mutating func put<Value: Storable>(_ value: Value?) {
    put(value != nil)
    if let value { put(value) }
  }

  /// The count, then the values.
  @inlinable
  package mutating func put<Value: Storable>(_ values: [Value]) {
    put(UInt64(values.count))
    for value in values { put(value) }
  }
}

/// A reader that takes values out of bytes, in the order in which they were written. Any bytes end
/// in a value or an error.
public struct ByteReader: Sendable {
  @usableFromInline let bytes: ArraySlice<UInt8>
  @usableFromInline var place: Int

  @inlinable
  package init(_ bytes: [UInt8]) { self.init(bytes[...]) }

  @inlinable
  package init(_ bytes: ArraySlice<UInt8>) {
    self.bytes = bytes
    place = bytes.startIndex
  }

  /// How many bytes are left.
  @inlinable
  package var left: Int { bytes.endIndex - place }

  /// Throws if bytes are left.
  @inlinable
  package func end() throws(StoredFormError) {
    guard left == 0 else { throw StoredFormError(expected: "the end") }
  }

  /// Takes one byte. Throws if none is left.
  @inlinable
  package mutating func takeByte() throws(StoredFormError) -> UInt8 {
    guard left > 0 else { throw StoredFormError(expected: "a byte") }
    defer { place += 1 }
    return bytes[place]
  }

  @inlinable
  package mutating func takeUInt64() throws(StoredFormError) -> UInt64 {
    var number: UInt64 = 0
    var shift: UInt64 = 0
    while true {
      let byte = try takeByte()
      // The tenth byte has one bit left. A last byte of 0 is redundant, unless it is the only one.
      guard shift < 63 || byte <= 1, byte != 0 || shift == 0 else { break }
      number |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return number }
      shift += 7
      guard shift < 70 else { break }
    }
    throw StoredFormError(expected: "a number")
  }

  @inlinable
  package mutating func takeInt64() throws(StoredFormError) -> Int64 {
    let number = try takeUInt64()
    return Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)
  }

  @inlinable
  package mutating func takeBool() throws(StoredFormError) -> Bool {
    switch try takeByte() {
    case 0: return false
    case 1: return true
    default: throw StoredFormError(expected: "yes or no")
    }
  }

  @inlinable
  package mutating func takeString() throws(StoredFormError) -> String {
    let count = try takeCount()
    let utf8 = bytes[place..<place + count]
    place += count
    // Most text is ASCII, which is always well formed, and the check takes many bytes at once.
    var all: UInt8 = 0
    for byte in utf8 { all |= byte }
    if all < 0x80 { return String(decoding: utf8, as: UTF8.self) }
    guard let text = String(validating: utf8, as: UTF8.self) else {
      throw StoredFormError(expected: "text")
    }
    return text
  }

  /// Takes a length and as many bytes. Throws if fewer are left.
  @inlinable
  public mutating func takeBytes() throws(StoredFormError) -> [UInt8] {
    let count = try takeCount()
    defer { place += count }
    return Array(bytes[place..<place + count])
  }

  /// Takes a count. Each item takes at least a byte, so no count demands more memory than there is.
  @inlinable
  package mutating func takeCount() throws(StoredFormError) -> Int {
    let count = try takeUInt64()
    guard count <= UInt64(left) else { throw StoredFormError(expected: "a length") }
    return Int(count)
  }

  /// Takes a value that was put without a length.
  @inlinable
  public mutating func take<Value: Storable>(
    _ type: Value.Type = Value.self
  ) throws(StoredFormError) -> Value {
    try Value(from: &self)
  }

  /// Takes a value that was put as an optional; `nil` if it was `nil`.
  @inlinable
  public mutating func takeOptional<Value: Storable>(
    _ type: Value.Type = Value.self
  ) throws(StoredFormError) -> Value? {
    try takeBool() ? try Value(from: &self) : nil
  }

  /// Takes a count and as many values, in the order in which they were put.
  @inlinable
  package mutating func takeArray<Value: Storable>(
    of type: Value.Type = Value.self
  ) throws(StoredFormError) -> [Value] {
    let count = try takeCount()
    var values: [Value] = []
    values.reserveCapacity(count)
    for _ in 0..<count { values.append(try Value(from: &self)) }
    return values
  }
}
