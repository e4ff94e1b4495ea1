package import MessageSync
package import SyncProtocols
package import UpdateMachine

// Messages: the room of a world whose clients each hold a part of the messages: its app, its users
// and what they are owed, and a race of events and pages on one message store.
//
// Messages may use: Choices, Disk, Oracles, Run, ServerMessages.

/// The simulator's second app: a world of messages, where each client holds only a part. Every
/// client is a device of one user, who scrolls through lists, jumps about in them, and leaves.
package enum MessagesApp: SimulatedApp {
  package typealias Model = MessagesModel
  package typealias Truth = ServerMessages
  package typealias User = MessagesUser
  package typealias Disk = RowDisk<MessagesModel, QueueFinger>

  package static func beginning(_ choices: inout Choices) -> ServerMessages {
    var serverMessages = ServerMessages.beginning
    for _ in 0..<choices.draw(.workload, below: 8) {
      serverMessages.apply(serverMessages.nextChange(&choices))
    }
    if choices.happens(.history, 1, in: 8) { serverMessages.beginHiding(&choices) }
    return serverMessages
  }

  package static func nextEvent(_ truth: ServerMessages, _ choices: inout Choices)
    -> ServerMessages.Change
  {
    truth.nextChange(&choices)
  }

  package static func page(
    _ request: PageRequest<ServerMessages.Narrow, MessageID>, found: ServerMessages,
    later: ServerMessages
  ) -> MessagePage<UInt32> { found.page(request, later: later) }

  package static func page(
    _ request: PageRequest<ServerMessages.Narrow, MessageID>, found: ServerMessages,
    later: ServerMessages,
    breaking breach: PageBreach
  ) -> MessagePage<UInt32>? { found.page(request, later: later, breaking: breach) }

  /// Returns an unannounced change, or one that puts an old row in the cache or empties the cache.
  package static func nextBreach(
    _ fault: Fault, _ truth: ServerMessages, _ choices: inout Choices
  ) -> ServerMessages.Change? {
    truth.nextBreach(fault, &choices)
  }

  package static func endOfBreaches(_ truth: ServerMessages) -> ServerMessages.Change? {
    truth.cached.isEmpty ? nil : .renewed
  }

  package static func checksum(of model: MessagesModel) -> UInt64 {
    var digest = StateDigest()
    for message in model.lists.messages {
      digest.fold(message.id.number)
      digest.fold(Int64(message.content) << 16 | Int64(message.flags.rawValue))
    }
    for narrow in model.lists.narrows {
      for interval in model.lists.list(of: narrow)?.knowledge.intervals ?? Knowledge().intervals {
        digest.fold(interval.lowerEnd.id?.number ?? 0)
        digest.fold(interval.upperEnd.id?.number ?? 0)
      }
    }
    return digest.value
  }

  package static func describe(_ model: MessagesModel) -> String {
    var text = ""
    for message in model.lists.messages {
      text += "\(message.id):\(message.place):\(message.content)+\(message.flags.rawValue) "
    }
    for narrow in model.lists.narrows {
      if let list = model.lists.list(of: narrow) { text += "· \(narrow) \(list.knowledge) " }
    }
    return text
  }

  package static func describe(_ truth: ServerMessages) -> String { truth.description }

  package static func describe(_ change: ServerMessages.Change) -> String { "\(change)" }
}

/// The part of the messages that a client holds.
package struct MessagesModel: MessageModel {
  package typealias Narrow = ServerMessages.Narrow

  package var lists: MessageStore<ServerMessages.Narrow>

  package typealias Snapshot = [ChannelID]
  package typealias Event = ServerMessages.Event
  package typealias Refusal = Never

  package init(snapshot: [ChannelID]) { lists = MessageStore(following: snapshot) }

  package init(snapshot: [ChannelID], replacing old: MessagesModel?) {
    self.init(snapshot: snapshot)
    if let old { lists = MessageStore(following: snapshot, after: old.lists) }
  }

  package mutating func apply(_ event: ServerMessages.Event) { lists.apply(event) }
}

extension MessagesModel: StorableModel {
  package func store(since old: MessagesModel?, into rows: inout RowWriter) {
    lists.store(since: old?.lists, into: &rows, from: .firstOfModel)
  }

  package init(stored rows: RowReader) throws(StoredFormError) {
    lists = try MessageStore(stored: rows, from: .firstOfModel)
  }

  package static var unloadedTables: [StoredTable] {
    MessageStore<ServerMessages.Narrow>.unloadedTables(from: .firstOfModel)
  }
}

extension ServerMessages: ServerTruth {
  /// The channels that the user follows: messages come only with pages.
  package var snapshot: [ChannelID] { followed }

  /// Each change leads to another checksum.
  package var checksum: UInt64 { StateDigest.mixed(UInt64(bitPattern: changeCount)) }

  /// Merges flag changes of one kind into one event in the newest's place, so their order is lost.
  package static func merged(_ pending: Event, _ newer: Event) -> Event? {
    guard case .flagged(let older, let flags, let isSet) = pending,
      case .flagged(let ids, flags, isSet) = newer
    else { return nil }
    return .flagged(older + ids, flags, isSet: isSet)
  }

  package static func isDeletion(_ event: Event) -> Bool {
    if case .deleted = event { true } else { false }
  }
}

extension ServerMessages: CustomStringConvertible {
  package var description: String {
    var text = "follows"
    for channel in followed { text += " \(channel)" }
    if firstVisible > MessageID(0) { text += ", hides what is before \(firstVisible):" }
    for message in messages {
      text += " \(message.id):\(message.place):\(message.content)+\(message.flags.rawValue)"
    }
    return text
  }
}

extension ServerMessages.Change: CustomStringConvertible {
  package var description: String {
    switch self {
    case .sent(let id, _, let place, let content, let flags):
      "\(id) sent to \(place): \(content)+\(flags.rawValue)"
    case .edited(let id, let content, _): "\(id) edited: \(content)"
    case .moved(let ids, let target, let isAnnounced):
      "\(ServerMessages.list(ids))moved to \(target)\(isAnnounced ? "" : ", perhaps silently")"
    case .deleted(let ids): "\(ServerMessages.list(ids))deleted"
    case .flagged(let ids, let flags, let isSet):
      "\(ServerMessages.list(ids))flags \(isSet ? "+" : "-")\(flags.rawValue)"
    case .flaggedAll(let flags, let isSet): "all flags \(isSet ? "+" : "-")\(flags.rawValue)"
    case .reacted(let id, let reaction, let isSet):
      "\(id) reaction \(isSet ? "+" : "-") of \(reaction.user)"
    case .covered(let channel, let follows): "channel \(channel) \(follows ? "followed" : "left")"
    case .limited(let id): "messages before \(id) are hidden"
    case .untold(let change): "\(change), and nobody is told"
    case .aged(let row): "\(row.id) is in the cache as \(row.place): \(row.content)"
    case .renewed: "the cache is as it should be"
    }
  }
}

extension ServerMessages {
  static func list(_ ids: [MessageID]) -> String {
    var text = ""
    for id in ids { text += "\(id) " }
    return text
  }
}
