// Texts as the bytes that they are in UTF-8. Keys are looked up and values compared by these all the
// time, so they are read a word at a time.

extension String {
  /// Whether two texts are the same bytes in UTF-8. O(1) if they are one text in one place.
  @inlinable
  func isSame(as other: String) -> Bool {
    utf8.count == other.utf8.count && order(of: other) { $0 == $1 }
  }

  /// Whether its bytes in UTF-8 come before the other's.
  @inlinable
  func precedes(_ other: String) -> Bool { order(of: other) { $0 < $1 } }

  /// What `holds` says of the first words that differ, the first byte of each the highest; of both
  /// lengths, if one text is the beginning of the other.
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
