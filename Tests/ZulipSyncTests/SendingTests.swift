import Testing
import UpdateMachine

@testable import ZulipSync

/// What can be sent, and how it is kept.
@Suite struct SendingTests {
  private static let fields: ZulipFields = [
    "user_id": 7, "max_message_length": 5, "max_topic_length": 3,
    "subscriptions": [["stream_id": 4, "name": "general"]],
    "never_subscribed": [["stream_id": 5, "name": "old", "is_archived": true]],
    "realm_users": [["user_id": 8, "full_name": "Bo"]],
    "realm_non_active_users": [["user_id": 9, "full_name": "Cy"]],
  ]

  private static func refusal(
    _ recipient: ZulipConnection.Recipient, _ content: String, _ fields: ZulipFields = fields
  ) throws -> ZulipOutgoing.Refusal? {
    var state = try ZulipState(snapshot: ZulipSnapshot(fields, .full))
    let before = state
    do throws(ZulipOutgoing.Refusal) {
      try ZulipOutgoing(recipient, content).apply(to: &state)
      #expect(state == before)
      return nil
    } catch {
      return error
    }
  }

  @Test func `what cannot be sent is refused at once`() throws {
    let general = ZulipConnection.Recipient.channel(ChannelID(4), topic: "abc")
    #expect(try Self.refusal(general, "12345") == nil)
    #expect(try Self.refusal(general, "éééé🙂") == nil, "characters are counted, not bytes")
    #expect(try Self.refusal(general, "123456") == .tooLong(limit: 5))
    #expect(try Self.refusal(general, " \n ") == .empty)
    #expect(
      try Self.refusal(.channel(ChannelID(4), topic: "abcd"), "hi") == .topicTooLong(limit: 3))
    #expect(try Self.refusal(.channel(ChannelID(6), topic: "a"), "hi") == .noChannel)
    #expect(try Self.refusal(.channel(ChannelID(5), topic: "a"), "hi") == .archivedChannel)
    #expect(try Self.refusal(.direct([UserID(8)]), "hi") == nil)
    #expect(try Self.refusal(.direct([]), "hi") == nil, "a note to oneself")
    #expect(try Self.refusal(.direct([UserID(8), UserID(9)]), "hi") == .deactivated(UserID(9)))
  }

  @Test func `what the server did not tell speaks against nothing`() throws {
    #expect(try Self.refusal(.channel(ChannelID(6), topic: "abcd"), "123456", [:]) == nil)
    #expect(try Self.refusal(.direct([UserID(9)]), "hi", [:]) == nil)
  }

  @Test(arguments: [
    ZulipOutgoing(.channel(ChannelID(4), topic: "Lunch"), "At noon?"),
    ZulipOutgoing(.direct([UserID(8), UserID(9)]), "🙂"), ZulipOutgoing(.direct([]), ""),
  ])
  func `it is the same after it was written and read`(_ message: ZulipOutgoing) throws {
    var reader = ByteReader(message.storedBytes)
    #expect(try ZulipOutgoing(from: &reader) == message)
    #expect(!"\(message) \(String(reflecting: message))".contains("noon"))
  }

  @Test func `a local ID is known again, and nothing else is taken for one`() {
    let id = ZulipLocalID(ClientID(.max), MutationTicket(3))
    #expect(ZulipLocalID(id.text) == id)
    for text in ["", "7", "7.", ".3", "7.3.1", "-7.3", "a.b"] { #expect(ZulipLocalID(text) == nil) }
  }

  @Test func `only an echo of this outbox takes a message out of it`() throws {
    let start = ZulipSnapshot(Self.fields, .full)
    var account = try ZulipAccount(snapshot: .init(start, .rendered, client: ClientID(5)))
    let sent = try account.local.mutate(
      ZulipOutgoing(.direct([UserID(8)]), "hi"), at: Moment(milliseconds: 0))
    for (local, count) in [("6.1", 1), ("5.2", 1), ("2013.01", 1), ("5.1", 0), ("5.1", 0)] {
      var event = try ZulipEvent(RecordedLines.message)
      event.fields["local_message_id"] = .text(local)
      try account.apply(event)
      #expect(account.echoes.count == count, "\(local)")
    }
    #expect(account.local.outbox.state(of: sent.ticket) == .acknowledged)
  }

  @Test func `a snapshot in place of another keeps the outbox, and a saved form does`() throws {
    let start = ZulipSnapshot(Self.fields, .full)
    var account = try ZulipAccount(snapshot: .init(start, .rendered, client: ClientID(5)))
    let outgoing = ZulipOutgoing(.channel(ChannelID(4), topic: "a"), "hi")
    _ = try account.local.mutate(outgoing, at: Moment(milliseconds: 0))
    let next = try ZulipAccount(
      snapshot: .init(start, .rendered, client: ClientID(6)), replacing: account)
    #expect(next.local.outbox.client == ClientID(5))
    #expect(next.echoes.map(\.message) == [outgoing])

    let list = account.list(ZulipNarrow([.init("channel", .number(4))]))
    let direct = account.list(ZulipNarrow([.init("dm", .numbers([8]))]))
    #expect(next.echoes(in: list).count == 1 && next.echoes(in: direct).isEmpty)
  }
}
