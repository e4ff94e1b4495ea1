internal import Foundation
package import MessageSync
internal import SyncProtocols
package import UpdateMachine
package import ZulipServer
package import ZulipSync

/// The truth of the world `zulip`: a Zulip realm, seen by one user, whose devices the clients are.
///
/// Clients get what its server would write as JSON, read by the library's own code. What oracles
/// compare with is written here from the realm alone, and shares no code with the library.
package struct ZulipTruth: ServerTruth {
  package typealias Event = ZulipEvent
  package typealias Snapshot = ZulipAccount.Snapshot

  /// A change on the server.
  package enum Change: Sendable {
    case made(RealmEvent)
    /// Changes nothing; its event lacks a required field.
    case unreadable
    /// Changes nothing, and nobody is told: things are as a client wants them.
    case unchanged
    /// Changes nothing: a client has looked for what it sent, and this is its ID.
    case found(Int64)
  }

  package private(set) var realm: Realm
  /// The user whose clients they are.
  package static var me: Int64 { 8 }
  /// The number of changes so far. The server's clock shows a third of it, so that several edits
  /// may share a second.
  package private(set) var changeCount: Int64 = 0
  /// The messages that were sent to the user or that the user can look up, in ascending order, as
  /// the user sees them.
  package private(set) var messages: [Seen] = []
  /// The messages for which the user has had a row since they were sent, ascending. A move may take
  /// a row, and another bring it back without a word.
  private var sent: [Int64] = []
  /// The newest message of which every client must know; -1: none.
  package var newestSent: Int64 { sent.last ?? -1 }
  /// The IDs of the messages that clients have sent, by the clients' own names for them. After a
  /// log-out, names begin anew.
  private(set) var posted: [String: Int64] = [:]
  /// The user's last change of flags. The workload often reverses it soon after: if the server
  /// merges the two with a third, a client cannot tell which came last.
  package private(set) var lastFlagged: RealmEvent.Flagging?

  /// A message as the user sees it.
  package struct Seen: Sendable {
    package var message: ChatMessage<ZulipContent>
    /// Whether events tell the user what becomes of it.
    package var isFollowed: Bool
  }

  package init(_ realm: Realm) {
    self.realm = realm
    see()
    sent = realm.messages.filter { $0.flags(of: ZulipTruth.me) != nil }.map(\.id)
  }

  package var checksum: UInt64 { StateDigest.mixed(UInt64(bitPattern: changeCount)) }

  /// The server's clock, in seconds.
  package var time: Int64 { 1_767_225_600 + changeCount / 3 }

  // MARK: Changes

  package mutating func apply(_ change: Change) {
    changeCount += 1
    guard case .made(let event) = change else { return }
    realm.apply(event)
    if case .flagged(let flagging) = event.kind { lastFlagged = flagging }
    if case .message(let message, let echo) = event.kind {
      sent.append(message.id)
      if let name = echo?.localID {
        posted[name] = message.id
      }
    }
    sent.removeAll { realm.message($0)?.flags(of: ZulipTruth.me) == nil }
    see()
  }

  /// The event as the user's clients read it.
  package func announcement(of change: Change) -> ZulipEvent? {
    let event: RealmEvent
    switch change {
    case .unchanged, .found: return nil
    case .unreadable: return ZulipTruth.event(["id": 0, "type": "realm_user", "op": "update"])
    case .made(let made): event = made
    }
    guard let event = realm.told(event, to: ZulipTruth.me) else { return nil }
    var after = realm
    after.apply(event)
    return ZulipTruth.event(event.json(id: 0, for: .current(of: ZulipTruth.me), in: after))
  }

  private static func event(_ json: JSONValue) -> ZulipEvent {
    read(ZulipEvents.self, ["events": .array([json])]).events[0]
  }

  /// Reads what the server writes. It always can: server and library are of one repository.
  static func read<Value: Decodable>(_ type: Value.Type, _ json: JSONValue) -> Value {
    do throws(ZulipError) {
      return try ZulipError.decode(type, from: Data(json.description.utf8))
    } catch {
      preconditionFailure("\(error) in \(json)")
    }
  }

  /// The messages that become visible by a change of which the user is told nothing.
  package func returnsSilently(_ change: Change) -> [MessageID] {
    guard case .made(let event) = change, case .edited = event.kind,
      realm.told(event, to: ZulipTruth.me) == nil
    else { return [] }
    var after = self
    after.apply(change)
    return after.messages.filter { $0.isFollowed && followed($0.message.id) == nil }
      .map { $0.message.id }
  }

  // MARK: Snapshots

  package var snapshot: ZulipAccount.Snapshot { snapshot { _ in } }

  /// The snapshot of an answer that is changed before it is read.
  func snapshot(_ change: (inout JSONObject) -> Void) -> ZulipAccount.Snapshot {
    guard let user = realm.user(ZulipTruth.me) else { preconditionFailure("nobody looks") }
    var state = realm.state(for: user, nil, includesSubscribers: true, wall: time)
    state["zulip_feature_level"] = 323
    change(&state)
    let value = ZulipTruth.read(ZulipValue.self, .object(state))
    var registration = ZulipRegistration.full
    registration.includesSubscribers = true
    return ZulipAccount.Snapshot(
      ZulipSnapshot(value.fields ?? ZulipFields(), registration), .rendered)
  }

  package static func addressed(
    _ snapshot: ZulipAccount.Snapshot, to client: ClientID
  ) -> ZulipAccount.Snapshot {
    var snapshot = snapshot
    snapshot.client = client
    return snapshot
  }

  // MARK: Merged events

  /// As the real server, merges changes of one flag in one direction; not read flags that are taken
  /// back, for each has details.
  package static func merged(_ pending: ZulipEvent, _ newer: ZulipEvent) -> ZulipEvent? {
    guard case .flagged(let one) = pending.kind, case .flagged(var other) = newer.kind,
      one.flags == other.flags, one.isSet == other.isSet, one.isSet || one.flags != .read
    else { return nil }
    var merged = newer
    other.ids = one.ids + other.ids
    merged.kind = .flagged(other)
    merged.fields["messages"] = .list(other.ids.map { .number($0.number) })
    return merged
  }

  package static func isDeletion(_ event: ZulipEvent) -> Bool {
    if case .deleted = event.kind { true } else { false }
  }

  /// The message as `GET /messages/ID` answers, read by the library; `nil`: refused.
  func single(_ id: MessageID) -> ChatMessage<ZulipContent>? {
    do throws(APIError) {
      let answer = try realm.single(id.number, for: ZulipTruth.me, isRendered: true)
      return ZulipTruth.read(ZulipMessage.self, answer["message"] ?? .null).messageOfChannel
    } catch {
      return nil
    }
  }

  // MARK: What the user sees, written from the realm alone

  private mutating func see() {
    messages = realm.messages.compactMap { message in
      guard let flags = message.flags(of: ZulipTruth.me) else {
        // A message of a public channel, which only lists of the channel show.
        guard case .channel(let id, _) = message.place, realm.channel(id)?.isPrivate == false
        else { return nil }
        var seen = plain(message, [.read, .historical])
        seen.flags.insert(.outsideFeed)
        return Seen(message: seen, isFollowed: follows(message.place))
      }
      return Seen(message: plain(message, flags), isFollowed: follows(message.place))
    }
  }

  /// Whether events tell what becomes of messages there.
  package func follows(_ place: MessageLocation) -> Bool {
    switch place {
    case .direct(let members): members.contains(ZulipTruth.me)
    case .channel(let id, _):
      realm.channels.contains { $0.id == id && $0.subscribers.contains(ZulipTruth.me) }
    }
  }

  private func plain(_ message: RealmMessage, _ row: RowFlags) -> ChatMessage<ZulipContent> {
    let place: MessagePlace
    switch message.place {
    case .channel(let id, let topic):
      place = .channel(ChannelID(id), topic: MessageTopic(topic, key: topic.lowercased()))
    case .direct(let members): place = .direct(ConversationID(zulip: members.map { UserID($0) }))
    }
    var flags: MessageFlags = []
    if row.contains(.read) { flags.insert(.read) }
    if row.contains(.starred) { flags.insert(.starred) }
    if row.contains(.collapsed) { flags.insert(.collapsed) }
    if row.contains(.mentioned) { flags.formUnion([.mentioned, .mentionedByName]) }
    if row.contains(.historical) { flags.insert(.historical) }
    let reactions = message.reactions.map { reaction in
      MessageReaction(
        user: UserID(reaction.user), emoji: "\(reaction.emoji.type):\(reaction.emoji.code)")
    }
    return ChatMessage(
      id: MessageID(message.id), sender: UserID(message.sender), sentAt: message.sentAt,
      place: place, content: ZulipContent("<p>\(message.text)</p>", .rendered), flags: flags,
      reactions: reactions.sorted())
  }

  /// A message that the user sees, wherever it is.
  package subscript(id: MessageID) -> ChatMessage<ZulipContent>? {
    messages.first { $0.message.id == id }?.message
  }

  /// The message, if the user is told of its changes.
  package func followed(_ id: MessageID) -> ChatMessage<ZulipContent>? {
    messages.first { $0.message.id == id && $0.isFollowed }?.message
  }

  /// Whether a followed message is in a narrow, by the narrow's words.
  package func contains(_ id: MessageID, in narrow: ZulipNarrow) -> Bool {
    guard followed(id) != nil, let message = realm.message(id.number) else { return false }
    let asksForFlags = narrow.terms.contains { $0.name == "is" }
    let isOfChannel = narrow.terms.contains { $0.name == "channel" && !$0.isNegated }
    guard isOfChannel && !asksForFlags || message.flags(of: ZulipTruth.me) != nil else {
      return false
    }
    return meets(narrow, message)
  }

  /// Whether a message is in a narrow, by the narrow's words.
  func meets(_ narrow: ZulipNarrow, _ message: RealmMessage) -> Bool {
    narrow.terms.allSatisfy { meets($0, message) != $0.isNegated }
  }

  private func meets(_ term: ZulipNarrow.Term, _ message: RealmMessage) -> Bool {
    let flags = message.flags(of: ZulipTruth.me) ?? []
    switch (term.name, term.operand, message.place) {
    case ("channel", .number(let wanted), .channel(let id, _)): return id == wanted
    case ("channel", .text(let name), .channel(let id, _)):
      return realm.channel(id)?.name == name
    case ("topic", .text(let wanted), .channel(_, let topic)):
      return topic.lowercased() == wanted.lowercased()
    case ("dm", .numbers(let others), .direct(let members)):
      return Set(others + [ZulipTruth.me]) == Set(members)
    case ("sender", .number(let sender), _): return message.sender == sender
    case ("is", "dm", .direct): return true
    case ("is", "starred", _): return flags.contains(.starred)
    case ("is", "unread", _): return !flags.contains(.read)
    case ("is", "mentioned", _): return flags.contains(.mentioned)
    default: return false
    }
  }
}

extension ZulipNarrow.Operand {
  fileprivate static func ~= (word: String, operand: ZulipNarrow.Operand) -> Bool {
    operand == .text(word)
  }
}

extension ZulipTruth: CustomStringConvertible {
  package var description: String {
    var text = "follows"
    for channel in realm.channels where channel.subscribers.contains(ZulipTruth.me) {
      text += " \(channel.name)"
    }
    for seen in messages {
      let message = seen.message
      text += " \(message.id):\(message.place):\(message.content.text)+\(message.flags.rawValue)"
    }
    return text
  }
}
