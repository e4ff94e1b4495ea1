import MessageSync
import UpdateMachine
import ZulipSync

/// What a client must hold when a session is over, by the pages alone and by what came after each:
/// a page says the truth of its time, and every event whose answer ended after the page was asked
/// for is applied once more, in order. Nothing of the library's knowledge is in it.
struct MessageTruth {
  typealias Shown = ChatMessage<ZulipContent>

  /// What is shown of a message at the end, and where that is from.
  struct Expected {
    var message: Shown
    /// The last page that brought it; `nil`: only events did.
    var page: Int?
  }

  /// One list at the end.
  struct List {
    /// Ascending.
    var ids: [MessageID] = []
    /// Where that is everything.
    var covered = Knowledge<MessageID>()
    /// Of each ID that pages or events name: the last page that covers it.
    var pages: [MessageID: Int] = [:]
  }

  let life: MessageLife
  private(set) var messages: [MessageID: Expected] = [:]
  /// The moment at which the last event about a message was known.
  private(set) var lastNamed: [MessageID: Int64] = [:]
  private(set) var followed: Set<ChannelID>

  init(_ life: MessageLife) {
    self.life = life
    followed = Set(life.followed)
    var copies: [MessageID: Int] = [:]
    for (index, page) in life.pages.enumerated() {
      for message in page.page.messages {
        copies[message.id] = index
        messages[message.id] = Expected(message: message, page: index)
      }
    }
    for poll in life.polls {
      for event in poll.events {
        for id in event.named ?? Array(messages.keys) {
          lastNamed[id] = poll.ended
          if let page = copies[id], life.pages[page].sent >= poll.ended { continue }
          messages[id] = event.applied(to: messages[id], id)
        }
        if case .covered(let channel, let follows) = event {
          if follows { followed.insert(channel) } else { followed.remove(channel) }
        }
      }
    }
  }

  /// A page, later than every event about it, that brings a message.
  func page(with id: MessageID) -> (index: Int, copy: Shown)? {
    for index in life.pages.indices.reversed()
    where life.pages[index].sent >= lastNamed[id] ?? .min {
      if let copy = life.pages[index].page.messages.first(where: { $0.id == id }) {
        return (index, copy)
      }
    }
    return nil
  }

  func list(of narrow: ZulipFilter) -> List {
    var list = List()
    var listed: Set<MessageID> = []
    for (index, page) in life.pages.enumerated() where page.request.narrow == narrow {
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
    // Where events came after the page that covers an ID, what they lead to decides.
    for (id, moment) in lastNamed {
      guard let page = list.pages[id], moment > life.pages[page].sent else { continue }
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
  /// The messages that it names; `nil`: all.
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

  /// What comes of a message by it; `nil`: nothing is known of it, or it is gone.
  fileprivate func applied(
    to old: MessageTruth.Expected?, _ id: MessageID
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
    case .flagged(_, let flags, let isSet), .flaggedAll(let flags, let isSet):
      next.message.flags.assign(flags, isSet)
    case .reacted(_, let reaction, let isSet):
      next.message.reactions.removeAll { $0 == reaction }
      if isSet { next.message.reactions = (next.message.reactions + [reaction]).sorted() }
    }
    return next
  }
}
