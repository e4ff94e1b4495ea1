import Foundation

/// Tells two builds of this program apart.
enum Build {
  /// What stands for the hash of an executable that cannot be read. Nothing equals it.
  static let unknown = "unknown"

  /// A hash of the executable, 16 hexadecimal digits, or ``unknown``. It finds mistakes, not
  /// attacks.
  static let hash: String = {
    guard let file = Bundle.main.executableURL,
      let data = try? Data(contentsOf: file, options: .alwaysMapped)
    else { return unknown }
    let digits = String(hash(of: data), radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }()

  static func hash(of data: Data) -> UInt64 {
    var hash = UInt64(data.count)
    func add(_ word: UInt64) {
      hash = (hash ^ word) &* 0x9E37_79B9_7F4A_7C15
      hash ^= hash >> 32
    }
    unsafe data.withUnsafeBytes { bytes in
      let whole = bytes.count & ~7
      var place = 0
      while place < whole {
        // All bytes from `place` to `place + 7` are there, because `place` is below `whole`.
        add(unsafe bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self).littleEndian)
        place += 8
      }
      while place < bytes.count {
        add(UInt64(unsafe bytes[place]))
        place += 1
      }
    }
    return hash
  }
}
