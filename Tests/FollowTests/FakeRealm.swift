import Foundation
import LoopbackServer

/// A server, as far as a client with one subscribed channel can see it.
final class FakeRealm: @unchecked Sendable {
  private let lock = NSLock()
  private var messages: [Sent]
  private var events: [String] = []
  private var queues = 0
  private var released = 0
  private var queuesThere: Set<String> = []
  private var isSilent = false
  private var refusal: LoopbackServer.Response?
  private var hidesMessages = false
  private var posts: [String] = []
  private var sendingAnswer: LoopbackServer.Response?
  private var waiting: [AsyncStream<Void>.Continuation] = []
  private var channels = [(name: "general", isMuted: false)]
  private var senderName = "Bo"
  private var unread = #"{"pms":[],"huddles":[],"streams":[],"mentions":[]}"#

  /// A message, and fields that replace the usual ones.
  struct Sent {
    var text: String
    var fields: [String: String] = [:]
  }

  init(_ texts: [String]) { messages = texts.map { Sent(text: $0) } }

  init(sent: [Sent]) { messages = sent }

  var registers: Int { lock.withLock { queues } }
  var releases: Int { lock.withLock { released } }

  /// Somebody sends messages.
  func send(_ texts: String...) {
    change { realm in
      for text in texts {
        realm.messages.append(Sent(text: text))
        let message = FakeRealm.message(realm.messages.count, realm.messages.last ?? Sent(text: ""))
        realm.tell(#""type":"message","flags":[],"message":\#(message)"#)
      }
    }
  }

  /// Subscribes the user to a new channel, which an event announces.
  func subscribe(to name: String, isMuted: Bool = false) {
    change { realm in
      realm.channels.append((name, isMuted))
      let id = realm.channels.count + 3
      realm.tell(
        #""type":"subscription","op":"add","subscriptions":[{"stream_id":\#(id),"name":"\#(name)"}]"#
      )
    }
  }

  /// The server forgets all queues.
  func forgetQueue() { change { $0.queuesThere = [] } }

  /// From now on the server answers only registers.
  func fallSilent() { change { $0.isSilent = true } }

  /// From now on the server answers every page with this.
  func answerPages(with refusal: LoopbackServer.Response) { change { $0.refusal = refusal } }

  /// From now on the server shows no messages, as if its plan ended the history later.
  func hideMessages() { change { $0.hidesMessages = true } }

  /// Takes the user's first subscription away, which an event announces.
  func unsubscribe() {
    change { realm in
      let name = realm.channels.removeFirst().name
      realm.tell(
        #""type":"subscription","op":"remove","subscriptions":[{"stream_id":4,"name":"\#(name)"}]"#)
    }
  }

  func rename(sender: String) { change { $0.senderName = sender } }

  /// Sets `unread_msgs` of the next register.
  func leaveUnread(_ unread: String) { change { $0.unread = unread } }

  private func tell(_ fields: String) { events.append(#"{"id":\#(events.count),\#(fields)}"#) }

  private func change(_ body: (FakeRealm) -> Void) {
    lock.withLock {
      body(self)
      for one in waiting { one.finish() }
      waiting = []
    }
  }

  private static func message(_ id: Int, _ sent: Sent, flags: String = "") -> String {
    var fields = [
      "sender_id": "8", "type": #""stream""#, "stream_id": "4", "subject": #""lunch""#,
      "display_recipient": #""general""#, "content_type": #""text/x-markdown""#, "reactions": "[]",
    ]
    fields.merge(sent.fields) { $1 }
    let rest = fields.sorted { $0.key < $1.key }.map { #""\#($0.key)":\#($0.value)"# }
    return #"{"id":\#(id),"content":"\#(sent.text)",\#(rest.joined(separator: ","))\#(flags)}"#
  }

  // MARK: Answers

  func answer(_ request: LoopbackServer.Request) async -> LoopbackServer.Response {
    switch (request.method, request.path) {
    case ("POST", "/api/v1/register"): return lock.withLock { register() }
    case ("DELETE", "/api/v1/events"):
      lock.withLock { released += 1 }
      return FakeRealm.success("")
    case ("GET", "/api/v1/messages"): return lock.withLock { page(request) }
    case ("POST", "/api/v1/messages"): return take(request)
    case ("GET", "/api/v1/events"): return await poll(request)
    default: return .init(status: 404)
    }
  }

  /// What users have sent: "4/lunch: text".
  var sent: [String] { lock.withLock { posts } }

  /// From now on the server answers every message that is sent with this; `nil`: it takes them.
  func answerSending(with answer: LoopbackServer.Response?) { change { $0.sendingAnswer = answer } }

  private func take(_ request: LoopbackServer.Request) -> LoopbackServer.Response {
    if let answer = lock.withLock({ sendingAnswer }) { return answer }
    let form = request.form
    let text = form?["content"] ?? ""
    change { realm in
      realm.posts.append("\(form?["to"] ?? "")/\(form?["topic"] ?? ""): \(text)")
      realm.messages.append(Sent(text: text, fields: ["sender_id": "7"]))
      let message = FakeRealm.message(realm.messages.count, realm.messages.last ?? Sent(text: ""))
      realm.tell(
        #""type":"message","flags":["read"],"message":\#(message),"#
          + #""local_message_id":"\#(form?["local_id"] ?? "")""#)
    }
    return FakeRealm.success(#""id":\#(lock.withLock { messages.count })"#)
  }

  private static func success(_ fields: String) -> LoopbackServer.Response {
    .json(#"{"result":"success","msg":""\#(fields.isEmpty ? "" : ",")\#(fields)}"#)
  }

  private func register() -> LoopbackServer.Response {
    queues += 1
    queuesThere.insert("q\(queues)")
    let subscriptions = channels.enumerated().map {
      #"{"stream_id":\#($0.offset + 4),"name":"\#($0.element.name)","is_muted":\#($0.element.isMuted)}"#
    }
    return FakeRealm.success(
      """
      "queue_id":"q\(queues)","last_event_id":\(events.count - 1),"zulip_feature_level":323,\
      "user_id":7,"realm_users":[{"user_id":7,"full_name":"Ada","email":"ada@example.org"},\
      {"user_id":8,"full_name":"\(senderName)","email":"bo@example.org"}],\
      "subscriptions":[\(subscriptions.joined(separator: ","))],"streams":[],\
      "never_subscribed":[{"stream_id":99,"name":"elsewhere"}],"unread_msgs":\(unread)
      """)
  }

  private func page(_ request: LoopbackServer.Request) -> LoopbackServer.Response {
    if let refusal { return refusal }
    let messages = hidesMessages ? [] : messages
    let anchor = Int(request.query["anchor"] ?? "") ?? Int.max
    let before = Int(request.query["num_before"] ?? "") ?? 0
    let after = Int(request.query["num_after"] ?? "") ?? 0
    // The one narrow that leaves something out here.
    let isOfPeople = request.query["narrow"]?.contains(#""operand":"dm""#) ?? false
    let words = request.query["narrow"]?.firstMatch(
      of: #/"operand":"([^"]*)","operator":"search"/#)?.1
    let ids = messages.indices.filter { index in
      if let words, !messages[index].text.contains(words) { return false }
      return
        !isOfPeople || messages[index].fields["type"] == #""private""#
    }.map { $0 + 1 }
    let older = ids.filter { $0 < anchor }
    let own = ids.filter { $0 == anchor }
    let newer = ids.filter { $0 > anchor }
    let shown = older.suffix(before) + own + newer.prefix(after)
    let texts = shown.map { FakeRealm.message($0, messages[$0 - 1], flags: #","flags":[]"#) }
    return FakeRealm.success(
      """
      "messages":[\(texts.joined(separator: ","))],"anchor":\(min(anchor, 10_000_000_000_000_000)),\
      "found_anchor":\(!own.isEmpty),"found_oldest":\(older.count <= before),\
      "found_newest":\(newer.count <= after),"history_limited":\(hidesMessages)
      """)
  }

  private func poll(_ request: LoopbackServer.Request) async -> LoopbackServer.Response {
    let last = Int(request.query["last_event_id"] ?? "") ?? -1
    while true {
      let (stream, continuation) = AsyncStream<Void>.makeStream()
      let answer = lock.withLock { () -> LoopbackServer.Response? in
        guard queuesThere.contains(request.query["queue_id"] ?? "") else {
          return .json(#"{"result":"error","msg":"","code":"BAD_EVENT_QUEUE_ID"}"#, status: 400)
        }
        let new = isSilent ? [] : Array(events.dropFirst(last + 1))
        if !new.isEmpty || request.query["dont_block"] != nil && !isSilent {
          return FakeRealm.success(#""events":[\#(new.joined(separator: ","))]"#)
        }
        waiting.append(continuation)
        return nil
      }
      if let answer { return answer }
      for await _ in stream {}
      if Task.isCancelled { return FakeRealm.success(#""events":[]"#) }
    }
  }
}
