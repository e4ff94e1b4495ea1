import Foundation
import LoopbackServer
import MessageSync
import SyncProtocols
import Testing
import UpdateMachine

@testable import ZulipSync

/// Tests messages and state in one model, through the driver, URLSession and a socket.
@Suite(.timeLimit(.minutes(3))) struct AccountOverHTTPTests {
  private static func message(_ id: Int, _ text: String, _ flags: String = "") -> String {
    """
    {"id":\(id),"sender_id":8,"type":"stream","stream_id":4,"subject":"Lunch","content":"\(text)",\
    "display_recipient":"general","content_type":"text/html","flags":[\(flags)],"reactions":[]}
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
      for await view in again {
        #expect(view.items.count == 2, "what was there shows until the new page has come")
        if view.isComplete, channel.queues.value == 2 { break }
      }
      await machine.stop()
      await running.value
      await server.reaches { $0.answering == 0 }
    }
  }

  /// A real server answers `id:N` about a historical message with an empty page.
  @Test(arguments: [
    (Response.success(#""message":\#(message(5, "old", #""read","historical""#))"#), [5], nil),
    (.error(400, "BAD_REQUEST"), [], nil), (.badGateway, [], SyncFailure.serverFault),
    (.error(429, "RATE_LIMIT_HIT"), [], .rateLimited(after: nil)),
    (.error(401, "UNAUTHORIZED"), [], .unauthorized),
  ])
  func `a single message that no list of the user's has is looked for in the channels`(
    answer: Response, found: [Int64], failure: SyncFailure?
  ) async throws {
    let asked = Shared<[String]>([])
    try await Ada.serve { request in
      asked.change { $0.append(request.path) }
      guard request.path.hasSuffix("messages") else { return answer }
      return .success(
        """
        "messages":[],"anchor":10000000000000000,"found_anchor":false,"found_oldest":true,\
        "found_newest":true,"history_limited":false
        """)
    } while: { _, connection in
      let source = ZulipAccountSource(connection)
      do throws(SyncFailure) {
        let page = try await source.page(PageRequest(MessageID(5)))
        #expect(failure == nil)
        #expect(page.messages.map(\.id) == found.map { MessageID($0) })
        for message in page.messages { #expect(message.flags.contains(.outsideFeed)) }
      } catch {
        #expect(error == failure)
      }
    }
    #expect(asked.value == ["/api/v1/messages", "/api/v1/messages/5"])
  }

  /// A server that hides the message need not be asked twice; nor if the list has it.
  @Test(arguments: [(true, ""), (false, message(5, "here"))])
  func `a single message that is found or hidden is asked for once`(
    isLimited: Bool, messages: String
  ) async throws {
    let count = Shared(0)
    try await Ada.serve { _ in
      count.change { $0 += 1 }
      return .success(
        """
        "messages":[\(messages)],"anchor":10000000000000000,"found_anchor":false,\
        "found_oldest":true,"found_newest":true,"history_limited":\(isLimited)
        """)
    } while: { _, connection in
      let page = try await ZulipAccountSource(connection).page(PageRequest(MessageID(5)))
      #expect(page.isHistoryLimited == isLimited)
      #expect(page.messages.allSatisfy { !$0.flags.contains(.outsideFeed) })
    }
    #expect(count.value == 1)
  }
}
