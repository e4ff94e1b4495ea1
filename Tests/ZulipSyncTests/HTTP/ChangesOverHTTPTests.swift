import Foundation
import LoopbackServer
import MessageSync
import SyncProtocols
import Testing
import UpdateMachine

@testable import ZulipSync

/// Tests of changes to messages through the outbox, the driver, URLSession and a socket.
@Suite(.timeLimit(.minutes(3))) struct ChangesOverHTTPTests {
  private typealias Machine = UpdateMachine<ZulipAccountSource>
  private typealias Views = WindowViews<MessageStore<ZulipMessageList>>

  /// A machine with a window on channel 4, in which there is message 9.
  private static func follow(
    _ desk: Desk, _ body: (Machine, Views) async throws -> Void
  ) async throws {
    try await Ada.follow {
      await desk.answer($0)
    } while: { machine in
      let model = try #require(await machine.state.model)
      let list = model.list(ZulipNarrow([.init("channel", .number(4))]))
      let opened = await machine.openWindow(on: list, showing: .newest(10))
      for await view in opened where view.isComplete { break }
      try await body(machine, opened)
    }
  }

  private static let nine = MessageID(9)

  /// Waits until the window shows message 9 as it should be.
  private static func shown(
    _ views: Views, _ isRight: (ChatMessage<ZulipContent>?) -> Bool
  ) async {
    for await view in views {
      var message: ChatMessage<ZulipContent>?
      for case .item(let one) in view.rows where one.id == nine { message = one }
      if isRight(message) { return }
    }
  }

  @Test func `a star shows in the window at once, and is sent until it is answered`() async throws {
    let desk = Desk([.never, .lost])
    try await Self.follow(desk) { machine, views in
      let made = try await machine.mutate(.flag([Self.nine], .starred, isSet: true))
      await Self.shown(views) { $0?.flags.contains(.starred) == true }
      #expect(await machine.state.model?.messages[Self.nine]?.flags.contains(.starred) == false)
      #expect(await machine.state.view?.realm.starred == [Self.nine])
      #expect(await machine.acknowledged(made.ticket) == .acknowledged)
      #expect(await machine.state.model?.messages[Self.nine]?.flags.contains(.starred) == true)
      // The event of the second copy confirms it, without an answer.
      #expect(
        desk.requests == Array(repeating: "POST messages/flags add starred [9]", count: 2))
    }
  }

  @Test func `a refusal says why in the server's words, and its change no longer shows`()
    async throws
  {
    let desk = Desk([.refused("You don't have permission to edit this message")])
    try await Self.follow(desk) { machine, views in
      let made = try await machine.mutate(.edit(Self.nine, .init(content: "mine")))
      #expect(await machine.acknowledged(made.ticket) == .setAside)
      await Self.shown(views) { $0?.content.text == "<p>nine</p>" }
      guard case .refused(let code)? = await machine.state.setAside.first?.reason else {
        Issue.record("it is set aside")
        return
      }
      #expect(code.text == "You don't have permission to edit this message")
      // Nothing else waits for the decision.
      let next = try await machine.mutate(.flag([Self.nine], .read, isSet: true))
      #expect(await machine.acknowledged(next.ticket) == .acknowledged)
      #expect(
        desk.requests == [
          "PATCH messages/9", "GET messages/9", "POST messages/flags add read [9]",
        ])
    }
  }

  @Test func `an edit that is done already is no refusal`() async throws {
    let desk = Desk([.refused("The time limit for editing this message has passed")])
    try await Self.follow(desk) { machine, _ in
      let made = try await machine.mutate(.edit(Self.nine, .init(content: "nine ")))
      #expect(await machine.acknowledged(made.ticket) == .acknowledged)
      #expect(desk.requests == ["PATCH messages/9", "GET messages/9"])
    }
  }

  @Test func `what is deleted already is deleted`() async throws {
    let desk = Desk([.refused("Invalid message(s)"), .refused("Invalid message(s)")])
    try await Self.follow(desk) { machine, views in
      let made = try await machine.mutate(.delete(Self.nine))
      await Self.shown(views) { $0 == nil }
      #expect(await machine.acknowledged(made.ticket) == .acknowledged)
      #expect(desk.requests == ["DELETE messages/9", "GET messages/9"])
    }
  }

  @Test(arguments: [(true, "REACTION_ALREADY_EXISTS"), (false, "REACTION_DOES_NOT_EXIST")])
  func `a reaction that is as it should be is no refusal`(isSet: Bool, code: String) async throws {
    let desk = Desk([.code(code)])
    try await Self.follow(desk) { machine, _ in
      let wave = ZulipConnection.Emoji("wave", code: "1f44b", type: "unicode_emoji")
      let made = try await machine.mutate(.react(Self.nine, wave, isSet: isSet))
      #expect(await machine.acknowledged(made.ticket) == .acknowledged)
      #expect(desk.requests == ["\(isSet ? "POST" : "DELETE") messages/9/reactions"])
    }
  }

  @Test func `a star is undone, and redone`() async throws {
    let desk = Desk([])
    try await Self.follow(desk) { machine, views in
      let made = try await machine.mutate(.flag([Self.nine], .starred, isSet: true))
      #expect(await machine.acknowledged(made.ticket) == .acknowledged)
      _ = try await machine.undo()
      await Self.shown(views) { $0?.flags.contains(.starred) == false }
      _ = try await machine.redo()
      await Self.shown(views) { $0?.flags.contains(.starred) == true }
    }
  }
}

/// A server with one channel and one message, that does with changes what it is told to.
private final class Desk: Sendable {
  /// What happens to a change. By default the server makes it.
  enum Fate {
    case taken
    /// The server makes it. The connection breaks before the answer arrives, but only once the
    /// client has polled from behind the event of the change.
    case lost
    /// The connection breaks before the server has read it.
    case never
    case refused(String)
    case code(String)
  }

  private struct State {
    var fates: [Fate]
    var requests: [String] = []
    var events: [String] = []
    /// The last event that the client has said it has.
    var polledFrom = -1
    /// The event that the client must have before a connection breaks.
    var awaited = -1

    mutating func tell(_ fields: String) {
      events.append(#"{"id":\#(events.count),\#(fields)}"#)
    }
  }

  private let state: Shared<State>

  init(_ fates: [Fate]) { state = Shared(State(fates: fates)) }

  /// The changes that have arrived, and what was asked because of them.
  var requests: [String] { state.value.requests }

  func answer(_ request: LoopbackServer.Request) async -> Response {
    switch (request.method, request.path) {
    case ("POST", "/api/v1/register"):
      return .success(
        """
        "queue_id":"q","last_event_id":-1,"zulip_feature_level":323,"user_id":7,\
        "subscriptions":[{"stream_id":4,"name":"general","is_muted":false}],"streams":[],\
        "starred_messages":[],"max_message_length":100
        """)
    case ("GET", "/api/v1/messages"):
      return .success(
        """
        "messages":[{"id":9,"sender_id":7,"type":"stream","stream_id":4,"subject":"a",\
        "display_recipient":"general","content":"<p>nine</p>","content_type":"text/html",\
        "reactions":[],"flags":[]}],"anchor":10000000000000000,"found_anchor":false,\
        "found_oldest":true,"found_newest":true,"history_limited":false
        """)
    case ("GET", "/api/v1/events"): return await events(request)
    case ("DELETE", "/api/v1/events"): return .success()
    default:
      let response = change(request)
      let clock = SystemClock()
      while state.change({ $0.polledFrom < $0.awaited }) {
        do { try await clock.sleep(until: clock.now + .milliseconds(5)) } catch { break }
      }
      return response
    }
  }

  /// A poll that waits gets a sign of life soon.
  private func events(_ request: LoopbackServer.Request) async -> Response {
    let last = request.query["last_event_id"].flatMap { Int($0) } ?? -1
    state.change { $0.polledFrom = max($0.polledFrom, last) }
    let clock = SystemClock()
    for _ in 1...5 {
      let news = state.change { $0.events.dropFirst(last + 1).joined(separator: ",") }
      if !news.isEmpty { return .events(news) }
      if request.query["dont_block"] == "true" { return .events() }
      do { try await clock.sleep(until: clock.now + .milliseconds(20)) } catch { return .events() }
    }
    return state.change { state in
      state.tell(#""type":"heartbeat""#)
      return .events(state.events.dropFirst(last + 1).joined(separator: ","))
    }
  }

  private func change(_ request: LoopbackServer.Request) -> Response {
    let form = request.form
    var words = "\(request.method) \(request.path.dropFirst("/api/v1/".count))"
    for name in ["op", "flag", "messages"] { words += form?[name].map { " \($0)" } ?? "" }
    return state.change { state in
      state.requests.append(words)
      let fate = state.fates.isEmpty ? .taken : state.fates.removeFirst()
      switch fate {
      case .never: return Response.success().with(.reset(after: 0))
      case .refused(let words):
        return .json(
          #"{"result":"error","msg":"\#(words)","code":"BAD_REQUEST"}"#, status: 400)
      case .code(let code): return .error(400, code)
      case .lost, .taken: break
      }
      if request.method == "GET" {
        return .success(
          #"""
          "message":{"id":9,"sender_id":7,"type":"stream","stream_id":4,"subject":"a",\#
          "display_recipient":"general","content":"nine","content_type":"text/x-markdown",\#
          "reactions":[],"flags":[]}
          """#)
      }
      if let op = form?["op"], let flag = form?["flag"] {
        state.tell(
          """
          "type":"update_message_flags","op":"\(op)","flag":"\(flag)","messages":[9],"all":false
          """)
      }
      let answer = Response.success(#""messages":[9]"#)
      guard case .lost = fate else { return answer }
      state.awaited = state.events.count - 1
      return answer.with(.reset(after: 0))
    }
  }
}
