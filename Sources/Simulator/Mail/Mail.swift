package import MessageSync
package import SyncProtocols
package import UpdateMachine

// Mail: the room of a world of messages of which each client holds a part: its app, its users and
// what they are owed, and a race of events and pages on one message store.
//
// Mail may use: Choices, Disk, Mailbox, Oracles, Run.

/// The simulator's second app: messages of which each client holds a part. Every client is a device
/// of one user, who scrolls through lists, jumps about in them, and leaves.
package enum Mail: SimulatedApp {
  package typealias Model = MailModel
  package typealias Truth = Mailbox
  package typealias User = MailUser
  package typealias Disk = RowDisk<MailModel, QueueFinger>

  package static func beginning(_ choices: inout Choices) -> Mailbox {
    var mailbox = Mailbox.beginning
    for _ in 0..<choices.draw(.workload, below: 8) {
      mailbox.apply(mailbox.nextChange(&choices))
    }
    return mailbox
  }

  package static func nextEvent(_ truth: Mailbox, _ choices: inout Choices) -> Mailbox.Change {
    truth.nextChange(&choices)
  }

  package static func page(
    _ request: PageRequest<Mailbox.Narrow, MessageID>, found: Mailbox, later: Mailbox
  ) -> MessagePage<UInt32> { found.page(request, later: later) }

  package static func page(
    _ request: PageRequest<Mailbox.Narrow, MessageID>, found: Mailbox, later: Mailbox,
    breaking breach: PageBreach
  ) -> MessagePage<UInt32>? { found.page(request, later: later, breaking: breach) }

  /// An unannounced change; or an old row in the cache, or its removal.
  package static func nextBreach(
    _ fault: Fault, _ truth: Mailbox, _ choices: inout Choices
  ) -> Mailbox.Change? {
    truth.nextBreach(fault, &choices)
  }

  package static func endOfBreaches(_ truth: Mailbox) -> Mailbox.Change? {
    truth.cached.isEmpty ? nil : .renewed
  }

  package static func checksum(of model: MailModel) -> UInt64 {
    var digest = Digest()
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

  package static func describe(_ model: MailModel) -> String {
    var text = ""
    for message in model.lists.messages {
      text += "\(message.id):\(message.place):\(message.content)+\(message.flags.rawValue) "
    }
    for narrow in model.lists.narrows {
      if let list = model.lists.list(of: narrow) { text += "· \(narrow) \(list.knowledge) " }
    }
    return text
  }

  package static func describe(_ truth: Mailbox) -> String { truth.description }

  package static func describe(_ change: Mailbox.Change) -> String { "\(change)" }
}

/// The part of the messages that a client holds.
package struct MailModel: MessageModel {
  package typealias Narrow = Mailbox.Narrow

  package var lists: MessageStore<Mailbox.Narrow>

  package typealias Snapshot = [ChannelID]
  package typealias Event = Mailbox.Event
  package typealias Refusal = Never

  package init(snapshot: [ChannelID]) { lists = MessageStore(following: snapshot) }

  package init(snapshot: [ChannelID], replacing old: MailModel?) {
    self.init(snapshot: snapshot)
    if let old { lists = MessageStore(following: snapshot, after: old.lists) }
  }

  package mutating func apply(_ event: Mailbox.Event) { lists.apply(event) }
}

extension MailModel: StorableModel {
  package func store(since old: MailModel?, into rows: inout RowWriter) {
    lists.store(since: old?.lists, into: &rows, from: .firstOfModel)
  }

  package init(stored rows: StoredRows) throws(StoredFormError) {
    lists = try MessageStore(stored: rows, from: .firstOfModel)
  }

  package static var unloadedTables: [StoredTable] {
    MessageStore<Mailbox.Narrow>.unloadedTables(from: .firstOfModel)
  }
}

extension Mailbox: ServerTruth {
  /// The channels that the user follows: messages come only with pages.
  package var snapshot: [ChannelID] { followed }

  /// Every change gives another state.
  package var checksum: UInt64 { Digest.mixed(UInt64(bitPattern: changeCount)) }

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

extension Mailbox: CustomStringConvertible {
  package var description: String {
    var text = "follows"
    for channel in followed { text += " \(channel)" }
    for message in messages {
      text += " \(message.id):\(message.place):\(message.content)+\(message.flags.rawValue)"
    }
    return text
  }
}

extension Mailbox.Change: CustomStringConvertible {
  package var description: String {
    switch self {
    case .sent(let id, _, let place, let content, let flags):
      "\(id) sent to \(place): \(content)+\(flags.rawValue)"
    case .edited(let id, let content, _): "\(id) edited: \(content)"
    case .moved(let ids, let target, let isAnnounced):
      "\(Mailbox.list(ids))moved to \(target)\(isAnnounced ? "" : ", perhaps silently")"
    case .deleted(let ids): "\(Mailbox.list(ids))deleted"
    case .flagged(let ids, let flags, let isSet):
      "\(Mailbox.list(ids))flags \(isSet ? "+" : "-")\(flags.rawValue)"
    case .flaggedAll(let flags, let isSet): "all flags \(isSet ? "+" : "-")\(flags.rawValue)"
    case .reacted(let id, let reaction, let isSet):
      "\(id) reaction \(isSet ? "+" : "-") of \(reaction.user)"
    case .covered(let channel, let follows): "channel \(channel) \(follows ? "followed" : "left")"
    case .untold(let change): "\(change), and nobody is told"
    case .aged(let row): "\(row.id) is in the cache as \(row.place): \(row.content)"
    case .renewed: "the cache is as it should be"
    }
  }
}

extension Mailbox {
  static func list(_ ids: [MessageID]) -> String {
    var text = ""
    for id in ids { text += "\(id) " }
    return text
  }
}
