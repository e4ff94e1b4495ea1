import Foundation
import LoopbackServer
import MessageSync
import SyncProtocols
import Testing
import UpdateMachine

@testable import ZulipSync

/// Checks that the examples of the articles do what they say.
@Suite(.timeLimit(.minutes(5))) struct ZulipExampleOverHTTPTests {
  /// A server with a channel that has two messages.
  private static func answer(_ request: LoopbackServer.Request) async -> Response {
    switch (request.method, request.path) {
    case ("POST", "/api/v1/register"):
      return .success(
        """
        "queue_id":"q1","last_event_id":-1,"zulip_feature_level":323,"user_id":7,\
        "subscriptions":[{"stream_id":4,"name":"general"}],"streams":[],\
        "presences":{"7":{"active_timestamp":999900,"idle_timestamp":999950}},\
        "server_timestamp":1000000
        """)
    case ("GET", "/api/v1/messages"):
      let messages = [(1, "soup?"), (2, "pizza")].map { id, text in
        """
        {"id":\(id),"sender_id":8,"type":"stream","stream_id":4,"subject":"Lunch",\
        "display_recipient":"general","content":"\(text)","content_type":"text/html",\
        "flags":[],"reactions":[]}
        """
      }
      return .success(
        """
        "messages":[\(messages.joined(separator: ","))],"anchor":10000000000000000,\
        "found_anchor":false,"found_oldest":true,"found_newest":true,"history_limited":false
        """)
    default:
      if request.query["dont_block"] != "true" { await untilCancelled() }
      return .events()
    }
  }

  @Test func `the article's account shows the newest messages of a topic`() async throws {
    let (email, key, store) = (Ada.email, Ada.key, MemoryStore())
    var shown: [String] = []
    func show(_ rows: [WindowView<MessageStore<ZulipMessageList>>.Row]) {
      shown = rows.compactMap {
        if case .item(let message) = $0 { message.content.text } else { nil }
      }
    }
    try await LoopbackServer.serving(answer: Self.answer) { server in
      let address = server.address

      // Article example begins: account
      let site = try ZulipSite(address)  // "https://chat.example.org"
      let connection = try ZulipConnection(to: site, email: email, key: ZulipAPIKey(key))
      let machine = UpdateMachine(source: ZulipAccountSource(connection), store: store)
      async let following: Void = machine.run()
      for await state in await machine.states() where state.model != nil { break }

      let lunch = ZulipNarrow([.init("channel", .text("general")), .init("topic", .text("lunch"))])
      guard let list = await machine.state.model?.list(lunch) else { return }
      for await view in await machine.openWindow(on: list, showing: .newest(50)) {
        show(view.rows)  // Messages, what was there formerly, and gaps.
        if view.isComplete { break }
      }
      // Article example ends

      await machine.stop()
      await following
      await server.reaches { $0.answering == 0 }
    }
    #expect(shown == ["soup?", "pizza"])
  }

  @MainActor
  @Test func `the article's presence is shown until nobody is there`() async throws {
    let (ada, clock) = (UserID(7), HeldClock(Moment(milliseconds: 0)))
    var shown: [ZulipPresence.Status] = []
    try await LoopbackServer.serving(answer: Self.answer) { server in
      let connection = try Ada.connection(to: server)
      let machine = UpdateMachine(source: ZulipPresenceSource(connection, clock: clock))
      let running = Task { await machine.run() }
      func show(_ presence: ZulipPresence, at now: Moment) {
        let status = presence.status(of: ada, at: now)
        if shown.last != status { shown.append(status) }
        if status == .offline { Task { await machine.stop() } }
      }

      // Article example begins: presence
      var fading: Task<Void, any Error>?
      for await state in await machine.states() {
        fading?.cancel()
        if state.status == .halted(.stopped) { break }
        guard let presence = state.model else { continue }
        show(presence, at: clock.now)
        fading = Task {
          while let next = presence.nextChange(after: clock.now) {
            try await clock.sleep(until: next)
            show(presence, at: clock.now)
          }
        }
      }
      // Article example ends

      await running.value
    }
    #expect(shown == [.active, .idle, .offline])
  }

  /// The same server, with uploads and a list of topics.
  private static func answerMore(_ request: LoopbackServer.Request) async -> Response {
    switch (request.method, request.path) {
    case ("POST", "/api/v1/user_uploads"): .success(#""url":"/user_uploads/1/h.jpg""#)
    case ("GET", "/api/v1/users/me/4/topics"):
      .success(#""topics":[{"name":"lunch","max_id":2}]"#)
    case ("POST", "/api/v1/messages"):
      .success(#""id":\(request.text.contains("user_uploads") ? 3 : 0)"#)
    default: await answer(request)
    }
  }

  @Test func `the article's file is uploaded, and its topics are asked for`() async throws {
    let (general, photo) = (ChannelID(4), Data(count: 100))
    let shares = Shared<[Double]>([])
    let show = { @Sendable (share: Double) in shares.change { $0.append(share) } }
    try await LoopbackServer.serving(answer: Self.answerMore) { server in
      let connection = try Ada.connection(to: server)
      let machine = UpdateMachine(source: ZulipAccountSource(connection), store: MemoryStore())
      async let following: Void = machine.run()
      for await state in await machine.states() where state.model != nil { break }

      // Article example begins: requests
      let path = try await connection.upload(photo, named: "harbour.jpg") { share in
        show(share)  // Up to 1, on another thread.
      }
      let message = ZulipOutgoing(.channel(general, topic: "lunch"), "[harbour.jpg](\(path))")
      _ = try await machine.mutate(.send(message))

      let answer = try await connection.ask(.get, "users/me/\(general)/topics")
      let topics = answer["topics"]?.list ?? []
      // Article example ends

      #expect(path == "/user_uploads/1/h.jpg")
      #expect(topics.map { $0.fields?["name"]?.text } == ["lunch"])
      await machine.stop()
      await following
      await server.reaches { $0.answering == 0 }
    }
    #expect(shares.value.last == 1)
  }
}
