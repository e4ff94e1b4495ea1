// Wire: the room of what a Zulip server writes of events, messages and pages, as the types that the library
// works with, and of how a narrow is written. It may use JSON, UpdateMachine, SyncProtocols and Foundation.
// It decides nothing about time, order or knowledge.

public import SyncProtocols
public import UpdateMachine

/// One event of a queue: what it changes of messages (``kind``), and all that the server wrote of it
/// (``fields``), which ``ZulipState`` reads.
public struct ZulipEvent: Hashable, Sendable {
  /// Its place in the queue.
  public var id: Int64
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
    /// `update_message_flags`. `ids` is `nil` for every message.
    case flagged([MessageID]?, MessageFlags, isSet: Bool)
    /// `reaction`.
    case reacted(MessageID, Reaction, isSet: Bool)
    /// `subscription` with `add` or `remove`.
    case covered([ChannelID], follows: Bool)
    /// It changes no message, or is of a type that is not known here.
    case ignored
  }

  /// What the server calls it.
  public var type: String { fields["type"]?.text ?? "" }

  /// What the library applies, in order; empty if it is ignored.
  /// - Parameter form: in which the queue was asked for contents. The other form is never held.
  public func changes(_ form: ZulipContent.Form) -> [MessageEvent<ZulipContent>] {
    switch kind {
    case .sent(let message): [.new(message.message)]
    case .updated(let update): update.change(form).map { [.updated($0)] } ?? []
    case .deleted(let ids): [.deleted(ids)]
    case .flagged(_, let flags, _) where flags.isEmpty: []
    case .flagged(let ids?, let flags, let isSet): [.flagged(ids, flags, isSet: isSet)]
    case .flagged(nil, let flags, let isSet): [.flaggedAll(flags, isSet: isSet)]
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
  private enum Field: String, CodingKey {
    case events
  }

  /// Throws what ``ZulipError/init(_:)`` makes a path of.
  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: Field.self)
    events = try fields.decode([ZulipEvent].self, forKey: .events)
  }
}
