import MessageSync
import UpdateMachine
import ZulipSync

typealias ZulipStore = MessageStore<MessageFilter<ZulipContent>>
typealias ZulipFilter = MessageFilter<ZulipContent>

/// What one client saw of messages: the session of one queue, or a time without a queue in which
/// nothing changed.
struct MessageSession {
  /// The line of the register, or of the first page.
  var line: Int
  var name: String
  /// The channels that send events when the session begins.
  var followed: [ChannelID]
  /// The user's own ID; `nil`: the recording does not show it.
  var reader: UserID?
  /// The polls in the order in which they were sent, one at a time.
  var polls: [Poll] = []
  /// The pages in the order in which they were sent.
  var pages: [Page] = []

  struct Poll {
    var sent: Int64
    var ended: Int64
    var events: [MessageEvent<ZulipContent>]
  }

  struct Page {
    var line: Int
    var sent: Int64
    var ended: Int64
    var request: PageRequest<ZulipFilter, MessageID>
    var page: MessagePage<ZulipContent>

    /// The IDs about which the page says everything; `nil` if there are none.
    var interval: IDInterval<MessageID>? { KnowledgeRules.interval(of: page, for: request) }
  }

  /// The narrows that were asked for, each once, in the order of their first page.
  var narrows: [ZulipFilter] {
    var narrows: [ZulipFilter] = []
    for page in pages {
      if let narrow = page.request.narrow, !narrows.contains(narrow) { narrows.append(narrow) }
    }
    return narrows
  }

  /// The session up to the answer to a poll, with only the pages that ended before that poll left.
  /// By then events have told all that those pages show (PartialKnowledge, S3). So events and pages
  /// must agree at that moment, as they must at the end.
  func cut(after poll: Int) -> MessageSession {
    var session = self
    session.polls = Array(polls[...poll])
    session.pages = pages.filter { $0.ended <= polls[poll].sent }
    return session
  }

  /// The polls whose answers name a message on a narrow's pages, or may bring one into the narrow.
  func polls(thatMatterTo narrow: ZulipFilter) -> [Int] {
    var ids: Set<MessageID> = []
    for page in pages where page.request.narrow == narrow {
      ids.formUnion(page.page.messages.map(\.id))
    }
    for event in polls.flatMap(\.events) {
      switch event {
      case .new(let message):
        if narrow.verdict(on: PartialMessage(message)) != .no { ids.insert(message.id) }
      case .updated(let update):
        guard let move = update.move, let id = update.moved.first else { break }
        var partialMessage = PartialMessage<ZulipContent>(id)
        (partialMessage.place, partialMessage.channel) = (move.target, move.target.channel)
        if narrow.verdict(on: partialMessage) != .no { ids.formUnion(update.moved) }
      case .deleted, .flagged, .flaggedAll, .reacted, .covered: break
      }
    }
    return polls.indices.filter { poll in
      polls[poll].events.contains { event in
        if case .covered = event { return true }
        return event.named?.contains(where: ids.contains) ?? true
      }
    }
  }

  /// The events of each poll that a list depends on: those that name a message on the list's pages,
  /// or one that the list may have gained (PartialKnowledge R7).
  func events(thatMatterTo narrow: ZulipFilter) -> [[MessageEvent<ZulipContent>]] {
    var ids: Set<MessageID> = []
    for page in pages where page.request.narrow == narrow {
      ids.formUnion(page.page.messages.map(\.id))
    }
    for event in polls.flatMap(\.events) where event.mayAdd(to: narrow, for: reader) {
      ids.formUnion(event.named ?? [])
    }
    return polls.map { poll in
      poll.events.filter { event in
        if case .covered = event { return true }
        return event.named?.contains(where: ids.contains) ?? true
      }
    }
  }

  /// The same session with empty contents.
  func withoutContents(_ form: ZulipContent.Form) -> MessageSession {
    let nothing = ZulipContent("", form)
    var session = withContents { _ in nothing }
    session.name += ", without contents"
    return session
  }

  /// The same session, in which equal contents are one string. They are compared very often.
  func sharingContents() -> MessageSession {
    var all: Set<String> = []
    return withContents { content in
      ZulipContent(all.insert(content.text).memberAfterInsert, content.form)
    }
  }

  private func withContents(_ change: (ZulipContent) -> ZulipContent) -> MessageSession {
    var session = self
    for index in pages.indices {
      for place in pages[index].page.messages.indices {
        let old = session.pages[index].page.messages[place].content
        session.pages[index].page.messages[place].content = change(old)
      }
    }
    for index in polls.indices {
      session.polls[index].events = polls[index].events.map { event in
        switch event {
        case .new(var message):
          message.content = change(message.content)
          return .new(message)
        case .updated(var update):
          if let old = update.edit?.content { update.edit?.content = change(old) }
          return .updated(update)
        case .deleted, .flagged, .flaggedAll, .reacted, .covered: return event
        }
      }
    }
    return session
  }

  /// How many polls were answered before a moment.
  func pollsAnswered(by moment: Int64) -> Int { polls.count { $0.ended <= moment } }

  /// How many polls were sent before a moment.
  func pollsAsked(before moment: Int64) -> Int { polls.count { $0.sent < moment } }
}

extension MessageEvent<ZulipContent> {
  /// Whether it may bring a message into a list that did not have it.
  fileprivate func mayAdd(to narrow: ZulipFilter, for reader: UserID?) -> Bool {
    let reads = narrow.reads
    switch self {
    case .new(let message): return narrow.verdict(on: PartialMessage(message)) != .no
    case .updated(let update):
      if update.edit != nil, reads.hasContent || !reads.flags.isEmpty { return true }
      guard let move = update.move, let id = update.moved.first else { return false }
      var moved = PartialMessage<ZulipContent>(id)
      (moved.place, moved.channel) = (move.target, move.target.channel)
      return narrow.verdict(on: moved) != .no
    case .flagged: return !reads.flags.isEmpty
    case .reacted(_, let reaction, let isSet):
      return isSet && reaction.user == reader && reads.flags.contains(.outsideFeed)
    case .deleted, .flaggedAll, .covered: return false
    }
  }
}

/// The contents that the recording has in both forms. A recorder may ask for pages in one form and
/// for the queue in the other. With both forms at hand, an event can then be compared with a page.
struct TwoForms {
  private struct Key: Hashable {
    var id: MessageID
    var content: ZulipContent
  }

  private var others: [Key: String] = [:]

  init() {}

  init(_ exchanges: [MessageExchange]) {
    var typed: [MessageID: String] = [:]
    for exchange in exchanges {
      if case .wrote(let id, let raw) = exchange.kind { typed[id] = raw }
    }
    for exchange in exchanges {
      guard case .polled(_, let answer) = exchange.kind else { continue }
      for event in answer.events {
        if case .sent(let message) = event.kind, message.content.form == .rendered,
          let raw = typed[message.id]
        {
          add(message.id, raw: raw, rendered: message.content.text)
        }
        if case .updated(let update) = event.kind, let edit = update.edit {
          add(edit.id, raw: edit.raw, rendered: edit.rendered)
        }
      }
    }
  }

  private mutating func add(_ id: MessageID, raw: String, rendered: String) {
    others[Key(id: id, content: ZulipContent(raw, .raw))] = rendered
    others[Key(id: id, content: ZulipContent(rendered, .rendered))] = raw
  }

  /// Translates the page's contents into a form. Returns whether all of them now have it.
  func translate(
    _ page: inout MessagePage<ZulipContent>, into form: ZulipContent.Form
  ) -> Bool {
    for index in page.messages.indices where page.messages[index].content.form != form {
      let message = page.messages[index]
      guard let text = others[Key(id: message.id, content: message.content)] else { return false }
      page.messages[index].content = ZulipContent(text, form)
    }
    return true
  }
}
