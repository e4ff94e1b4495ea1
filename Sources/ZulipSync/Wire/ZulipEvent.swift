// Wire: a Zulip server's events, messages and pages as the library's types, and how a narrow is
// written. It decides nothing about time, order or knowledge.
//
// Wire may use: JSON.

package import MessageSync
package import SyncProtocols
internal import UpdateMachine

/// One event of a queue: what it says about messages (`kind`), and everything that the server wrote
/// (`fields`). `kind` is decoded once, when the answer arrives, and ``ZulipState`` uses it. For
/// other events the state reads the fields.
public struct ZulipEvent: Hashable, Sendable {
  /// The event's position in the queue.
  package var id: Int64
  /// The server's name for its type.
  package let type: String
  package var kind: Kind
  /// The event's fields as they came.
  package var fields: ZulipFields

  package enum Kind: Hashable, Sendable {
    /// `message`.
    case sent(ZulipMessage)
    /// `update_message`.
    case updated(ZulipUpdate)
    /// `delete_message`, with or without bulk deletion.
    case deleted([MessageID])
    /// `update_message_flags`.
    case flagged(ZulipFlagging)
    /// `reaction`.
    case reacted(MessageID, MessageReaction, isSet: Bool)
    /// `subscription` with `add` or `remove`.
    case covered([ChannelID], follows: Bool)
    /// Changes no message, or is of an unknown type.
    case ignored
  }

  /// Returns the events for the library, in order; empty if this one is ignored.
  /// - Parameter form: the form of contents that the queue was registered with. The other is never
  ///   held.
  package func changes(_ form: ZulipContent.Form) -> [MessageEvent<ZulipContent>] {
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

extension ZulipEvent: CustomStringConvertible, CustomReflectable {
  /// The type only: the fields may hold keys of the user's bots.
  public var description: String { "event \(id), \(type)" }
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

/// The content of `update_message`: an edit, a move, or both.
package struct ZulipUpdate: Hashable, Sendable {
  package var edit: Edit?
  package var move: MessageUpdate<ZulipContent>.Move?
  /// The messages that were moved.
  package var moved: [MessageID]
  /// The new topic of all of them; `nil` if each keeps its own, in its own spelling.
  package var newTopic: String?
  /// The time of the change, in seconds since the epoch. `nil` if only the rendering is new: the
  /// message then counts as no newer (PartialKnowledge R13).
  package var version: Int64?

  /// The new content of one message, in both forms.
  package struct Edit: Hashable, Sendable {
    package var id: MessageID
    package var rendered: String
    package var raw: String
    /// The flags of `MessageFlags.contentFlags` that it has now. The server sends all its flags,
    /// but the others have their own events, and the ones sent here may be older than those.
    package var flags: MessageFlags
  }

  /// Returns the update for the library; `nil` if no message changed.
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

/// The content of `update_message_flags`: messages gain or lose a flag.
package struct ZulipFlagging: Hashable, Sendable {
  package var ids: [MessageID]
  /// Whether it concerns every message, also those that `ids` does not name.
  package var isAll: Bool
  /// The flags; empty if they are unknown here.
  package var flags: MessageFlags
  package var isSet: Bool
  /// The messages that are unread again, as far as the user can see them; `nil` if the server does
  /// not say.
  package var unread: [Unread]?

  /// A message that is unread again.
  package struct Unread: Hashable, Sendable {
    package var id: MessageID
    package var place: Place
    package var mentionsUser: Bool

    package enum Place: Hashable, Sendable {
      case channel(ChannelID, topic: String)
      /// The other users. A single one writes to oneself.
      case direct([UserID])
    }
  }

  /// The event for the library; `nil` if there is nothing to apply.
  var change: MessageEvent<ZulipContent>? {
    if flags.isEmpty { return nil }
    return isAll ? .flaggedAll(flags, isSet: isSet) : .flagged(ids, flags, isSet: isSet)
  }
}

/// The answer to a poll.
package struct ZulipEvents: Hashable, Sendable {
  /// The events in the order of the queue.
  package var events: [ZulipEvent]

  package init(_ events: [ZulipEvent]) { self.events = events }

  /// The batch for a replica. A heartbeat has a position in the queue, and nothing for a model.
  package var batch: QueueBatch<ZulipEvent> {
    QueueBatch(
      events: events.map { QueuedEvent(id: $0.id, event: $0.type == "heartbeat" ? nil : $0) })
  }
}

extension ZulipEvents: Decodable {
  /// Throws errors that `ZulipError.init(_:)` turns into a path.
  package init(from decoder: any Decoder) throws { try self.init(ZulipReading(decoder)) }

  init(_ answer: ZulipReading) throws(ZulipError) {
    events = []
    for event in try answer.objects("events") { events.append(try ZulipEvent(event)) }
  }
}
