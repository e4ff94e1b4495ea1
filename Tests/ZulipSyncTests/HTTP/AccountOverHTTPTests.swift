import Foundation
import LoopbackServer
import MessageSync
import SyncProtocols
import Testing
import UpdateMachine

@testable import ZulipSync

/// Tests messages and state in one model, through the driver, URLSession and a socket.
@Suite(.timeLimit(.minutes(3))) struct AccountOverHTTPTests {
  private static func message(_ id: Int, _ text: String) -> String {
    """
    {"id":\(id),"sender_id":8,"type":"stream","stream_id":4,"subject":"Lunch","content":"\(text)",\
    "display_recipient":"general","content_type":"text/html","flags":[],"reactions":[]}
    """
  }

  /// A server with one channel. One message was sent before the queue was made; another is sent
  /// later.
  private final class Channel: Sendable {
    let queues = Shared(0)
    let pages = Shared<[String]>([])
    let hasExpired = Shared(false)

    func answer(_ request: LoopbackServer.Request) async -> Response {
      let last = request.query["last_event_id"]
      switch (request.method, request.path) {
      case ("POST", "/api/v1/register"):
        let queue = queues.change { count in
          count += 1
          return count
        }
        return .success(
          """
          "queue_id":"q\(queue)","last_event_id":-1,"zulip_feature_level":323,"user_id":7,\
          "subscriptions":[{"stream_id":4,"name":"general","is_muted":false}],"streams":[]
          """)
      case ("GET", "/api/v1/messages"):
        let count = pages.change { pages in
          pages.append(request.query["narrow"] ?? "")
          return pages.count
        }
        if count == 1 { return .badGateway }
        let isSecond = queues.value == 2
        let messages = isSecond ? [message(1, "one"), message(2, "two")] : [message(1, "one")]
        return .success(
          """
          "messages":[\(messages.joined(separator: ","))],"anchor":10000000000000000,\
          "found_anchor":false,"found_oldest":true,"found_newest":true,"history_limited":false
          """)
      case ("GET", "/api/v1/events") where request.query["queue_id"] == "q1" && last == "-1":
        guard pages.value.count > 1 else { return .events() }
        return .events(#"{"id":0,"type":"message","flags":[],"message":\#(message(2, "two"))}"#)
      case ("GET", "/api/v1/events") where request.query["queue_id"] == "q1" && hasExpired.value:
        return .error(400, "BAD_EVENT_QUEUE_ID")
      default:
        await untilCancelled()
        return .events()
      }
    }

    private func message(_ id: Int, _ text: String) -> String {
      AccountOverHTTPTests.message(id, text)
    }
  }

  @Test func `a window is filled by pages, kept by events, and filled again after an expiry`()
    async throws
  {
    let channel = Channel()
    try await Ada.serve {
      await channel.answer($0)
    } while: { server, connection in
      let machine = UpdateMachine(source: ZulipAccountSource(connection), settings: .quick)
      let running = Task { await machine.run() }
      var account: ZulipAccount?
      for await state in await machine.states() {
        account = state.model
        if account != nil { break }
      }
      let list = try #require(account).list(
        ZulipNarrow([.init("channel", .text("general")), .init("topic", .text("lunch"))]))
      #expect("\(list)" == "channel:4 topic:lunch")
      let views = await machine.openWindow(on: list, showing: .newest(10))
      for await view in views where view.isComplete && view.items.count == 2 {
        #expect(view.items.map(\.content.text) == ["one", "two"])
        break
      }
      let narrow =
        #"[{"negated":false,"operand":"general","operator":"channel"},"#
        + #"{"negated":false,"operand":"lunch","operator":"topic"}]"#
      #expect(channel.pages.value.allSatisfy { $0 == narrow })
      #expect(channel.queues.value == 1)
      let held = try #require(await machine.state.model)
      #expect(held.messages[MessageID(2)]?.content.text == "two")
      #expect("\(held)".hasSuffix("2 messages"))

      channel.hasExpired.change { $0 = true }
      let again = await machine.openWindow(on: list, showing: .newest(10))
      await machine.networkChanged()
      for await view in again
      where view.isComplete && view.items.count == 2 && channel.queues.value == 2 { break }
      await machine.stop()
      await running.value
      await server.reaches { $0.answering == 0 }
    }
  }
}
