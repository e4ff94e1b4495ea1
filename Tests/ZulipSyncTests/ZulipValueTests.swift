import Foundation
import Testing
import UpdateMachine
import ZulipSync

@Suite("Any JSON value")
struct ZulipValueTests {
  private static func read(_ text: String) -> ZulipValue? {
    try? ZulipValue(json: Data(text.utf8))
  }

  static let read: [(text: String, value: ZulipValue)] = [
    ("null", .null), (" true ", true), ("false", false), ("[]", []), ("{}", [:]),
    ("[true,1,false,0]", [true, 1, false, 0]), ("-0", 0), ("7", 7), ("-12", -12), ("127", 127),
    ("9007199254740993", 9_007_199_254_740_993), ("1.0", 1), ("1e3", 1000),
    ("9223372036854775807", .number(.max)), ("-9223372036854775808", .number(.min)),
    ("9223372036854775808", .fraction(0x1p63)), ("18446744073709551616", .fraction(0x1p64)),
    ("-9223372036854775809", .fraction(-0x1p63)),
    ("1.5", .fraction(1.5)), ("-2.5E-1", .fraction(-0.25)), ("1e300", .fraction(1e300)),
    ("0.12345678901234567890", .fraction(0.12345678901234567890)),
    (#""\u00e9\ud83d\ude00é😀\"\u0000""#, "é😀é😀\"\0"),
    (#"[1,"a",[null]]"#, [1, "a", [.null]]),
    (#"{"b":1, "a" : {"c":[]}}"#, ["a": ["c": []], "b": 1]), (#"{"\u0061":1}"#, ["a": 1]),
  ]

  @Test(arguments: read.indices)
  func `both decoders give the same value`(_ index: Int) throws {
    let (text, value) = Self.read[index]
    #expect(Self.read(text) == value, "\(text)")
    #expect(Self.read("\(value)") == value, "\(value)")
    let decoded = try JSONDecoder().decode(ZulipValue.self, from: Data(text.utf8))
    #expect(decoded == value, "\(text)")
  }

  @Test func `the last value of a repeated name counts`() {
    #expect(Self.read(#"{"a":1,"b":3,"a":2}"#) == ["a": 2, "b": 3])
  }

  @Test func `a large fraction is not an integer`() {
    #expect(Self.read("1.5")?.number == nil)
    #expect(Self.read("9223372036854775808")?.number == nil)
    #expect(Self.read("-9223372036854775809")?.number == nil)
    #expect(ZulipValue.fraction(3).number == 3)
    #expect(ZulipValue.fraction(0x1p53).number == nil)
  }

  static let unread = [
    "", " ", "nul", "truefalse", "[", "]", "[1 2]", "{", "{1:2}", #"{"a"}"#, #"{"a":1"#, "01", "-",
    "1e400", "-1e400", "0x1", "NaN", "Infinity", #"""#, #""\ud800""#, #""\ud800\u0041""#,
    #""\udc00""#, "1 2",
  ]

  @Test(arguments: unread.indices)
  func `invalid JSON is malformed, and not quoted`(_ index: Int) {
    #expect(Self.isMalformed(Data(Self.unread[index].utf8)), "\(Self.unread[index])")
  }

  /// Texts that are a few changes away from JSON. Foundation takes a comma before an end on Linux,
  /// and rounds fractions of many digits otherwise.
  @Test func `damaged JSON is read exactly if Foundation reads it`() throws {
    var random = SplitMix(3)
    let seeds = Self.read.filter { !$0.text.contains(/[0-9]{15}/) && $0.text.count > 3 }
      .map { Array($0.text.utf8) }
    let parts = Array(#"[]{},:"\u/nte0123456789.-+d "#.utf8) + [0x0A, 0x1F, 0x80, 0xC3, 0xED]
    var readCount = 0
    for _ in 0..<20_000 {
      var bytes = try #require(seeds.randomElement(using: &random))
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: bytes.remove(at: place)
        case 1: bytes.insert(try #require(parts.randomElement(using: &random)), at: place)
        case _: bytes[place] = try #require(parts.randomElement(using: &random))
        }
      }
      let text = String(decoding: bytes, as: UTF8.self)
      if text.contains(/,\s*[\]}]/) { continue }
      let value = try? ZulipValue(json: Data(bytes))
      let foundations = try? JSONDecoder().decode(ZulipValue.self, from: Data(bytes))
      #expect(value == foundations, "\(text)")
      if value != nil { readCount += 1 }
    }
    #expect((1_000...18_000).contains(readCount), "\(readCount)")
  }

  @Test(arguments: [[0xFF], [0xC3], [0xED, 0xA0, 0x80], [0xC0, 0x80]] as [[UInt8]])
  func `text must be UTF-8`(_ bytes: [UInt8]) {
    #expect(Self.isMalformed(Data([UInt8(ascii: "\"")] + bytes + [UInt8(ascii: "\"")])))
  }

  /// Whether both ways of reading call the bytes malformed, and say no more.
  private static func isMalformed(_ bytes: Data) -> Bool {
    var errors: [ZulipError] = []
    do { _ = try ZulipValue(json: bytes) } catch { errors.append(error) }
    do throws(ZulipError) {
      _ = try ZulipError.decode(ZulipValue.self, from: bytes)
    } catch { errors.append(error) }
    return errors == [.malformed(path: ""), .malformed(path: "")]
  }

  /// The stack has 512 KB, as the threads of Darwin's pools have.
  @Test(arguments: [("[", "]"), (#"{"a":"#, "}")])
  func `hostile depth never traps`(_ open: String, _ close: String) async {
    let isRead = await withCheckedContinuation { continuation in
      let thread = Thread {
        let depths = [6, 50, 51, 512, 513, 5_000, 100_000]
        continuation.resume(returning: depths.map { Self.isRead(open, close, depth: $0) })
      }
      thread.stackSize = 512 << 10
      thread.start()
    }
    #expect(isRead == [true, true, false, false, false, false, false])
  }

  /// Reads a text in every way, and uses the value as clients do. Returns whether it could be read.
  private static func isRead(_ open: String, _ close: String, depth: Int) -> Bool {
    let opened = String(repeating: open, count: depth)
    let text = opened + "1" + String(repeating: close, count: depth)
    #expect(isMalformed(Data(opened.utf8)))
    let event = Data(#"{"events":[{"id":0,"type":"new","x":\#(text)}]}"#.utf8)
    let isEvent = (try? ZulipError.decode(ZulipEvents.self, from: event)) != nil
    #expect(isEvent == (depth < 48))
    guard let value = read(text) else {
      // Of another decoder this is all that is promised.
      #expect(throws: DecodingError.self) {
        try JSONDecoder().decode(ZulipValue.self, from: Data(text.utf8))
      }
      return !isMalformed(Data(text.utf8))
    }
    var hasher = Hasher()
    hasher.combine(value)
    let decoded = try? JSONDecoder().decode(ZulipValue.self, from: Data(text.utf8))
    return decoded == value && read("\(value)") == value
  }

  @Test func `both decoders read every recorded answer alike`() throws {
    for line in [RecordedLines.message, RecordedLines.page, RecordedLines.moveOfTopic] {
      let value = try ZulipValue(json: Data(line.utf8))
      #expect(try JSONDecoder().decode(ZulipValue.self, from: Data(line.utf8)) == value)
      #expect(
        try JSONDecoder().decode(ZulipValue.self, from: JSONEncoder().encode(value)) == value)
    }
    for observer in RecordedObserver.all.prefix(1) {
      let text = Data("\(ZulipValue.fields(observer.start.fields))".utf8)
      #expect(
        try JSONDecoder().decode(ZulipValue.self, from: text)
          == .fields(observer.start.fields))
    }
  }

  @Test func `fields are found, set and removed by their names`() {
    var fields: ZulipFields = ["b": 2, "a": 1]
    #expect(fields.entries.map(\.name) == ["a", "b"])
    fields["c"] = 3
    fields["a"] = nil
    fields["b"] = "two"
    fields["x"] = nil
    #expect(fields == ["c": 3, "b": "two"])
    #expect(fields["a"] == nil)
  }
}
