import Foundation
import Testing
import ZulipSync

@Suite("Any JSON value")
struct ZulipValueTests {
  private static func read(_ text: String) -> ZulipValue? {
    try? ZulipValue(json: Data(text.utf8))
  }

  static let good: [(text: String, value: ZulipValue)] = [
    ("null", .null), (" true ", true), ("false", false), ("[]", []), ("{}", [:]),
    ("0", 0), ("-0", 0), ("7", 7), ("-12", -12),
    ("9223372036854775807", .number(.max)), ("-9223372036854775808", .number(.min)),
    ("9223372036854775808", .fraction(9_223_372_036_854_775_808)),
    ("1.5", .fraction(1.5)), ("1e3", .fraction(1000)), ("-2.5E-1", .fraction(-0.25)),
    (#""""#, ""), (#""a\"\\\/\b\f\n\r\t""#, "a\"\\/\u{8}\u{C}\n\r\t"),
    (#""\u00e9\ud83d\ude00""#, "é😀"), (#""é😀""#, "é😀"),
    (#"[1,"a",[null]]"#, [1, "a", [.null]]),
    (#"{"b":1, "a" : {"c":[]}}"#, ["a": ["c": []], "b": 1]),
    (#"{"a":1,"a":2}"#, ["a": 2]), (#"{"\u0061":1}"#, ["a": 1]),
  ]

  @Test(arguments: good.indices)
  func `JSON is read`(_ index: Int) {
    let (text, value) = Self.good[index]
    #expect(Self.read(text) == value, "\(text)")
    #expect(Self.read("\(value)") == value, "\(value)")
  }

  static let bad = [
    "", " ", "nul", "truefalse", "tru", "[", "]", "[1,]", "[1 2]", "{", "{1:2}", #"{"a"}"#,
    #"{"a":}"#, #"{"a":1,}"#, #"{"a":1"#, "01", "-", "+1", ".5", "1.", "1e", "1e400", "--1", "0x1",
    #"""#, #""\x""#, #""\u12""#, #""\ud800""#, #""\ud800\u0041""#, #""\udc00""#, "\"\n\"", "\"\\",
    "1 2", "NaN", "Infinity", "'a'", "\u{FEFF}1",
    String(repeating: "[", count: 200) + String(repeating: "]", count: 200),
    String(repeating: "[", count: 100_000),
  ]

  @Test(arguments: bad.indices)
  func `what is no JSON is no value`(_ index: Int) {
    #expect(Self.read(Self.bad[index]) == nil, "\(Self.bad[index].prefix(40))")
  }

  @Test func `text must be UTF-8`() {
    for bytes in [[0xFF], [0xC3], [0xED, 0xA0, 0x80], [0xC0, 0x80]] as [[UInt8]] {
      let data = Data([UInt8(ascii: "\"")] + bytes + [UInt8(ascii: "\"")])
      #expect(throws: ZulipError.malformed(path: "")) { try ZulipValue(json: data) }
    }
  }

  @Test func `every recorded answer is what Foundation reads`() throws {
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

  @Test func `any type that is decodable is read from a value`() throws {
    struct Sample: Decodable, Equatable {
      var bool: Bool
      var small: Int8
      var double: Double
      var list: [String?]
      var inner: [String: Int]
      var none: Int?
    }
    let text = #"{"bool":true,"small":-7,"double":3,"list":["a",null],"inner":{"x":1},"none":null}"#
    let sample = try ZulipError.decode(Sample.self, from: Data(text.utf8))
    #expect(
      sample
        == Sample(
          bool: true, small: -7, double: 3, list: ["a", nil], inner: ["x": 1], none: nil))
    #expect(throws: ZulipError.malformed(path: "small")) {
      try ZulipError.decode(
        Sample.self, from: Data(text.replacingOccurrences(of: "-7", with: "700").utf8))
    }
    #expect(throws: ZulipError.malformed(path: "inner.x")) {
      try ZulipError.decode(
        Sample.self, from: Data(text.replacingOccurrences(of: ":1", with: ":[]").utf8))
    }
  }
}
