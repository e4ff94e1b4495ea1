import MessageSync
import UpdateMachine
import ZulipSync

/// What a client must hold when a session is over, derived from the pages and from the events after
/// each. A page tells the truth at its time. Every event whose answer ended after the page was
/// asked for is applied to it once more, in order. None of the library's code for partial knowledge
/// is used, except intervals.
struct MessageTruth {
  typealias Shown = ChatMessage<ZulipContent>

  /// What is shown of a message at the end, and where that comes from.
  struct Expected {
    var message: Shown
    /// The last page that brought the message; `nil` if only events did.
    var page: Int?
  }

  /// One list at the end.
  struct List {
    /// The messages in the list, in ascending order.
    var ids: [MessageID] = []
    /// The intervals in which `ids` is everything.
    var covered = Knowledge<MessageID>()
    /// For each ID that pages or events name, the last page that covers it.
    var pages: [MessageID: Int] = [:]
  }

  let session: MessageSession
  private(set) var messages: [MessageID: Expected] = [:]
  /// For each message, the moment when the last event about it was known.
  private(set) var lastNamed: [MessageID: Int64] = [:]
  private(set) var followed: Set<ChannelID>

  init(_ session: MessageSession) {
    self.session = session
    followed = Set(session.followed)
    var copies: [MessageID: Int] = [:]
    for (index, page) in session.pages.enumerated() {
      for message in page.page.messages {
        copies[message.id] = index
        var shown = message
        // The list of a channel does not say whether the feed has the message, too.
        if messages[message.id]?.message.flags.contains(.outsideFeed) == false {
          shown.flags.remove(.outsideFeed)
        }
        messages[message.id] = Expected(message: shown, page: index)
      }
    }
    for poll in session.polls {
      for event in poll.events {
        for id in event.named ?? Array(messages.keys) {
          lastNamed[id] = poll.ended
          if let page = copies[id], session.pages[page].sent >= poll.ended,
            !event.isNewer(than: session.pages[page].page, about: id)
          {
            continue
          }
          messages[id] = event.applied(to: messages[id], id, for: session.reader)
        }
        if case .covered(let channel, let follows) = event {
          if follows { followed.insert(channel) } else { followed.remove(channel) }
        }
      }
    }
  }

  /// The last page that brings a message and is later than every event about it.
  func page(with id: MessageID) -> (index: Int, copy: Shown)? {
    for index in session.pages.indices.reversed()
    where session.pages[index].sent >= lastNamed[id] ?? .min {
      if let copy = session.pages[index].page.messages.first(where: { $0.id == id }) {
        return (index, copy)
      }
    }
    return nil
  }

  func list(of narrow: ZulipFilter) -> List {
    var list = List()
    var listed: Set<MessageID> = []
    for (index, page) in session.pages.enumerated() where page.request.narrow == narrow {
      guard let interval = page.interval else { continue }
      list.covered.insert(interval)
      for id in list.pages.keys where interval.contains(id) { list.pages[id] = index }
      for id in lastNamed.keys where interval.contains(id) { list.pages[id] = index }
      for id in listed where interval.contains(id) { listed.remove(id) }
      for message in page.page.messages {
        list.pages[message.id] = index
        listed.insert(message.id)
      }
    }
    // If events about an ID came after the page that covers it, they decide.
    for (id, moment) in lastNamed {
      guard let page = list.pages[id], moment > session.pages[page].sent else { continue }
      if let message = messages[id]?.message, narrow.verdict(on: PartialMessage(message)) == .yes {
        listed.insert(id)
      } else {
        listed.remove(id)
      }
    }
    list.ids = listed.filter { id in
      messages[id].map { $0.message.place.channel.map(followed.contains) ?? true } ?? true
    }.sorted()
    return list
  }
}

extension MessageEvent<ZulipContent> {
  /// The messages that the event names; `nil` means all.
  var named: [MessageID]? {
    switch self {
    case .new(let message): [message.id]
    case .updated(let update): update.moved + (update.edit.map { [$0.id] } ?? [])
    case .deleted(let ids), .flagged(let ids, _, isSet: _): ids
    case .flaggedAll: nil
    case .reacted(let id, _, isSet: _): [id]
    case .covered: []
    }
  }

  /// Whether a page that was asked for later has a copy from an old cache: of a version before this
  /// event's.
  fileprivate func isNewer(than page: MessagePage<ZulipContent>, about id: MessageID) -> Bool {
    guard case .updated(let update) = self, let version = update.version else { return false }
    return page.messages.contains { $0.id == id && $0.version < version }
  }

  /// What the event makes of a message; `nil` if nothing is known of the message, or if it is gone.
  fileprivate func applied(
    to old: MessageTruth.Expected?, _ id: MessageID, for reader: UserID?
  ) -> MessageTruth.Expected? {
    if case .new(let message) = self { return .init(message: message, page: old?.page) }
    guard var next = old else { return nil }
    switch self {
    case .new, .covered: break
    case .deleted: return nil
    case .updated(let update):
      if let edit = update.edit, edit.id == id {
        next.message.content = edit.content
        next.message.flags.subtract(edit.flagsRead)
        next.message.flags.formUnion(edit.flags)
      }
      if let move = update.move, update.moved.contains(id) { next.message.place = move.target }
    case .flagged(_, let flags, let isSet):
      next.message.flags.assign(flags, isSet)
      next.message.flags.remove(.outsideFeed)
    case .flaggedAll(let flags, let isSet): next.message.flags.assign(flags, isSet)
    case .reacted(_, let reaction, let isSet):
      if isSet, reaction.user == reader { next.message.flags.remove(.outsideFeed) }
      next.message.reactions.removeAll { $0 == reaction }
      if isSet { next.message.reactions = (next.message.reactions + [reaction]).sorted() }
    }
    return next
  }
}
