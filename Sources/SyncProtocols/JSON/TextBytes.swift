// Compares and orders texts by their UTF-8 bytes. Key lookups and value comparisons do this
// constantly, so it reads a word at a time.

extension String {
  /// Whether two texts have the same UTF-8 bytes. O(1) if both share their storage.
  @inlinable
  func isSame(as other: String) -> Bool {
    utf8.count == other.utf8.count && order(of: other) { $0 == $1 }
  }

  /// Whether its UTF-8 bytes come before the other's.
  @inlinable
  func precedes(_ other: String) -> Bool { order(of: other) { $0 < $1 } }

  /// Returns `holds` for the first words that differ, with the first byte most significant. If one
  /// text is a prefix of the other, returns `holds` for both lengths.
  @inlinable
  func order(of other: String, _ holds: (UInt64, UInt64) -> Bool) -> Bool {
    var (one, other) = (self, other)
    return one.withUTF8 { one in
      other.withUTF8 { other in
        let common = min(one.count, other.count)
        if unsafe one.baseAddress == other.baseAddress {
          return holds(UInt64(one.count), UInt64(other.count))
        }
        let oneBytes = UnsafeRawBufferPointer(one)
        let otherBytes = UnsafeRawBufferPointer(other)
        var index = 0
        while index + 8 <= common {
          let word = unsafe oneBytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
          let otherWord = unsafe otherBytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
          if word != otherWord {
            return holds(UInt64(bigEndian: word), UInt64(bigEndian: otherWord))
          }
          index += 8
        }
        while index < common {
          let (byte, otherByte) = unsafe (one[index], other[index])
          if byte != otherByte { return holds(UInt64(byte), UInt64(otherByte)) }
          index += 1
        }
        return holds(UInt64(one.count), UInt64(other.count))
      }
    }
  }
}
