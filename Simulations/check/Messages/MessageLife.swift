import MessageSync
import UpdateMachine
import ZulipSync

typealias ZulipStore = MessageStore<MessageFilter<ZulipContent>>
typealias ZulipFilter = MessageFilter<ZulipContent>

/// What one client saw of messages: the session of one queue, or a time without any in which
/// nothing was changed.
struct MessageLife {
  /// Of the register, or of the first page.
  var line: Int
  var name: String
  /// Channels of which events come, when it begins.
  var followed: [ChannelID]
  /// In the order in which they were sent, one at a time.
  var polls: [Poll] = []
  /// In the order in which they were sent.
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

    /// Of which IDs it says everything; `nil`: of none.
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

  /// What there was of it when a poll was answered, and the pages that ended before that poll left:
  /// whatever they show, the events up to there have told (PartialKnowledge, S3). So the answer is
  /// a moment at which events and pages must agree, as at the end.
  func cut(after poll: Int) -> MessageLife {
    var life = self
    life.polls = Array(polls[...poll])
    life.pages = pages.filter { $0.ended <= polls[poll].sent }
    return life
  }

  /// The polls whose answers name a message of a narrow's pages, or may bring one in.
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

  /// The same of messages that say nothing.
  func withoutContents(_ form: ZulipContent.Form) -> MessageLife {
    let nothing = ZulipContent("", form)
    var life = self
    life.name += ", without contents"
    for index in pages.indices {
      for place in pages[index].page.messages.indices {
        life.pages[index].page.messages[place].content = nothing
      }
    }
    for index in polls.indices {
      life.polls[index].events = polls[index].events.map { event in
        switch event {
        case .new(var message):
          message.content = nothing
          return .new(message)
        case .updated(var update):
          update.edit?.content = nothing
          return .updated(update)
        case .deleted, .flagged, .flaggedAll, .reacted, .covered: return event
        }
      }
    }
    return life
  }

  /// How many polls were answered before a moment.
  func pollsAnswered(by moment: Int64) -> Int { polls.count { $0.ended <= moment } }

  /// How many polls had left before a moment.
  func pollsAsked(before moment: Int64) -> Int { polls.count { $0.sent < moment } }
}

/// The sessions in a recording.
struct MessageLives {
  var lives: [MessageLife] = []
  /// The lines of pages in another form than a queue's, of which the recording has not both: that
  /// queue is given them in a second session, in which no message has a content.
  var withoutContents: Set<Int> = []
  /// Pages that no session has: of a time in which something was changed and no queue told of it,
  /// or with a hole in them.
  var notFollowed = 0

  private let exchanges: [MessageExchange]
  private var forms = TwoForms()

  init(_ recording: MessageRecording) {
    exchanges = recording.exchanges.sorted { ($0.sent, $0.line) < ($1.sent, $1.line) }
    forms = TwoForms(exchanges)
    var used: Set<Int> = []
    for exchange in exchanges {
      guard case .registered(let queue, let form, let channels) = exchange.kind else { continue }
      addLife(of: queue, form, channels, exchange, &used)
    }
    for user in Set(exchanges.map(\.user)).sorted() { addQuietLife(of: user, &used) }
    lives.sort { $0.line < $1.line }
    let all = exchanges.filter { if case .page = $0.kind { true } else { false } }
    notFollowed += all.count { !used.contains($0.line) }
  }

  // MARK: Sessions

  private mutating func addLife(
    of queue: String, _ form: ZulipContent.Form, _ channels: [ChannelID]?,
    _ register: MessageExchange, _ used: inout Set<Int>
  ) {
    let user = register.user
    var life = MessageLife(line: register.line, name: "queue \(queue)", followed: [])
    var end = Int64.max
    for exchange in exchanges where exchange.user == user {
      switch exchange.kind {
      case .released(queue): end = min(end, exchange.sent)
      case .polled(queue, let events):
        life.polls.append(
          MessageLife.Poll(
            sent: exchange.sent, ended: exchange.ended,
            events: events.events.flatMap { $0.changes(form) }))
      case .registered, .polled, .released, .page, .wrote, .changed: break
      }
    }
    // Polls at once, or asked again: which events were applied when is the machine's business.
    for index in life.polls.indices.dropFirst()
    where life.polls[index].sent < life.polls[index - 1].ended { return }
    // A queue without a release may have gone on for any time after its last answer.
    if end == .max { end = life.polls.last?.ended ?? register.ended }
    let own = exchanges.filter { $0.user == user && $0.sent >= register.ended && $0.ended <= end }
    life.followed = channels?.sorted() ?? followed(by: user, until: end)
    addPages(own, form, of: user, life, &used)
  }

  /// The pages before a user's first queue: nothing tells of changes, so there must be none.
  private mutating func addQuietLife(of user: String, _ used: inout Set<Int>) {
    var end = Int64.max
    for exchange in exchanges {
      switch exchange.kind {
      case .registered: if exchange.user == user { end = min(end, exchange.sent) }
      case .wrote, .changed: end = min(end, exchange.sent)
      case .polled, .released, .page: break
      }
    }
    let own = exchanges.filter { $0.user == user && $0.ended <= end }
    guard let first = own.first else { return }
    let life = MessageLife(
      line: first.line, name: "\(user) without a queue",
      followed: followed(by: user, until: end))
    addPages(own, .rendered, of: user, life, &used)
  }

  /// Adds a session with its pages, and if some have not the form of its queue, another of the
  /// lists of those, without contents.
  private mutating func addPages(
    _ own: [MessageExchange], _ form: ZulipContent.Form, of user: String, _ life: MessageLife,
    _ used: inout Set<Int>
  ) {
    let directory = directory(of: user)
    var life = life
    var others: Set<ZulipFilter?> = []
    var all: [MessageLife.Page] = []
    for exchange in own {
      guard case .page(let request, let answer) = exchange.kind,
        var page = answer.page(for: request)
      else { continue }
      used.insert(exchange.line)
      let isOfForm = forms.translate(&page, into: form)
      let question: PageRequest<ZulipFilter, MessageID> =
        if let id = request.narrow.message {
          PageRequest(id)
        } else {
          // What left its anchor out is the page about the ID beside it.
          PageRequest(
            request.narrow.filter(directory), page.anchor.map { .id($0) } ?? request.anchor,
            before: request.before,
            after: request.after)
        }
      all.append(
        MessageLife.Page(
          line: exchange.line, sent: exchange.sent, ended: exchange.ended, request: question,
          page: page))
      if isOfForm {
        life.pages.append(all[all.count - 1])
      } else {
        others.insert(question.narrow)
        withoutContents.insert(exchange.line)
      }
    }
    if !life.pages.isEmpty { lives.append(life) }
    guard !others.isEmpty else { return }
    life.pages = all.filter { others.contains($0.request.narrow) }
    lives.append(life.withoutContents(form))
  }

  // MARK: What the recording tells of a user

  /// The messages that a user was shown, and the events of the user's queues.
  private func shown(
    to user: String, until end: Int64
  ) -> (messages: [ZulipMessage], events: [ZulipEvent]) {
    var messages: [ZulipMessage] = []
    var events: [ZulipEvent] = []
    for exchange in exchanges where exchange.user == user && exchange.sent <= end {
      switch exchange.kind {
      case .page(_, let page): messages += page.messages
      case .polled(_, let answer):
        events += answer.events
        for case .sent(let message) in answer.events.map(\.kind) { messages.append(message) }
      case .registered, .released, .wrote, .changed: break
      }
    }
    return (messages, events)
  }

  /// Without a register, a channel is not followed at first if the user joins it later, and is if
  /// the user leaves it. Otherwise it is not followed if the user found its newest message only
  /// afterwards.
  private func followed(by user: String, until end: Int64) -> [ChannelID] {
    var newest: [ChannelID: ZulipMessage] = [:]
    for message in shown(to: user, until: end).messages {
      guard let channel = message.place.channel else { continue }
      if (newest[channel]?.id ?? message.id) <= message.id { newest[channel] = message }
    }
    var follows: [ChannelID: Bool] = [:]
    for event in shown(to: user, until: .max).events {
      guard case .covered(let channels, let isFollowed) = event.kind else { continue }
      for channel in channels where follows[channel] == nil { follows[channel] = !isFollowed }
    }
    return newest.keys.sorted().filter {
      follows[$0] ?? !(newest[$0]?.flags.contains(.historical) ?? false)
    }
  }

  /// The user's own ID: the one that takes part in all of the user's direct conversations.
  private func directory(of user: String) -> ZulipNarrow.Directory {
    var directory = ZulipNarrow.Directory()
    var inAll: Set<UserID>?
    for message in shown(to: user, until: .max).messages {
      if let name = message.channelName { directory.channels[name] = message.place.channel }
      guard !message.participants.isEmpty else { continue }
      let users = Set(message.participants)
      inAll = inAll?.intersection(users) ?? users
    }
    directory.me = inAll?.count == 1 ? inAll?.first : nil
    return directory
  }
}

/// Contents of which the recording has both forms. A recorder may ask for pages in another form
/// than it asked the queue for; what an event tells in one form can then be found on a page in the
/// other.
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

  /// Whether all contents of the page are of this form now.
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
