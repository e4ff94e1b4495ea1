import MessageSync
import UpdateMachine
import ZulipSync

/// The sessions in a recording.
struct MessageSessions {
  var sessions: [MessageSession] = []
  /// The lines of pages in another form than their queue's, if the recording does not have both
  /// forms. A second session of that queue takes them, in which all contents are empty.
  var withoutContents: Set<Int> = []
  /// The number of pages that no session has: they have a hole in them, or are from a time when
  /// something changed and no queue told of it.
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
    sessions.sort { $0.line < $1.line }
    let all = exchanges.filter { if case .page = $0.kind { true } else { false } }
    notFollowed += all.count { !used.contains($0.line) }
  }

  // MARK: Sessions

  private mutating func addLife(
    of queue: String, _ form: ZulipContent.Form, _ channels: [ChannelID]?,
    _ register: MessageExchange, _ used: inout Set<Int>
  ) {
    let user = register.user
    var session = MessageSession(line: register.line, name: "queue \(queue)", followed: [])
    var end = Int64.max
    var isLost = false
    for exchange in exchanges where exchange.user == user {
      switch exchange.kind {
      case .released(queue): end = min(end, exchange.sent)
      case .lost(queue): isLost = true
      case .polled(queue, let events):
        session.polls.append(
          MessageSession.Poll(
            sent: exchange.sent, ended: exchange.ended,
            events: events.events.flatMap { $0.changes(form) }))
      case .registered, .polled, .released, .lost, .page, .wrote, .changed: break
      }
    }
    // If polls overlap, or one is repeated, it is not known which events were applied when. That is
    // the machine's check.
    for index in session.polls.indices.dropFirst()
    where session.polls[index].sent < session.polls[index - 1].ended { return }
    // Nobody knows how long a queue without a release went on after its last answer. What happened
    // after the last answer of a lost queue is told by no event. One that is asked for after it was
    // released is lost, too: its client did not know of the release.
    if end == .max || isLost { end = session.polls.last?.ended ?? register.ended }
    let own = exchanges.filter { $0.user == user && $0.sent >= register.ended && $0.ended <= end }
    session.followed = channels?.sorted() ?? followed(by: user, until: end)
    addPages(own, form, of: user, session, &used)
  }

  /// Adds the pages before a user's first queue. Nothing tells of changes then, so there must be
  /// none.
  private mutating func addQuietLife(of user: String, _ used: inout Set<Int>) {
    var end = Int64.max
    for exchange in exchanges {
      switch exchange.kind {
      case .registered: if exchange.user == user { end = min(end, exchange.sent) }
      case .wrote, .changed: end = min(end, exchange.sent)
      case .polled, .released, .lost, .page: break
      }
    }
    let own = exchanges.filter { $0.user == user && $0.ended <= end }
    guard let first = own.first else { return }
    let session = MessageSession(
      line: first.line, name: "\(user) without a queue",
      followed: followed(by: user, until: end))
    addPages(own, .rendered, of: user, session, &used)
  }

  /// Adds a session with its pages. If some pages do not have the queue's form, it adds another
  /// session with their lists, without contents.
  private mutating func addPages(
    _ own: [MessageExchange], _ form: ZulipContent.Form, of user: String, _ session: MessageSession,
    _ used: inout Set<Int>
  ) {
    let directory = directory(of: user)
    var session = session
    session.reader = directory.me
    var others: Set<ZulipFilter?> = []
    var all: [MessageSession.Page] = []
    for exchange in own {
      guard case .page(let request, let answer) = exchange.kind,
        var page = answer.page(for: request)
      else { continue }
      used.insert(exchange.line)
      // An empty list of one message does not say that there is none: the library asks once more.
      if request.narrow.message != nil, page.messages.isEmpty { continue }
      let isOfForm = forms.translate(&page, into: form)
      let question: PageRequest<ZulipFilter, MessageID> =
        if let id = request.narrow.message {
          PageRequest(id)
        } else {
          // A page whose request left the anchor out counts as a page about the neighbouring ID.
          PageRequest(
            request.narrow.filter(directory), page.anchor.map { .id($0) } ?? request.anchor,
            before: request.before,
            after: request.after)
        }
      all.append(
        MessageSession.Page(
          line: exchange.line, sent: exchange.sent, ended: exchange.ended, request: question,
          page: page))
      if isOfForm {
        session.pages.append(all[all.count - 1])
      } else {
        others.insert(question.narrow)
        withoutContents.insert(exchange.line)
      }
    }
    if !session.pages.isEmpty { sessions.append(session.sharingContents()) }
    guard !others.isEmpty else { return }
    session.pages = all.filter { others.contains($0.request.narrow) }
    sessions.append(session.withoutContents(form))
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
      case .registered, .released, .lost, .wrote, .changed: break
      }
    }
    return (messages, events)
  }

  /// The channels followed at the start, where no register tells. A channel is not followed if the
  /// user joins it later, and is followed if the user leaves it later. Otherwise it is followed
  /// unless the newest message that the user was shown of it is historical.
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

  /// The channels' names, and the user's own ID: the one that takes part in all of the user's
  /// direct conversations.
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
