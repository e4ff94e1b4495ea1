/// A 64-bit hash of our own: the same in every process, on every platform, in debug and release,
/// which the standard library's `Hasher` is not (it is seeded anew in every process).
///
/// Not for secrets. The mixing step is the finaliser of SplitMix64 (Steele, Lea and Flood, "Fast
/// splittable pseudorandom number generators", 2014).
public struct Digest: Hashable, Sendable {
  public var value: UInt64

  @inlinable
  public init() { self.init(value: 0x9E37_79B9_7F4A_7C15) }

  @inlinable
  public init(value: UInt64) { self.value = value }

  /// Takes one more word in. Order matters.
  @inlinable
  public mutating func fold(_ word: UInt64) {
    value = Digest.mixed(value &+ 0x9E37_79B9_7F4A_7C15 ^ word)
  }

  @inlinable
  public mutating func fold(_ word: Int64) { fold(UInt64(bitPattern: word)) }

  /// Takes the UTF-8 bytes of a text in, and its length.
  @inlinable
  public mutating func fold(_ text: String) {
    var word: UInt64 = 0
    var count: UInt64 = 0
    for byte in text.utf8 {
      word = word << 8 | UInt64(byte)
      count += 1
      if count % 8 == 0 {
        fold(word)
        word = 0
      }
    }
    fold(word)
    fold(count)
  }

  /// A bijection on 64-bit words in which every bit of the result hangs on every bit of the word.
  @inlinable
  public static func mixed(_ word: UInt64) -> UInt64 {
    var mixed = word
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

extension Digest: CustomStringConvertible {
  /// Sixteen hexadecimal digits.
  public var description: String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }
}
