internal import UpdateMachine

/// A checksum of a row. SQLite notices malformed pages, but not a changed byte inside a value.
/// Protects against damage, not against malice.
enum RowSum {
  static func sum(of key: StoredKey, _ value: [UInt8]) -> Int64 {
    unsafe key.bytes.withUnsafeBytes { bytes in
      unsafe value.withUnsafeBytes { unsafe sum(of: key.table, bytes, $0) }
    }
  }

  /// Returns 32 bits, the same on every machine.
  @unsafe
  static func sum(
    of table: StoredTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) -> Int64 {
    var state = UInt64(table.number)
    unsafe fold(key, into: &state)
    unsafe fold(value, into: &state)
    return Int64(Int32(truncatingIfNeeded: StateDigest.mixed(state) >> 32))
  }

  /// Folds in eight bytes at a time, lowest first, and then the rest with the count.
  @unsafe
  private static func fold(_ bytes: UnsafeRawBufferPointer, into state: inout UInt64) {
    var place = 0
    while place + 8 <= bytes.count {
      let word = unsafe bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
      fold(UInt64(littleEndian: word), into: &state)
      place += 8
    }
    var rest = UInt64(bytes.count) << 56
    while place < bytes.count {
      rest = rest << 8 ^ UInt64(unsafe bytes[place])
      place += 1
    }
    fold(rest, into: &state)
  }

  /// Lets every bit of the word count, by folding the product's high half into its low one.
  private static func fold(_ word: UInt64, into state: inout UInt64) {
    let product = (state ^ word) &* 0x9E37_79B9_7F4A_7C15
    state = product ^ product >> 32
  }
}
