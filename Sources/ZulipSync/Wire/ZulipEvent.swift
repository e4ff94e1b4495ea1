// Wire: the room of what a Zulip server writes of events, messages and pages, as the types that
// the library works with, and of how a narrow is written. It decides nothing about time, order or
// knowledge.
//
// Wire may use: JSON.

public import MessageSync
public import SyncProtocols
internal import UpdateMachine

/// One event of a queue: what it says of messages (``kind``), and all that the server wrote of it
/// (``fields``). What ``kind`` has is read once, when the answer is decoded, and ``ZulipState`` takes it
/// from there; of other events it reads the fields.
public struct ZulipEvent: Hashable, Sendable {
  /// Its place in the queue.
  public var id: Int64
  /// What the server calls it.
  public let type: String
  public var kind: Kind
  /// As they came.
  public var fields: ZulipFields

  public enum Kind: Hashable, Sendable {
    /// `message`.
    case sent(ZulipMessage)
    /// `update_message`.
    case updated(ZulipUpdate)
    /// `delete_message`, with or without bulk deletion.
    case deleted([MessageID])
    /// `update_message_flags`.
    case flagged(ZulipFlagging)
    /// `reaction`.
    case reacted(MessageID, Reaction, isSet: Bool)
    /// `subscription` with `add` or `remove`.
    case covered([ChannelID], follows: Bool)
    /// It changes no message, or is of a type that is not known here.
    case ignored
  }

  /// What the library applies, in order; empty if it is ignored.
  /// - Parameter form: in which the queue was asked for contents. The other form is never held.
  public func changes(_ form: ZulipContent.Form) -> [MessageEvent<ZulipContent>] {
    switch kind {
    case .sent(let message): [.new(message.message)]
    case .updated(let update): update.change(form).map { [.updated($0)] } ?? []
    case .deleted(let ids): [.deleted(ids)]
    case .flagged(let flagging): flagging.change.map { [$0] } ?? []
    case .reacted(let id, let reaction, let isSet): [.reacted(id, reaction, isSet: isSet)]
    case .covered(let channels, let follows): channels.map { .covered($0, follows: follows) }
    case .ignored: []
    }
  }
}

/// What `update_message` tells: an edit, a move, or both.
public struct ZulipUpdate: Hashable, Sendable {
  public var edit: Edit?
  public var move: MessageUpdate<ZulipContent>.Move?
  /// The messages that were moved.
  public var moved: [MessageID]
  /// The topic that all of them have now; `nil`: each keeps its own, in its own spelling.
  public var newTopic: String?
  /// When, in seconds since the epoch; `nil`: only the rendering is new, and the message is none the
  /// newer for it (KNOWLEDGE.md, R13).
  public var version: Int64?

  /// A new content of one message, in both forms.
  public struct Edit: Hashable, Sendable {
    public var id: MessageID
    public var rendered: String
    public var raw: String
    /// Those of `MessageFlags.contentFlags` that it has now. The server names all its flags, but
    /// the others have events of their own, and one told here may be older than those.
    public var flags: MessageFlags
  }

  /// What the library applies; `nil`: nothing of a message has changed.
  func change(_ form: ZulipContent.Form) -> MessageUpdate<ZulipContent>? {
    var change: MessageUpdate<ZulipContent>
    if let edit {
      let content = ZulipContent(form == .rendered ? edit.rendered : edit.raw, form)
      change = MessageUpdate(
        .init(edit.id, content: content, flags: edit.flags, of: .contentFlags), version: version)
      change.move = move
      change.moved = moved
    } else if let move {
      change = MessageUpdate(moving: moved, move, version: version)
    } else {
      return nil
    }
    return change
  }
}

/// What `update_message_flags` tells: messages have a flag from now on, or have it no more.
public struct ZulipFlagging: Hashable, Sendable {
  public var ids: [MessageID]
  /// Every message, whether ``ids`` names it or not.
  public var isAll: Bool
  /// Empty: a flag that is not known here.
  public var flags: MessageFlags
  public var isSet: Bool
  /// Of those that are unread again, the ones that the user sees; `nil`: the server does not say.
  public var unread: [Unread]?

  /// A message that is unread again.
  public struct Unread: Hashable, Sendable {
    public var id: MessageID
    public var place: Place
    public var mentionsUser: Bool

    public enum Place: Hashable, Sendable {
      case channel(ChannelID, topic: String)
      /// The others; who is alone writes to oneself.
      case direct([UserID])
    }
  }

  /// What the library applies; `nil`: nothing.
  var change: MessageEvent<ZulipContent>? {
    if flags.isEmpty { return nil }
    return isAll ? .flaggedAll(flags, isSet: isSet) : .flagged(ids, flags, isSet: isSet)
  }
}

/// The answer to a poll.
public struct ZulipEvents: Hashable, Sendable {
  /// In the order of the queue.
  public var events: [ZulipEvent]

  public init(_ events: [ZulipEvent]) { self.events = events }

  /// For a replica. A heartbeat has a place in the queue and nothing for a model.
  public var batch: QueueBatch<ZulipEvent> {
    QueueBatch(
      events: events.map { QueuedEvent(id: $0.id, event: $0.type == "heartbeat" ? nil : $0) })
  }
}

extension ZulipEvents: Decodable {
  /// Throws what ``ZulipError/init(_:)`` makes a path of.
  public init(from decoder: any Decoder) throws { try self.init(ZulipReading(decoder)) }

  init(_ answer: ZulipReading) throws(ZulipError) {
    events = []
    for event in try answer.objects("events") { events.append(try ZulipEvent(event)) }
  }
}
