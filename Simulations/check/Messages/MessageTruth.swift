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
  /// For each page, the messages whose copies are stale: they are from an old cache, and lack an
  /// event that was answered before the page was asked for (ZulipServer §10).
  private(set) var stale: [Int: Set<MessageID>] = [:]

  /// The last copy of each message that is not stale.
  private var copies: [MessageID: Copy] = [:]

  private struct Copy {
    var page: Int
    var place: Int
  }

  init(_ session: MessageSession) {
    self.session = session
    followed = Set(session.followed)
    findStaleCopies()
    /// What stale copies say. They come from an old cache, but the server reads flags anew.
    var old: [MessageID: Expected] = [:]
    for (index, page) in session.pages.enumerated() {
      for (place, message) in page.page.messages.enumerated() {
        let isStale = stale[index]?.contains(message.id) == true
        var shown = message
        // The list of a channel does not say whether the feed has the message, too.
        let before = old[message.id] ?? messages[message.id]
        if before?.message.flags.contains(.outsideFeed) == false {
          shown.flags.remove(.outsideFeed)
        }
        let copy = Expected(message: shown, page: index)
        if isStale {
          old[message.id] = copy
        } else {
          old[message.id] = nil
          copies[message.id] = Copy(page: index, place: place)
          messages[message.id] = copy
        }
      }
    }
    applyEvents(&old)
    for (id, copy) in old {
      if let message = messages[id]?.message {
        messages[id] = Expected(message: message.with(copy.message.flags), page: copy.page)
      } else {
        messages[id] = copy
      }
    }
  }

  private mutating func findStaleCopies() {
    var versions: [MessageID: Int64] = [:]
    var next = 0
    for (index, page) in session.pages.enumerated() {
      while next < session.polls.count, session.polls[next].ended <= page.sent {
        for case .updated(let update) in session.polls[next].events {
          guard let version = update.version else { continue }
          for id in MessageEvent.updated(update).named ?? [] {
            versions[id] = max(versions[id] ?? version, version)
          }
        }
        next += 1
      }
      let old = page.page.messages.filter { $0.version < versions[$0.id] ?? .min }.map(\.id)
      if !old.isEmpty { stale[index] = Set(old) }
    }
  }

  private mutating func applyEvents(_ old: inout [MessageID: Expected]) {
    for poll in session.polls {
      for event in poll.events {
        for id in event.named ?? Array(Set(messages.keys).union(old.keys)) {
          lastNamed[id] = poll.ended
          if let copy = old[id], let page = copy.page.map({ session.pages[$0] }),
            page.sent < poll.ended || event.isNewer(than: page.page, about: id)
          {
            old[id] = event.applied(to: copy, id, for: session.reader)
          }
          if let copy = copies[id], session.pages[copy.page].sent >= poll.ended { continue }
          messages[id] = event.applied(to: messages[id], id, for: session.reader)
        }
        if case .covered(let channel, let follows) = event {
          if follows { followed.insert(channel) } else { followed.remove(channel) }
        }
      }
    }
  }

  /// The last page that brings a message, is not stale, and is later than every event about the
  /// message.
  func page(with id: MessageID) -> (index: Int, copy: Shown)? {
    guard let copy = copies[id], session.pages[copy.page].sent >= lastNamed[id] ?? .min else {
      return nil
    }
    return (copy.page, session.pages[copy.page].page.messages[copy.place])
  }

  /// Whether what a page shows is still true at the end.
  func isLevel(
    _ page: MessageSession.Page, _ interval: IDInterval<MessageID>, of narrow: ZulipFilter
  ) -> Bool {
    let listed = Set(page.page.messages.map(\.id))
    for (id, moment) in lastNamed where moment > page.sent && interval.contains(id) {
      if listed.contains(id) { return false }
      guard let message = messages[id]?.message else { continue }
      if narrow.verdict(on: PartialMessage(message)) != .no { return false }
    }
    return true
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

  /// Whether a page that was asked for later has a copy of a version before this event's.
  fileprivate func isNewer(than page: MessagePage<ZulipContent>, about id: MessageID) -> Bool {
    guard case .updated(let update) = self, let version = update.version else { return false }
    return page.messages.contains { $0.id == id && $0.version < version }
  }

  /// What the event makes of a message; `nil` if nothing is known of the message, or if it is gone.
  func applied(
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

extension ChatMessage {
  fileprivate func with(_ flags: MessageFlags) -> Self {
    var message = self
    message.flags = flags
    return message
  }
}
