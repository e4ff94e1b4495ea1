import Foundation
import Testing
import ZulipSync

@Suite("Errors of decoding")
struct ZulipErrorTests {
  @Test func `an error shows the field's path and nothing that the server wrote`() {
    let body = #"{"events":[{"id":0,"type":"heartbeat"},{"id":"secret","type":"message"}]}"#
    #expect(throws: ZulipError.malformed(path: "events[1].id")) {
      try ZulipError.decode(ZulipEvents.self, from: Data(body.utf8))
    }
  }
}
