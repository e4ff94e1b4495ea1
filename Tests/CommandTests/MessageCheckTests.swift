import Foundation
import MessageSync
import Testing
import UpdateMachine
import ZulipSync

@testable import RecordingCheck
@testable import simulate

@Suite("check: pages of messages")
struct MessageCheckTests {
  private static let file = "pages-and-races.jsonl"

  @Test func `the shipped recording ends as its pages show, in every tried order`() throws {
    let ran = Ran("check", "--verbose", "--orders", "10", "--json", Shipped.recording(Self.file))
    #expect(ran.code == .success, "\(ran.text)")
    let last = try Tree(try #require(ran.out.last))
    #expect(last["pages"] as? Int == 190)
    #expect(last["orders"] as? Int == 809)
    #expect(last["inDoubt"] as? Int == 10)
    #expect(last["differences"] as? Int == 0)
    #expect(
      ran.out.contains(
        "  pages        190: 190 given, 1 of them without contents, 0 of no session"),
      "\(ran.text)")
    // These are merged flags of message 2150, before any page has come [03 R8.14].
    #expect(ran.text.contains(": message 2150, read, in 10 of 684 orders"), "\(ran.text)")
    #expect(ran.text.contains("at most 10 for each of 74 races, and every one for 8 of them"))
  }

  @Test func `a recording without pages reports none`() {
    let ran = Ran("check", "--verbose", Shipped.recording("session.jsonl"))
    #expect(!ran.text.contains("  pages"))
  }

  // MARK: Tampered recordings

  struct Tampering: Sendable, CustomTestStringConvertible {
    var name: String
    var line: Int
    var old: String
    var new: String
    /// The line where the change is noticed.
    var noticed: Int
    var what: String
    var expected: String
    var found: String

    var testDescription: String { name }
  }

  static let tamperings = [
    Tampering(
      name: "another content on a page", line: 114, old: "<p>r8 1</p>", new: "<p>r8 one</p>",
      noticed: 114, what: "message 2148, its content", expected: "<p>r8 one</p>",
      found: "<p>r8 1</p>"),
    Tampering(
      name: "a flag on a page that no event set", line: 114,
      old: #""content":"<p>r8 3</p>","content_type":"text/html","flags":[]"#,
      new: #""content":"<p>r8 3</p>","content_type":"text/html","flags":["starred"]"#,
      noticed: 114, what: "message 2150, its flags", expected: "starred", found: "none"),
    Tampering(
      name: "a reaction that a page lacks", line: 46,
      old: #""<p>storm 45</p>","content_type":"text/html","flags":[],"reactions":[{"user_id":50,"#
        + #""emoji_code":"1f419","reaction_type":"unicode_emoji"}]"#,
      new: #""<p>storm 45</p>","content_type":"text/html","flags":[],"reactions":[]"#,
      noticed: 46, what: "message 2131, its reactions", expected: "none",
      found: "unicode_emoji:1f419 of 50"),
    Tampering(
      name: "another topic on a page", line: 327,
      old: #""id":2170,"sender_id":8,"type":"stream","#
        + #""subject":"sreg0""#,
      new: #""id":2170,"sender_id":8,"type":"stream","subject":"sreg""#, noticed: 327,
      what: "message 2170, its place", expected: "3/sreg", found: "3/sreg0"),
    Tampering(
      name: "a message that a page lacks", line: 327, old: #"{"id":2176,"#, new: #"{"id":2177,"#,
      noticed: 327, what: "the list of channel:3 topic:sreg0, message 2176",
      expected: "not listed", found: "listed"),
    Tampering(
      name: "an event that never came", line: 87, old: #""message_ids":[2146,2144,2145]"#,
      new: #""message_ids":[2146,2145]"#, noticed: 88,
      what: "the list of channel:6 topic:race moved, message 2144", expected: "not listed",
      found: "listed"),
  ]

  @Test(arguments: tamperings)
  func `a tampered page or event is reported with both values`(_ tampering: Tampering) throws {
    var lines = try shippedLines(Self.file)
    let line = lines[tampering.line - 1]
    lines[tampering.line - 1] = line.replacingOccurrences(of: tampering.old, with: tampering.new)
    #expect(lines[tampering.line - 1] != line, "\(line)")
    let scratch = try Scratch(lines)
    let ran = Ran("check", "--verbose", "--orders", "10", scratch.path)
    #expect(ran.code == .failure)
    let told = ran.out.first {
      $0.hasPrefix("\(scratch.path):\(tampering.noticed): \(tampering.what), in ")
    }
    #expect(
      told?.split(separator: "\n").dropFirst() == [
        "  expected  \(tampering.expected)", "  found     \(tampering.found)",
      ], "\(ran.text)")
  }

  @Test func `an unreadable page is a difference, reported without its content`() throws {
    var lines = try shippedLines(Self.file)
    lines[113] = lines[113].replacingOccurrences(of: #""sender_id":7"#, with: #""sender_id":"me""#)
    let scratch = try Scratch(lines)
    let ran = Ran("check", "--verbose", "--orders", "1", scratch.path)
    #expect(ran.code == .failure)
    #expect(
      ran.out.contains(
        """
        \(scratch.path):114: an answer about messages
          expected  what the protocol says of it
          found     malformed: response.body.messages[0].sender_id
        """), "\(ran.text)")
  }

  @Test func `a doubt that outlasts a page that should settle it is a difference`() throws {
    var careless = Interpretation()
    careless.asksAgain = false
    let file = Shipped.recording(Self.file)
    let ran = try Ran(checking: [file], careless, orders: 10)
    #expect(ran.code == .failure)
    #expect(
      ran.out.contains {
        $0.hasPrefix("\(file):114: message 2150, which was in doubt before this page, in ")
          && $0.hasSuffix("\n  expected  none\n  found     read in doubt")
      }, "\(ran.text)")
  }

  @Test func `a page in another content form than its queue is compared without contents`() throws {
    let legacy = try shippedLines("observers.jsonl").filter {
      $0.contains(#""client":"hamlet/legacy""#)
    }
    var lines = legacy
    let place = try #require(lines.lastIndex { $0.contains(#"{"id":2012,"#) })
    let old = #"{"id":2012,"sender_id":"#
    // As if another user had sent the message. Its content is never compared with anything.
    lines[place] = lines[place].replacingOccurrences(of: old, with: old + "1")
    let scratch = try Scratch(lines)
    let ran = Ran("check", "--verbose", "--orders", "1", scratch.path)
    #expect(ran.code == .failure)
    #expect(
      ran.out.contains {
        $0.hasPrefix("\(scratch.path):\(place + 1): message 2012, its sender, in ")
      }, "\(ran.text)")
    let other = try Scratch(
      legacy.map {
        $0.replacingOccurrences(of: #""content":"<p>"#, with: #""content":"<p>Not so: "#)
      })
    let otherRan = Ran("check", "--verbose", "--orders", "1", other.path)
    #expect(otherRan.code == .success, "\(other.path): \(otherRan.text)")
  }

  @Test func `a bound that is not a number is refused`() {
    #expect(Ran("check", "--orders", "0").code == .usage)
    #expect(Ran("check", "--orders", "many").code == .usage)
  }
}

@Suite("check: the orders of pages and events")
struct MessageOrderTests {
  private let narrow = ZulipFilter()

  private func page(_ sent: Int64, _ ended: Int64) -> MessageSession.Page {
    MessageSession.Page(
      line: 1, sent: sent, ended: ended,
      request: PageRequest(narrow, .newest, before: 1, after: 0), page: MessagePage(messages: []))
  }

  private func session(
    _ polls: [(sent: Int64, ended: Int64)], _ pages: [MessageSession.Page]
  ) -> MessageSession {
    var session = MessageSession(line: 1, name: "session", followed: [])
    session.polls = polls.map { MessageSession.Poll(sent: $0.sent, ended: $0.ended, events: []) }
    session.pages = pages
    return session
  }

  private func orders(_ session: MessageSession, bound: Int = 1000) -> MessageOrders {
    MessageOrders(
      session, pages: Array(session.pages.indices), polls: Array(session.polls.indices),
      bound: bound)
  }

  @Test func `a page before a poll may be taken before it, within it or after it`() {
    let orders = orders(session([(10, 20)], [page(1, 2)]))
    #expect(orders.isAll)
    #expect(orders.orders.map(\.begins) == [[0], [0], [0]])
    #expect(orders.orders.map(\.takes) == [[0], [1], [2]])
  }

  @Test func `a page after a poll may have begun before it, but is not taken before it`() {
    // The page was read after the poll left, so it was not taken before that.
    let orders = orders(session([(10, 20)], [page(21, 22)]))
    #expect(orders.isAll)
    #expect(orders.orders.map(\.begins) == [[0], [0], [2]])
    #expect(orders.orders.map(\.takes) == [[1], [2], [2]])
  }

  @Test func `a page during a poll begins before it, and is taken within it or after it`() {
    let orders = orders(session([(10, 20)], [page(15, 16)]))
    #expect(orders.orders.map(\.begins) == [[0], [0]])
    #expect(orders.orders.map(\.takes) == [[1], [2]])
  }

  @Test func `two pages taken in the same slot come in either order, others in one`() {
    let orders = orders(session([], [page(1, 2), page(3, 4)]))
    #expect(orders.isAll)
    #expect(orders.orders.map(\.order).sorted { $0[0] < $1[0] } == [[0, 1], [1, 0]])
    let apart = self.orders(session([(10, 20)], [page(1, 2), page(3, 4)]))
    // Each page has three slots: six orders have different slots, and each shared slot gives two
    // more.
    #expect(apart.orders.count == 12)
  }

  @Test func `a sample is tried above the bound, the recorded order first, none twice`() {
    let moments: [Int64] = [0, 10, 20, 30, 40, 50, 60, 70]
    let many = moments.map { page($0 + 1, $0 + 2) }
    let polls = moments.map { (sent: $0 + 3, ended: $0 + 4) }
    let orders = orders(session(polls, many), bound: 50)
    #expect(!orders.isAll)
    #expect(orders.orders.count == 50)
    #expect(orders.orders.first?.begins == [0, 2, 4, 6, 8, 10, 12, 14])
    #expect(orders.orders.first?.takes == [0, 2, 4, 6, 8, 10, 12, 14])
    #expect(Set(orders.orders).count == 50)
    for order in orders.orders {
      for (begin, take) in zip(order.begins, order.takes) { #expect(begin <= take) }
    }
  }
}

@Suite("check: the sessions of a recording")
struct MessageSessionTests {
  /// The sessions of one client's recording. `exchanges` has its requests and their answers.
  private func sessions(_ exchanges: [(request: String, body: String)]) -> MessageSessions {
    let lines = exchanges.enumerated().map { index, exchange in
      let text = """
        {"t":\(1000 + index),"t_end":\(1000 + index).5,"client":"ann","request":\
        \(exchange.request),"response":{"status":200,"body":\(exchange.body)}}
        """
      return (number: index + 1, line: Data(text.utf8))
    }
    return MessageSessions(MessageRecording(lines))
  }

  private let register = (
    #"{"method":"POST","path":"/api/v1/register","params":{"apply_markdown":true}}"#,
    #"{"queue_id":"q","subscriptions":[{"stream_id":7},{"stream_id":3}]}"#
  )
  private let release = (
    #"{"method":"DELETE","path":"/api/v1/events","params":{"queue_id":"q"}}"#, "{}"
  )
  private let send = (
    #"{"method":"POST","path":"/api/v1/messages","params":{"content":"hi"}}"#, #"{"id":5}"#
  )

  private func poll(_ events: String) -> (String, String) {
    (
      #"{"method":"GET","path":"/api/v1/events","params":{"queue_id":"q","last_event_id":0}}"#,
      #"{"events":[\#(events)]}"#
    )
  }

  private func page(_ content: String, _ type: String = "text/html") -> (String, String) {
    (
      #"""
      {"method":"GET","path":"/api/v1/messages",
       "params":{"anchor":"newest","num_before":9,"num_after":0}}
      """#,
      #"""
      {"anchor":10000000000000000,"found_anchor":false,"found_oldest":true,"found_newest":true,
       "history_limited":false,"messages":[{"id":5,"sender_id":1,"type":"stream","stream_id":3,
       "subject":"a","display_recipient":"x","content":"\#(content)","content_type":"\#(type)",
       "flags":[],"reactions":[]}]}
      """#
    )
  }

  private let sent = #"""
    {"id":1,"type":"message","flags":[],"message":{"id":5,"sender_id":1,"type":"stream",
     "stream_id":3,"subject":"a","display_recipient":"x","content":"<p>hi</p>",
     "content_type":"text/html","reactions":[]}}
    """#

  @Test func `a session begins with its register and ends when its queue is released`() {
    let sessions = sessions([
      page("<p>hi</p>"), register, page("<p>hi</p>"), release, page("<p>hi</p>"),
    ])
    #expect(sessions.sessions.map(\.name) == ["ann without a queue", "queue q"])
    #expect(sessions.sessions.map { $0.pages.map(\.line) } == [[1], [3]])
    #expect(sessions.sessions.last?.followed == [ChannelID(3), ChannelID(7)])
    #expect(sessions.notFollowed == 1)
  }

  @Test func `a session without a queue has only pages from before any change`() {
    let sessions = sessions([page("<p>hi</p>"), send, page("<p>hi</p>")])
    #expect(sessions.sessions.map { $0.pages.map(\.line) } == [[1]])
    #expect(sessions.notFollowed == 1)
  }

  @Test func `contents in another form are compared if the recording has both forms`() throws {
    let both = sessions([register, send, poll(sent), page("hi", "text/x-markdown"), release])
    let page = try #require(both.sessions.first?.pages.first?.page)
    #expect(page.messages.map(\.content) == [ZulipContent("<p>hi</p>", .rendered)])
    #expect(both.withoutContents == [])
    let one = sessions([register, poll(sent), self.page("hi", "text/x-markdown"), release])
    #expect(one.withoutContents == [3])
    let session = try #require(one.sessions.first)
    #expect(one.sessions.count == 1 && session.name == "queue q, without contents")
    #expect(session.pages.first?.page.messages.map(\.content.text) == [""])
    #expect(
      session.polls.flatMap(\.events).map { event in
        if case .new(let message) = event { message.content.text } else { "another" }
      } == [""])
  }
}
