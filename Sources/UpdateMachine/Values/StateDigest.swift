/// A 64-bit hash that is the same in every process, on every platform, in debug and release. The
/// standard library's `Hasher` is not: it is seeded anew in every process.
///
/// Not for secrets. The mixing step is the finaliser of SplitMix64 (Steele, Lea and Flood, "Fast
/// splittable pseudorandom number generators", 2014).
public struct StateDigest: Hashable, Sendable {
  @usableFromInline package var value: UInt64

  @inlinable
  package init() { self.init(value: 0x9E37_79B9_7F4A_7C15) }

  @inlinable
  package init(value: UInt64) { self.value = value }

  /// Adds one word. Order matters.
  @inlinable
  public mutating func fold(_ word: UInt64) {
    value = StateDigest.mixed(value &+ 0x9E37_79B9_7F4A_7C15 ^ word)
  }

  /// Adds one word, by its bit pattern. Order matters.
  @inlinable
  package mutating func fold(_ word: Int64) { fold(UInt64(bitPattern: word)) }

  /// Adds a text's UTF-8 bytes and their count. Each word has eight bytes, the first byte highest;
  /// one more word has the bytes that are left. Texts may be long, so a word is read at a time.
  @inlinable
  public mutating func fold(_ text: String) {
    var text = text
    text.withUTF8 { bytes in
      let words = bytes.count / 8
      for index in 0..<words {
        let word = unsafe UnsafeRawBufferPointer(bytes)
          .loadUnaligned(fromByteOffset: index * 8, as: UInt64.self)
        fold(UInt64(bigEndian: word))
      }
      var rest: UInt64 = 0
      for index in words * 8..<bytes.count { rest = unsafe rest << 8 | UInt64(bytes[index]) }
      fold(rest)
      fold(UInt64(bytes.count))
    }
  }

  /// A bijection on 64-bit words. Every bit of the result depends on every bit of the word.
  @inlinable
  package static func mixed(_ word: UInt64) -> UInt64 {
    var mixed = word
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

extension StateDigest: CustomStringConvertible {
  /// Sixteen hexadecimal digits.
  public var description: String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }
}
