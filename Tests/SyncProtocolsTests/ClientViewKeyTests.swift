import SyncProtocols
import Testing
import UpdateMachine

struct ClientViewKeyTests {
  /// Texts of many lengths that begin alike and differ in at most one byte.
  private static var texts: [String] {
    let long = "conversation 7/message 1234567/é"
    let beginnings = (0...40).map { String(decoding: long.utf8.prefix($0), as: UTF8.self) }
    let changed = (0..<26).map { index in
      var bytes = Array(long.utf8)
      bytes[index] ^= 1
      return String(decoding: bytes, as: UTF8.self)
    }
    return beginnings + changed + ["\u{0}", "a\u{0}", "e\u{301}", "\u{e9}", "\u{ff5e}", "😀", "z"]
  }

  @Test(arguments: ClientViewKeyTests.texts)
  func `keys and texts are compared and ordered by their bytes`(text: String) {
    let bytes = Array(text.utf8)
    for other in ClientViewKeyTests.texts {
      let otherBytes = Array(other.utf8)
      #expect((ViewKey(text) < ViewKey(other)) == bytes.lexicographicallyPrecedes(otherBytes))
      #expect((ViewKey(text) == ViewKey(other)) == (bytes == otherBytes))
      #expect((JSONValue.string(text) == JSONValue.string(other)) == (bytes == otherBytes))
    }
  }

  @Test func `equal bytes in different storage are equal texts`() {
    let text = String(repeating: "as long as no other ", count: 100)
    let anew = String(decoding: Array(text.utf8), as: UTF8.self)
    #expect(JSONValue.string(text) == JSONValue.string(text))
    #expect(JSONValue.string(text) == JSONValue.string(anew))
    #expect(JSONValue.string(text) != JSONValue.string(anew + "!"))
    #expect(!(ViewKey(text) < ViewKey(text)) && !(ViewKey(text) < ViewKey(anew)))
  }
}
