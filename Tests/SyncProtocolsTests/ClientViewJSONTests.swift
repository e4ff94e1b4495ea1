import SyncProtocols
import Testing
import UpdateMachine

struct ClientViewJSONTests {
  @Test(arguments: [
    ("null", "null"), (" true ", "true"), ("false", "false"), ("\"\"", "\"\""),
    ("[ ]", "[]"), ("[1 , [2],{}]", "[1,[2],{}]"), ("{ }", "{}"),
    ("{\"b\":1, \"a\" : {\"\":null}}", "{\"a\":{\"\":null},\"b\":1}"),
    ("\"a\\/b\\u0041\\u00e9\\ud83d\\ude00\"", "\"a/bAé😀\""),
    (
      "\"\\b\\t\\n\\f\\r\\\"\\\\\\u001f\\u0001\\u007f\"",
      "\"\\b\\t\\n\\f\\r\\\"\\\\\\u001f\\u0001\u{7f}\""
    ),
  ])
  func `a value is parsed, and printed in one spelling`(text: String, spelling: String) throws {
    let value = try JSONValue(parsing: text)
    #expect("\(value)" == spelling)
    #expect(try JSONValue(parsing: spelling) == value)
    #expect(value.byteCount == Int64(spelling.utf8.count))
  }

  @Test(arguments: [
    ("0", "0"), ("-0", "0"), ("-0.0e5", "0"), ("0e99999999999999999999", "0"), ("1.0", "1"),
    ("10e-1", "1"), ("-12.50", "-12.5"), ("1e2", "100"),
    ("123456789012345678901", "123456789012345678901"),
    ("1e20", "100000000000000000000"), ("1e21", "1e+21"),
    ("1234567890123456789012", "1.234567890123456789012e+21"),
    ("0.000001", "0.000001"), ("0.0000001", "1e-7"), ("12.3e-8", "1.23e-7"), ("1E+3", "1000"),
    ("0.1e1", "1"), ("1e999999", "1e+999999"), ("9.9e-999999", "9.9e-999999"),
    ("0.10000000000000000000000000000000001", "0.10000000000000000000000000000000001"),
  ])
  func `a number has one spelling`(text: String, spelling: String) throws {
    let number = try JSONValue(parsing: text)
    #expect("\(number)" == spelling)
    #expect(try JSONValue(parsing: spelling) == number)
  }

  @Test func `integers and floating-point numbers are converted exactly`() throws {
    for number in [0, 1, -1, 100, .max, .min] as [Int64] {
      #expect(JSONNumber(number).int64 == number)
      #expect(try JSONValue(parsing: "\(number)") == JSONValue(integerLiteral: number))
    }
    #expect(try JSONValue(parsing: "1.5").int64 == nil)
    #expect(try JSONValue(parsing: "9223372036854775808").int64 == nil)
    for number in [0.1, -2.5e-9, 1e300, 2.5e-300, 1.7976931348623157e308] {
      #expect(JSONNumber(number)?.double == number)
    }
    #expect(JSONNumber(Double.nan) == nil)
    #expect(JSONNumber(-0.0)?.text == "0")
  }

  @Test(arguments: [
    ("", JSONError.unfinished), ("[1", .unfinished), ("[1,", .unfinished), ("\"a", .unfinished),
    ("{\"a\"", .unfinished), ("tru", .unfinished), ("-", .unfinished), ("1.", .unfinished),
    ("\"\\", .unfinished), ("\"\\u12", .unfinished),
    ("nul!", .unexpected(at: 3)), ("1 2", .unexpected(at: 2)), ("[1,]", .unexpected(at: 3)),
    ("{,}", .unexpected(at: 1)), ("{\"a\":1,}", .unexpected(at: 7)), ("[1}", .unexpected(at: 2)),
    ("01", .unexpected(at: 0)), ("-a", .unexpected(at: 1)), ("1.e", .unexpected(at: 2)),
    ("+1", .unexpected(at: 0)), (".5", .unexpected(at: 0)), ("\"\u{1}\"", .unexpected(at: 1)),
    ("'a'", .unexpected(at: 0)), ("NaN", .unexpected(at: 0)),
    ("\"\\x\"", .badEscape(at: 1)), ("\"\\u12g4\"", .badEscape(at: 1)),
    ("\"\\ud800\"", .badEscape(at: 1)), ("\"\\ud800\\u0041\"", .badEscape(at: 1)),
    ("\"\\udc00\"", .badEscape(at: 1)),
    ("{\"a\":1,\"b\":2,\"a\":3}", .duplicateName(at: 18)),
    ("[1e1000000]", .numberOutOfRange(at: 1)),
    ("1e-99999999999999999999", .numberOutOfRange(at: 0)),
  ])
  func `invalid JSON is an error`(text: String, error: JSONError) {
    #expect(throws: error) { try JSONValue(parsing: text) }
  }

  @Test func `nesting is limited`() throws {
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    #expect("\(try JSONValue(parsing: nested(64)))" == nested(64))
    #expect(throws: JSONError.tooDeep(at: 64)) { try JSONValue(parsing: nested(65)) }
    #expect(throws: JSONError.tooDeep(at: 64)) { try JSONValue(parsing: nested(1_000_000)) }
  }

  @Test func `two spellings of one letter are two values, two names and two keys`() throws {
    let (composed, apart) = ("\u{e9}", "e\u{301}")
    #expect(composed == apart)
    #expect(JSONValue.string(composed) != JSONValue.string(apart))
    #expect(ViewKey(composed) != ViewKey(apart))
    #expect(ViewKey(apart) < ViewKey(composed))
    let object = try #require(JSONValue(parsing: "{\"\(composed)\":1,\"\(apart)\":2}").object)
    #expect(object[composed] == 1)
    #expect(object[apart] == 2)
    var map = ViewMap<JSONValue>()
    map[ViewKey(composed)] = 1
    map[ViewKey(apart)] = 2
    #expect(map.count == 2)
  }

  @Test func `an object stays in order while it changes`() throws {
    var object = JSONObject()
    for name in ["m", "z", "a", "ä", "m"] { object[name] = .string(name) }
    #expect(object.members.map(\.name) == ["a", "m", "z", "ä"])
    object["m"] = nil
    object["x"] = nil
    #expect("\(JSONValue.object(object))" == "{\"a\":\"a\",\"z\":\"z\",\"ä\":\"ä\"}")
    #expect(JSONObject([.init("a", 1), .init("a", 2)]) == nil)
  }

  @Test func `different values have different digests`() throws {
    let texts = [
      "null", "true", "false", "0", "\"0\"", "\"\"", "[]", "{}", "[[]]", "[null]", "[[],[]]",
      "{\"\":null}", "{\"a\":\"b\"}", "[\"a\",\"b\"]", "[\"ab\"]", "[\"a\",[\"b\"]]", "1", "10",
      "-1",
    ]
    let digests = try texts.map { text in
      var digest = StateDigest()
      try JSONValue(parsing: text).fold(into: &digest)
      return digest.value
    }
    #expect(Set(digests).count == texts.count)
    #expect(Set(try texts.map { try JSONValue(parsing: $0) }).count == texts.count)
  }

  @Test func `every printed value is parsed back`() throws {
    for seed in 0..<500 as Range<UInt64> {
      var draws = Draws(seed: seed)
      let value = Self.value(&draws, depth: 4)
      let text = "\(value)"
      #expect(try JSONValue(parsing: text) == value)
      #expect(value.byteCount == Int64(text.utf8.count))
    }
  }

  @Test func `no text makes the parser trap`() throws {
    for seed in 0..<2000 as Range<UInt64> {
      var draws = Draws(seed: seed)
      var bytes = Array("\(Self.value(&draws, depth: 4))".utf8)
      for _ in 0...draws.below(3) where !bytes.isEmpty {
        let index = draws.below(bytes.count)
        switch draws.below(3) {
        case 0: bytes.remove(at: index)
        case 1: bytes[index] = Array("{}[]\",:\\u0e-.tn".utf8)[draws.below(15)]
        case _: bytes.removeSubrange(index...)
        }
      }
      if let value = try? JSONValue(parsing: String(decoding: bytes, as: UTF8.self)) {
        #expect(try JSONValue(parsing: "\(value)") == value)
      }
    }
  }

  private static func value(_ draws: inout Draws, depth: Int) -> JSONValue {
    switch draws.below(depth == 0 ? 5 : 7) {
    case 0: .null
    case 1: .bool(draws.happens(1, in: 2))
    case 2: JSONValue(integerLiteral: Int64(draws.below(2000) - 1000))
    case 3: .number(JSONNumber(Double(draws.below(1_000_000)) / Double(1 + draws.below(1000)))!)
    case 4: .string(text(&draws))
    case 5: .array((0..<draws.below(4)).map { _ in value(&draws, depth: depth - 1) })
    case _:
      .object(
        (0..<draws.below(4)).reduce(into: JSONObject()) { object, _ in
          object[text(&draws)] = value(&draws, depth: depth - 1)
        })
    }
  }

  private static func text(_ draws: inout Draws) -> String {
    (0..<draws.below(5)).map { _ in
      ["a", "\"", "\\", "\n", "\u{1}", "é", "e\u{301}", "😀"][draws.below(8)]
    }
    .joined()
  }
}
