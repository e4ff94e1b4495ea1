import MessageSync
import UpdateMachine
import ZulipSync

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
