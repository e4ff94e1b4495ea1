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

  /// The bytes that are left.
  @inlinable
  package var rest: [UInt8] { Array(bytes[place...]) }

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
