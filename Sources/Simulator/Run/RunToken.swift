/// The text that repeats one run: its configuration, and every choice that was not 0.
///
/// Only letters, digits, `-` and `_` (base64url of variable-length numbers), so that it can be
/// pasted anywhere. A token of another version of the simulator may lead to another run; it is
/// never misread.
public struct RunToken: Sendable {
  /// The settings of the run; the seed is ignored.
  package var configuration: SimulationConfiguration
  /// The choices.
  package var choices: ChoiceLists

  /// Why a text is not a token.
  public enum Malformed: Error, Hashable, Sendable {
    /// It has a character that no token has, or too few characters.
    case notAToken
    /// It was made by a version with another format.
    case otherVersion(UInt64)
  }

  private static let version: UInt64 = 4
  private static var plants: [Plant] { Plant.known }

  package init(_ configuration: SimulationConfiguration, _ choices: ChoiceLists) {
    self.configuration = configuration
    self.choices = choices
  }

  /// Reads a token's text. Never traps, whatever the text is.
  package init(_ text: String) throws(Malformed) {
    var reader = WordReader(try Base64.decoded(text))
    guard try reader.next() == RunToken.version else {
      throw .otherVersion(reader.last)
    }
    configuration = SimulationConfiguration(seed: 0)
    configuration.clients = Int(try reader.next(below: 1001))
    configuration.steps = Int64(try reader.next(below: 1_000_001))
    configuration.faults = FaultSet(bits: try reader.next())
    let ways = try reader.next(below: 4)
    configuration.isSwarm = ways & 1 != 0
    configuration.judgesLiveness = ways & 2 == 0
    let plant = Int(try reader.next(below: UInt64(RunToken.plants.count + 1)))
    configuration.plant = plant == 0 ? nil : RunToken.plants[plant - 1]
    let world = Int(try reader.next(below: UInt64(LibraryWorld.named.count)))
    configuration.world = LibraryWorld.named[world]
    var record: [Choices.Choice] = []
    for stream in Choices.Stream.allCases {
      // Tokens that are older than this stream end here.
      if stream.rawValue >= Choices.Stream.rows.rawValue, reader.isAtEnd { break }
      // Pairs of a number of zeros and a value; a value of 0 ends them.
      while true {
        let zeros = try reader.next(below: 100_000)
        let value = try reader.next()
        if value == 0 { break }
        for _ in 0..<zeros { record.append(Choices.Choice(stream: stream, value: 0)) }
        record.append(Choices.Choice(stream: stream, value: value))
      }
    }
    guard configuration.clients > 0, reader.isAtEnd else { throw .notAToken }
    choices = ChoiceLists(record)
  }

  /// The token as text.
  package var text: String {
    var words: [UInt64] = [
      RunToken.version, UInt64(configuration.clients), UInt64(configuration.steps),
      configuration.faults.bits,
      (configuration.isSwarm ? 1 : 0) | (configuration.judgesLiveness ? 0 : 2),
    ]
    let plant = configuration.plant.flatMap { RunToken.plants.firstIndex(of: $0) }
    words.append(UInt64((plant ?? -1) + 1))
    words.append(UInt64(LibraryWorld.named.firstIndex(of: configuration.world) ?? 0))
    for stream in choices.streams {
      var zeros: UInt64 = 0
      for index in 0..<choices.count(stream) {
        let value = choices.value(stream, index)
        if value == 0 {
          zeros += 1
        } else {
          words += [zeros, value]
          zeros = 0
        }
      }
      words += [0, 0]
    }
    return Base64.encoded(words)
  }
}

/// Encodes numbers as 7-bit bytes, lowest first (LEB128), and the bytes as text (RFC 4648 §5,
/// without padding).
private enum Base64 {
  static var alphabet: [UInt8] {
    Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
  }

  static func encoded(_ words: [UInt64]) -> String {
    let alphabet = alphabet
    var text: [UInt8] = []
    var bits: UInt64 = 0
    var count = 0
    func flush(_ all: Bool) {
      while count >= 6 || (all && count > 0) {
        let six = count >= 6 ? bits >> UInt64(count - 6) : bits << UInt64(6 - count)
        text.append(alphabet[Int(six & 63)])
        count = max(0, count - 6)
        bits &= (1 << UInt64(count)) - 1
      }
    }
    for word in words {
      var rest = word
      repeat {
        let byte = rest & 0x7F | (rest > 0x7F ? 0x80 : 0)
        rest >>= 7
        bits = bits << 8 | byte
        count += 8
        flush(false)
      } while rest > 0
    }
    flush(true)
    return String(decoding: text, as: UTF8.self)
  }

  static func decoded(_ text: String) throws(RunToken.Malformed) -> [UInt8] {
    let alphabet = alphabet
    var bytes: [UInt8] = []
    var bits: UInt64 = 0
    var count: UInt64 = 0
    for character in text.utf8 {
      guard let six = alphabet.firstIndex(of: character) else { throw .notAToken }
      bits = bits << 6 | UInt64(six)
      count += 6
      guard count >= 8 else { continue }
      count -= 8
      bytes.append(UInt8(truncatingIfNeeded: bits >> count))
      bits &= (1 << count) - 1
    }
    return bytes
  }
}

/// Reads numbers from 7-bit bytes.
private struct WordReader {
  private let bytes: [UInt8]
  private var index = 0
  private(set) var last: UInt64 = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var isAtEnd: Bool { index == bytes.count }

  mutating func next(below bound: UInt64 = .max) throws(RunToken.Malformed) -> UInt64 {
    var word: UInt64 = 0
    var shift: UInt64 = 0
    while index < bytes.count, shift < 64 {
      let byte = bytes[index]
      index += 1
      word |= UInt64(byte & 0x7F) << shift
      shift += 7
      guard byte & 0x80 == 0 else { continue }
      last = word
      guard word < bound || bound == .max else { throw .notAToken }
      return word
    }
    throw .notAToken
  }
}
