import Foundation
import LoopbackServer
import MessageSync
import SyncProtocols
import Testing
import UpdateMachine

@testable import ZulipSync

/// Tests of messages through the outbox, the driver, URLSession and a socket.
@Suite(.timeLimit(.minutes(3))) struct SendOverHTTPTests {
  private static let general = ZulipConnection.Recipient.channel(ChannelID(4), topic: "Lunch")

  /// A machine that follows a chat, once it holds an account.
  private static func follow(
    _ chat: Chat, store: MemoryStore = MemoryStore(),
    _ body: (UpdateMachine<ZulipAccountSource>, ZulipMessageList) async throws -> Void
  ) async throws {
    try await Ada.serve {
      await chat.answer($0)
    } while: { server, connection in
      let source = ZulipAccountSource(connection)
      let machine = UpdateMachine(source: source, store: store, settings: .quick)
      let running = Task { await machine.run() }
      let start = try #require(await machine.first { _ in true })
      let list = try #require(start.model).list(ZulipNarrow([.init("channel", .number(4))]))
      let views = await machine.openWindow(on: list, showing: .newest(10))
      for await view in views where view.isComplete { break }
      try await body(machine, list)
      await machine.stop()
      await running.value
      await server.reaches { $0.answering == 0 }
    }
  }

  @Test func `a message is an echo until its event comes, and is sent once`() async throws {
    let chat = Chat()
    chat.holdsEvents(true)
    try await Self.follow(chat) { machine, list in
      let sent = try await machine.mutate(.send(ZulipOutgoing(Self.general, "At noon?")))
      let waiting = try #require(await machine.first { $0.echoes(in: list).first?.state == .sent })
      #expect(waiting.echoes(in: list).map(\.message.content) == ["At noon?"])
      let account = try #require(waiting.model)
      #expect(waiting.echoes(in: account.list(ZulipNarrow([.init("is", .text("dm"))]))).isEmpty)
      #expect(account.messages.count == 0)
      chat.holdsEvents(false)
      #expect(await machine.acknowledged(sent.ticket) == .acknowledged)
      let state = await machine.state
      #expect(state.echoes.isEmpty)
      #expect(state.model?.messages.messages.map(\.content.text) == ["At noon?"])
      #expect(chat.posts == ["At noon?"])
    }
  }

  @Test func `a message that a page brings before its event shows once`() async throws {
    let chat = Chat()
    chat.holdsEvents(true)
    try await Self.follow(chat) { machine, list in
      let sent = try await machine.mutate(.send(ZulipOutgoing(Self.general, "At noon?")))
      _ = await machine.first { $0.echoes.first?.state == .sent && chat.answered == 1 }
      let lunch = ZulipNarrow([.init("channel", .number(4)), .init("topic", .text("lunch"))])
      let account = try #require(await machine.state.model)
      let views = await machine.openWindow(on: account.list(lunch), showing: .newest(10))
      for await view in views where !view.items.isEmpty { break }
      #expect(await machine.acknowledged(sent.ticket) == .acknowledged)
      let state = await machine.state
      #expect(state.echoes.isEmpty && state.model?.messages.count == 1)
      chat.holdsEvents(false)
      let next = try await machine.mutate(.send(ZulipOutgoing(Self.general, "And then?")))
      #expect(await machine.acknowledged(next.ticket) == .acknowledged)
      #expect(await machine.state.model?.messages.count == 2)
    }
  }

  /// No event tells of it, so the list is read again.
  @Test func `a message to a channel that is not followed shows at once`() async throws {
    let chat = Chat()
    try await Self.follow(chat) { machine, _ in
      let hall = ChannelID(5)
      chat.write("Anybody?", to: hall)
      let account = try #require(await machine.state.model)
      let list = account.list(ZulipNarrow([.init("channel", .number(5))]))
      let views = await machine.openWindow(on: list, showing: .newest(10))
      for await view in views where view.items.count == 1 { break }
      let sent = try await machine.mutate(.send(ZulipOutgoing(.channel(hall, topic: ""), "Hello")))
      for await view in views where view.items.count == 2 { break }
      #expect(await machine.acknowledged(sent.ticket) == .acknowledged)
      #expect(await machine.state.echoes.isEmpty)
    }
  }

  @Test func `the article's message is sent, or the user is asked`() async throws {
    let chat = Chat([.never])
    try await Self.follow(chat) { machine, list in
      var shown: [ZulipEcho.State] = []
      func show(_ echoes: [ZulipEcho]) { shown += echoes.map(\.state) }
      func askUser(_ ticket: MutationTicket) async { await machine.retry(ticket) }
      func showRejected(_ ticket: MutationTicket) { Issue.record("\(ticket) is set aside") }
      let general = ChannelID(4)

      // Article example begins: sending
      let message = ZulipOutgoing(.channel(general, topic: "lunch"), "At noon?")
      let sent = try await machine.mutate(.send(message))  // Offline, too. It is kept.
      show(await machine.state.echoes(in: list))
      switch await machine.acknowledged(sent.ticket) {
      case .uncertain: await askUser(sent.ticket)  // It may be there. Then retry it, or discard it.
      case .setAside: showRejected(sent.ticket)  // Then edit it, retry it, or discard it.
      default: break  // It is in the list.
      }
      // Article example ends

      #expect(await machine.acknowledged(sent.ticket) == .acknowledged)
      #expect(chat.posts == ["At noon?"] && chat.asked == 2)
      #expect(shown.count == 1)
    }
  }

  @Test func `a message is not sent twice after a lost answer, and its event confirms it`()
    async throws
  {
    let chat = Chat([.lost])
    try await Self.follow(chat) { machine, _ in
      let sent = try await machine.mutate(.send(ZulipOutgoing(Self.general, "once")))
      _ = await machine.first { $0.echoes.isEmpty }
      #expect(await machine.state(of: sent.ticket) == .acknowledged)
      // The message behind it is sent, too.
      let next = try await machine.mutate(.send(ZulipOutgoing(.direct([UserID(8)]), "two")))
      #expect(await machine.acknowledged(next.ticket) == .acknowledged)
      #expect(chat.posts == ["once", "two"])
    }
  }

  @Test func `a message that never arrived is uncertain until the user decides`() async throws {
    let chat = Chat([.never, .never])
    try await Self.follow(chat) { machine, list in
      let sent = try await machine.mutate(.send(ZulipOutgoing(Self.general, "twice?")))
      let waits = try await machine.mutate(.send(ZulipOutgoing(Self.general, "after it")))
      #expect(await machine.acknowledged(sent.ticket) == .uncertain)
      #expect(await machine.state.echoes(in: list).map(\.state) == [.uncertain, .queued])
      #expect(chat.asked == 1)
      #expect(await machine.retry(sent.ticket))
      #expect(await machine.acknowledged(sent.ticket) == .uncertain)
      #expect(await machine.discard(sent.ticket))
      #expect(await machine.acknowledged(waits.ticket) == .acknowledged)
      #expect(chat.posts == ["after it"] && chat.asked == 3)
    }
  }

  @Test func `a message whose answer and event were lost is found in its conversation`()
    async throws
  {
    let chat = Chat([.lost])
    chat.holdsEvents(true)
    try await Self.follow(chat) { machine, list in
      chat.write("once", to: ChannelID(4))
      let sent = try await machine.mutate(.send(ZulipOutgoing(Self.general, "once")))
      // It is not uncertain while it is looked for, nor after it was found.
      #expect(await machine.accepted(sent.ticket))
      #expect(chat.searched == 1)
      #expect(await machine.state.echoes(in: list).map(\.state) == [.sent])
      chat.dropQueue()
      #expect(await machine.acknowledged(sent.ticket) == .acknowledged)
      #expect(await machine.state.echoes.isEmpty)
      #expect(chat.posts == ["once", "once"] && chat.asked == 1)
    }
  }

  @Test func `a message that was there before is not taken for one that was lost`() async throws {
    let chat = Chat([nil, .never])
    try await Self.follow(chat) { machine, list in
      let hall = ZulipConnection.Recipient.channel(ChannelID(5), topic: "")
      let account = try #require(await machine.state.model)
      let narrow = account.list(ZulipNarrow([.init("channel", .number(5))]))
      let views = await machine.openWindow(on: narrow, showing: .newest(10))
      let first = try await machine.mutate(.send(ZulipOutgoing(hall, "ok")))
      for await view in views where view.items.count == 1 { break }
      #expect(await machine.acknowledged(first.ticket) == .acknowledged)
      let second = try await machine.mutate(.send(ZulipOutgoing(hall, "ok")))
      #expect(await machine.acknowledged(second.ticket) == .uncertain)
      #expect(chat.posts == ["ok"] && chat.asked == 2 && chat.searched == 1)
    }
  }

  /// A code that says nothing gives way to the server's words.
  @Test func `a refused message is set aside, edited, and sent`() async throws {
    let chat = Chat([.refused])
    try await Self.follow(chat) { machine, list in
      let sent = try await machine.mutate(.send(ZulipOutgoing(Self.general, "wrong")))
      #expect(await machine.acknowledged(sent.ticket) == .setAside)
      #expect(
        await machine.state.echoes(in: list).map(\.state) == [
          .refused(RejectionCode("secret"))
        ])
      #expect(await machine.edit(sent.ticket, to: .send(ZulipOutgoing(Self.general, "right"))))
      #expect(await machine.acknowledged(sent.ticket) == .acknowledged)
      #expect(chat.posts == ["right"])
    }
  }

  @Test func `an expired queue neither loses nor repeats a message`() async throws {
    let chat = Chat()
    chat.holdsEvents(true)
    try await Self.follow(chat) { machine, list in
      let sent = try await machine.mutate(.send(ZulipOutgoing(Self.general, "before")))
      _ = await machine.first { _ in chat.answered == 1 }
      chat.dropQueue()
      #expect(await machine.acknowledged(sent.ticket) == .acknowledged)
      #expect(await machine.state.echoes.isEmpty)
      #expect(chat.posts == ["before"])
    }
  }

  @Test func `a queued message survives a restart and is sent then`() async throws {
    let store = MemoryStore()
    let chat = Chat([.rateLimited])
    var ticket: MutationTicket?
    try await Self.follow(chat, store: store) { machine, _ in
      let sent = try await machine.mutate(.send(ZulipOutgoing(Self.general, "later")))
      ticket = sent.ticket
      #expect(await machine.stored(sent.ticket))
      // The server did not take the message. The next save puts that on the disk.
      _ = await machine.first { $0.local?.outbox.status == .waiting }
      let next = try await machine.mutate(.send(ZulipOutgoing(Self.general, "and then")))
      #expect(await machine.stored(next.ticket))
    }
    #expect(chat.posts == [])
    try await Self.follow(chat, store: store) { machine, _ in
      let sent = try #require(ticket)
      #expect(await machine.acknowledged(sent) == .acknowledged)
      _ = await machine.first { $0.echoes.isEmpty }
      #expect(chat.posts == ["later", "and then"])
      #expect(chat.queues == 1, "the queue is the same, without a register")
    }
  }
}

extension UpdateMachine where Origin == ZulipAccountSource {
  /// Waits for a state that has an account and is as it should be.
  fileprivate func first(_ isRight: (State) -> Bool) async -> State? {
    for await state in states() where state.model != nil && isRight(state) { return state }
    return nil
  }
}

/// A server with one channel and one client, to which messages can be sent.
private final class Chat: Sendable {
  /// What happens to a message that is sent. By default the server takes it.
  enum Fate {
    /// The server takes it, but the connection breaks before the answer arrives.
    case lost
    /// The connection breaks before the server has read it.
    case never
    case refused
    case rateLimited
  }

  private struct State {
    var fates: [Fate?]
    var searched = 0
    var posts: [String] = []
    var asked = 0
    var answered = 0
    var queues = 0
    var isQueueThere = false
    var holdsEvents = false
    var events: [String] = []
    var messages: [(place: String, json: String)] = []
    var waiting: [AsyncStream<Void>.Continuation] = []

    /// Posts a message to a channel, or directly to user 8. Its event comes if the channel is
    /// followed.
    mutating func post(_ text: String, to channel: String?, topic: String, as local: String) -> Int
    {
      posts.append(text)
      let id = posts.count
      let place =
        channel.map { #""type":"stream","stream_id":\#($0),"display_recipient":"general""# }
        ?? #""type":"private","display_recipient":[{"id":7},{"id":8}]"#
      let message = """
        "id":\(id),"sender_id":7,\(place),"subject":"\(topic)",\
        "content":"\(text)","content_type":"text/html","reactions":[]
        """
      let conversation = channel.map { "\($0)/\(topic.lowercased())" } ?? "direct"
      messages.append((conversation, #"{\#(message),"flags":["read"]}"#))
      if channel == nil || channel == "4" {
        events.append(
          """
          {"id":\(events.count),"type":"message","flags":["read"],\
          "local_message_id":"\(local)","message":{\(message)}}
          """)
      }
      ring()
      return id
    }

    mutating func ring() {
      for one in waiting { one.finish() }
      waiting = []
    }
  }

  private let state: Shared<State>

  init(_ fates: [Fate?] = []) { state = Shared(State(fates: fates)) }

  var posts: [String] { state.value.posts }
  /// How many requests to send have arrived.
  var asked: Int { state.value.asked }
  var answered: Int { state.value.answered }
  /// How often a message was looked for.
  var searched: Int { state.value.searched }
  var queues: Int { state.value.queues }

  func holdsEvents(_ holds: Bool) {
    state.change {
      $0.holdsEvents = holds
      $0.ring()
    }
  }

  /// Somebody else writes.
  func write(_ text: String, to channel: ChannelID) {
    state.change { _ = $0.post(text, to: "\(channel)", topic: "", as: "") }
  }

  func dropQueue() {
    state.change {
      $0.isQueueThere = false
      $0.ring()
    }
  }

  func answer(_ request: LoopbackServer.Request) async -> Response {
    switch (request.method, request.path) {
    case ("POST", "/api/v1/register"): return register()
    case ("GET", "/api/v1/users/me"): return .success(#""user_id":7"#)
    case ("GET", "/api/v1/messages"): return page(request)
    case ("POST", "/api/v1/messages"): return take(request)
    case ("GET", "/api/v1/events"): return await events(request)
    default: return .success()
    }
  }

  /// A search is one for the user's own messages of one conversation, after an ID, as they were
  /// typed. Everything else is answered with all messages.
  private func page(_ request: LoopbackServer.Request) -> Response {
    var narrow: ZulipNarrow?
    do {
      narrow = try request.query["narrow"].map {
        try JSONDecoder().decode(ZulipNarrow.self, from: Data($0.utf8))
      }
    } catch {
      Issue.record("the server cannot read the narrow: \(error)")
    }
    let all = state.value.messages
    var messages = all.map(\.json)
    if let terms = narrow?.terms, terms.contains(.init("sender", .number(7))) {
      #expect(request.query["apply_markdown"] == "false")
      #expect(request.query["include_anchor"] == "false")
      var place = "direct"
      if case .number(let channel)? = terms.first(where: { $0.name == "channel" })?.operand,
        case .text(let topic)? = terms.first(where: { $0.name == "topic" })?.operand
      {
        place = "\(channel)/\(topic.lowercased())"
      }
      let after = request.query["anchor"].flatMap { Int($0) } ?? 0
      messages = all.dropFirst(after).filter { $0.place == place }.map(\.json)
      state.change { $0.searched += 1 }
    }
    return .success(
      """
      "messages":[\(messages.joined(separator: ","))],"anchor":10000000000000000,\
      "found_anchor":false,"found_oldest":true,"found_newest":true,"history_limited":false
      """)
  }

  private func register() -> Response {
    let queue = state.change {
      $0.queues += 1
      $0.isQueueThere = true
      $0.events = []
      return $0.queues
    }
    return .success(
      """
      "queue_id":"q\(queue)","last_event_id":-1,"zulip_feature_level":323,"user_id":7,\
      "subscriptions":[{"stream_id":4,"name":"general","is_muted":false}],\
      "streams":[{"stream_id":5,"name":"hall"}],\
      "max_message_length":100,"max_message_id":\(state.value.posts.count)
      """)
  }

  private func events(_ request: LoopbackServer.Request) async -> Response {
    let last = request.query["last_event_id"].flatMap { Int($0) } ?? -1
    while true {
      let (stream, continuation) = AsyncStream<Void>.makeStream()
      let answer = state.change { state -> Response? in
        guard state.isQueueThere, request.query["queue_id"] == "q\(state.queues)" else {
          return .error(400, "BAD_EVENT_QUEUE_ID")
        }
        if !state.holdsEvents, state.events.count > last + 1 {
          return .events(state.events[(last + 1)...].joined(separator: ","))
        }
        if request.query["dont_block"] == "true" { return .events() }
        state.waiting.append(continuation)
        return nil
      }
      if let answer { return answer }
      for await _ in stream {}
      if Task.isCancelled { return .events() }
    }
  }

  private func take(_ request: LoopbackServer.Request) -> Response {
    guard let form = request.form else { return .error(400, "REQUEST_VARIABLE_MISSING") }
    return state.change { state in
      state.asked += 1
      let fate = state.fates.isEmpty ? nil : state.fates.removeFirst()
      switch fate {
      case .never: return Response.success().with(.reset(after: 0))
      case .refused: return .error(400, "BAD_REQUEST")
      case .rateLimited: return .error(429, "RATE_LIMIT_HIT", #""retry-after":600"#)
      case .lost, nil: break
      }
      let id = state.post(
        form["content"] ?? "", to: form["type"] == "direct" ? nil : form["to"] ?? "",
        topic: form["topic"] ?? "", as: form["local_id"] ?? "")
      state.answered += 1
      let answer = Response.success(#""id":\#(id)"#)
      return fate == .lost ? answer.with(.reset(after: 0)) : answer
    }
  }
}
