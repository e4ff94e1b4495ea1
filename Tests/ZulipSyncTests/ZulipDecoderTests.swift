import Foundation
import Testing

@testable import ZulipSync

/// Tests that our decoder reads from values what a `JSONDecoder` reads from bytes, and fails where
/// it fails.
@Suite struct ZulipDecoderTests {
  private struct Numbers: Decodable, Equatable {
    var int: Int?
    var int8: Int8?
    var int16: Int16?
    var int32: Int32?
    var int64: Int64?
    var uint: UInt?
    var uint8: UInt8?
    var uint16: UInt16?
    var uint32: UInt32?
    var uint64: UInt64?
    var double: Double?
    var float: Float?
  }

  private struct Row: Decodable, Equatable {
    var name: String
    var flags: [Bool]
    var numbers: Numbers?
    var children: [Row]?
    var values: [String: Int64]?
    var gaps: [Int64?]?
  }

  /// Asks for containers within containers.
  private struct Nested: Decodable, Equatable {
    var first: Int64
    var isNull: Bool
    var last: String
    var names: [String]
    var above: Int64

    enum Field: String, CodingKey { case outer, inner, list }

    init(from decoder: any Decoder) throws {
      let fields = try decoder.container(keyedBy: Field.self)
      let outer = try fields.nestedContainer(keyedBy: Field.self, forKey: .outer)
      names = outer.allKeys.map(\.rawValue).sorted()
      above = try Int64(from: outer.superDecoder(forKey: .inner))
      var list = try fields.nestedUnkeyedContainer(forKey: .list)
      first = try list.decode(Int64.self)
      isNull = try list.decodeNil()
      var deeper = try list.nestedUnkeyedContainer()
      _ = try deeper.nestedContainer(keyedBy: Field.self)
      last = try String(from: deeper.superDecoder())
      guard deeper.isAtEnd, deeper.count == deeper.currentIndex else {
        throw DecodingError.dataCorruptedError(in: deeper, debugDescription: "more")
      }
    }
  }

  private static func both<Value: Decodable & Equatable>(
    _ type: Value.Type, _ text: String
  ) -> (ours: Result<Value, ZulipError>, theirs: Result<Value, ZulipError>) {
    let bytes = Data(text.utf8)
    let ours = Result { () throws(ZulipError) in try ZulipError.decode(type, from: bytes) }
    do {
      return (ours, .success(try JSONDecoder().decode(type, from: bytes)))
    } catch {
      return (ours, .failure(ZulipError(error)))
    }
  }

  @Test(arguments: [
    #"{"name":"a","flags":[]}"#,
    #"{"name":"é\n","flags":[true,false],"numbers":{"int":-1,"int8":-128,"int16":32767,"int32":7,"int64":-9223372036854775808}}"#,
    #"{"name":"","flags":[],"numbers":{"uint":1,"uint8":255,"uint16":0,"uint32":4294967295,"uint64":9223372036854775807}}"#,
    #"{"name":"","flags":[],"numbers":{"double":1.5,"float":0.25}}"#,
    #"{"name":"","flags":[],"numbers":{"double":7,"float":-3,"int":2.0}}"#,
    #"{"name":"a","flags":[true],"children":[{"name":"b","flags":[]},{"name":"c","flags":[false]}]}"#,
    #"{"name":"a","flags":[],"numbers":null,"children":null,"values":{"x":1,"y":2},"gaps":[1,null,3]}"#,
    #"{"name":"a","flags":[],"unknown":[{}]}"#,
  ])
  func `both decoders accept valid texts alike`(text: String) throws {
    let (ours, theirs) = Self.both(Row.self, text)
    #expect(try ours.get() == theirs.get())
  }

  @Test(arguments: [
    "{}", "[]", "7", #"{"name":7,"flags":[]}"#, #"{"name":null,"flags":[]}"#, #"{"name":"a"}"#,
    #"{"name":"a","flags":{}}"#, #"{"name":"a","flags":[true,1]}"#, #"{"name":"a","flags":[null]}"#,
    #"{"name":"a","flags":[],"numbers":[]}"#,
    #"{"name":"a","flags":[],"numbers":{"double":true}}"#,
    #"{"name":"a","flags":[],"children":[{"name":"b","flags":[]},{"name":"c"}]}"#,
    #"{"name":"a","flags":[],"children":[{"name":"b","flags":[true,false,"x"]}]}"#,
    #"{"name":"a","flags":[],"values":{"x":"1"}}"#, #"{"name":"a","flags":[],"gaps":[1,"2"]}"#,
  ])
  func `both decoders reject invalid texts at the same place`(text: String) {
    let (ours, theirs) = Self.both(Row.self, text)
    guard case .failure(let error) = ours, case .failure(let expected) = theirs else {
      Issue.record("\(ours), \(theirs)")
      return
    }
    #expect(error == expected)
  }

  @Test(arguments: [#""int8":128"#, #""uint":-1"#, #""int":1.5"#])
  func `a number that does not fit is reported with its path`(number: String) throws {
    let text = #"{"name":"a","flags":[],"numbers":{\#(number)}}"#
    let name = try #require(number.split(separator: "\"").first)
    #expect(Self.both(Row.self, text).ours == .failure(.malformed(path: "numbers.\(name)")))
  }

  @Test(arguments: [
    #"{"outer":{"inner":5,"list":[]},"list":[1,null,[{},"x"]]}"#,
    #"{"outer":{"inner":5},"list":[1,2,[{},"x"]]}"#, #"{"outer":{},"list":[1,null,[{},"x"]]}"#,
    #"{"outer":{"inner":5},"list":[1,null,[{}]]}"#,
    #"{"outer":{"inner":5},"list":[1,null,[[],1]]}"#,
    #"{"outer":{"inner":5},"list":[1,null,[{},"x",0]]}"#, #"{"outer":{"inner":5},"list":[1]}"#,
    #"{"outer":{"inner":5},"list":{}}"#, #"{"outer":[],"list":[]}"#, #"{"list":[]}"#,
  ])
  func `both decoders read nested containers alike`(text: String) {
    let (ours, theirs) = Self.both(Nested.self, text)
    switch (ours, theirs) {
    case (.success(let one), .success(let other)): #expect(one == other)
    case (.failure(let one), .failure(let other)): #expect(one == other)
    case (.success, .failure), (.failure, .success): Issue.record("\(ours), \(theirs)")
    }
  }
}
