import MessageSync
import SyncProtocols
import Testing
import UpdateMachine

@testable import ZulipSync

/// Tests what can be sent, and how it is saved.
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
    let state = try ZulipState(snapshot: ZulipSnapshot(fields, .full))
    do throws(ZulipOutgoing.Refusal) {
      try ZulipOutgoing(recipient, content).check(in: state)
      return nil
    } catch {
      return error
    }
  }

  @Test func `a message that cannot be sent is refused at once`() throws {
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
    #expect(try Self.refusal(.direct([UserID(7)]), "hi") == nil, "a note to oneself")
    #expect(try Self.refusal(.direct([]), "hi") == .noRecipients)
    #expect(try Self.refusal(.direct([UserID(8), UserID(9)]), "hi") == .deactivated(UserID(9)))
  }

  @Test func `limits that the server did not state do not apply`() throws {
    #expect(try Self.refusal(.channel(ChannelID(6), topic: "abcd"), "123456", [:]) == nil)
    #expect(try Self.refusal(.direct([UserID(9)]), "hi", [:]) == nil)
  }

  @Test func `a local ID is recognised, and no other text is`() {
    let id = ZulipLocalID(ClientID(.max), MutationTicket(3))
    #expect(ZulipLocalID(id.text) == id)
    for text in ["", "7", "7.", ".3", "7.3.1", "-7.3", "a.b"] { #expect(ZulipLocalID(text) == nil) }
  }

  /// The saved account of client 5, with one message that waits to be sent.
  private static func account(
    sending message: ZulipOutgoing
  ) throws -> (account: ZulipAccount, local: LocalChanges<ZulipChange>) {
    let start = ZulipSnapshot(fields, .full)
    let account = try ZulipAccount(snapshot: .init(start, .rendered, client: ClientID(5)))
    let client = try #require(account.client)
    var local = LocalChanges(
      Outbox<ZulipChange>(client: client, delivery: ZulipAccount.delivery),
      over: account.state)
    _ = try local.mutate(.send(message), at: Moment(milliseconds: 0))
    return (account, local)
  }

  @Test func `only an echo of this outbox removes a message from it`() throws {
    var (account, local) = try Self.account(sending: ZulipOutgoing(.direct([UserID(8)]), "hi"))
    for (id, count) in [("6.1", 1), ("5.2", 1), ("2013.01", 1), ("5.1", 0), ("5.1", 0)] {
      var event = try ZulipEvent(RecordedLines.message)
      event.fields["local_message_id"] = .text(id)
      try account.apply(event)
      local.confirm(account.state, echo: account.echo(in: event))
      #expect(account.echoes(local).count == count, "\(id)")
    }
    #expect(local.outbox.state(of: MutationTicket(1)) == .acknowledged)
  }

  private static let outgoing = ZulipOutgoing(.channel(ChannelID(4), topic: "a"), "hi")
  private static let finger = QueueFinger(queue: QueueID("q"), lastEventID: 7)

  @Test func `a new snapshot and a saved form keep the client ID`() throws {
    let (account, local) = try Self.account(sending: Self.outgoing)
    let next = try ZulipAccount(
      snapshot: .init(ZulipSnapshot(Self.fields, .full), .rendered, client: ClientID(6)),
      replacing: account)
    #expect(next.client == ClientID(5))
    #expect(next.echoes(local).map(\.message) == [Self.outgoing])

    let list = account.list(ZulipNarrow([.init("channel", .number(4))]))
    let direct = account.list(ZulipNarrow([.init("dm", .numbers([8]))]))
    #expect(next.echoes(local, in: list).count == 1)
    #expect(next.echoes(local, in: direct).isEmpty)

    let saved = SavedReplica(next, Self.finger, .unspoken, local.outbox)
    let again = try SavedReplica<ZulipAccount, QueueFinger>(stored: saved.storedRows)
    #expect(again.model.client == ClientID(5))
    #expect(again.outbox?.pending.map(\.change) == [.send(Self.outgoing)])
  }

  @Test func `a form of version 1 is read, with its outbox's client ID`() throws {
    let (account, local) = try Self.account(sending: Self.outgoing)
    let saved = SavedReplica(account, Self.finger, .unspoken, local.outbox)
    var rows = try saved.storedRows.rows
    for index in rows.indices {
      switch rows[index].key.table {
      case StoredTable(0):  // The versions of the library and of the model come first.
        #expect(rows[index].value.prefix(2) == [3, 4])
        rows[index].value[1] = 1
      case .firstOfModel.advanced(by: 2):
        rows[index].value = ZulipContent("", .rendered).storedBytes
      default: break
      }
    }
    let again = try SavedReplica<ZulipAccount, QueueFinger>(stored: RowReader(rows))
    #expect(again.model.client == ClientID(5) && again.model.form == .rendered)
    #expect(again.model.realm == account.realm)
    #expect(again.outbox?.pending.map(\.change) == [.send(Self.outgoing)])
    rows.removeAll { $0.key.table == .firstOfModel.advanced(by: 2) }
    #expect(throws: StoredFormError.self) {
      try SavedReplica<ZulipAccount, QueueFinger>(stored: RowReader(rows))
    }
  }
}

extension SavedReplica<ZulipAccount, QueueFinger> {
  /// A saved replica with an outbox; `nil` means an empty one.
  init(
    _ account: ZulipAccount, _ finger: QueueFinger, _ terms: ServerTerms,
    _ outbox: Outbox<ZulipChange>? = nil
  ) {
    let empty = account.client.map {
      Outbox<ZulipChange>(client: $0, delivery: ZulipAccount.delivery)
    }
    self.init(model: account, finger: finger, terms: terms, outbox: outbox ?? empty)
  }

  /// The rows as a store gives them.
  var storedRows: RowReader {
    get throws {
      let rows = rows(since: nil).compactMap { row in
        row.value.map { (key: row.key, value: $0) }
      }
      return try RowReader(rows.sorted { $0.key < $1.key })
    }
  }
}
