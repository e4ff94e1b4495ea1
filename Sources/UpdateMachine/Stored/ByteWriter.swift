/// A writer that appends values as bytes. Equal values give equal bytes, on every platform.
public struct ByteWriter: Sendable {
  /// The bytes written so far.
  @inlinable
  package var bytes: [UInt8] { _bytes }
  @usableFromInline var _bytes: [UInt8] = []
  /// Why a value could not be written; `nil`: all were. The bytes are of no use then.
  @usableFromInline package private(set) var failure: StoredFormError?

  @inlinable
  package init() {}

  /// Notes the first failure.
  @usableFromInline
  package mutating func note(_ failure: StoredFormError?) {
    self.failure = self.failure ?? failure
  }

  /// Forgets what was written, and keeps the room for it.
  @usableFromInline
  mutating func clear() {
    _bytes.removeAll(keepingCapacity: true)
    failure = nil
  }

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
