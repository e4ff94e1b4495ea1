import MessageSync
import UpdateMachine
import ZulipSync

/// A page of a recording, in the form in which an account takes it.
struct StatePage {
  var line: Int
  /// Microseconds since the epoch.
  var sent: Int64
  var ended: Int64
  var user: String
  var request: ZulipPageRequest
  var page: MessagePage<ZulipContent>

  /// Returns `nil` if the exchange is no page, or none that a store can take.
  init?(_ exchange: MessageExchange) {
    guard case .page(let request, let answer) = exchange.kind, let page = answer.page(for: request)
    else { return nil }
    line = exchange.line
    sent = exchange.sent
    ended = exchange.ended
    user = exchange.user
    self.request = request
    self.page = page
  }

  /// Whether the page lists all messages. Then a message that it covers and does not bring is no
  /// longer the user's.
  var isOfEverything: Bool { request.narrow.terms.isEmpty }

  /// The request by which an account would ask for the page.
  func question(of account: ZulipAccount) -> PageRequest<ZulipMessageList, MessageID> {
    if let id = request.narrow.message { return PageRequest(id) }
    return PageRequest(
      account.list(request.narrow), page.anchor.map { .id($0) } ?? request.anchor,
      before: request.before, after: request.after)
  }
}

/// A page that a client asked for after the last event it was told of. What the page shows of a
/// held message is true, whatever the events said.
struct LatePage {
  var page: StatePage
  /// What was held before the page came.
  var held: MessageStore<ZulipMessageList>

  /// What the page says of a message.
  enum Word {
    case shown(ChatMessage<ZulipContent>)
    case gone
  }

  func word(on id: MessageID) -> Word? {
    if let message = page.page.messages.first(where: { $0.id == id }) { return .shown(message) }
    let request = page.request
    let want = PageWant.about(request.anchor, before: request.before, after: request.after)
    guard page.isOfEverything, page.page.isInOrder,
      page.page.interval(for: want)?.contains(id) == true
    else { return nil }
    return .gone
  }
}

extension FedReplica {
  /// Asks again, by ID, for every message that is suspect or has a flag in doubt, as the library
  /// would. The last of these pages that says something about the message answers.
  mutating func askAgain(_ pages: [LatePage]) {
    guard let messages = model?.messages else { return }
    let doubtful = messages.doubtful.map { (id: $0, isAudit: false) }
    for (id, isAudit) in doubtful + messages.suspects.map({ (id: $0, isAudit: true) }) {
      guard let word = pages.reversed().lazy.compactMap({ $0.word(on: id) }).first,
        let fetch = ask(PageRequest(id), isAudit: isAudit)
      else { continue }
      switch word {
      case .shown(let message): take(MessagePage(messages: [message]), for: fetch)
      case .gone: take(MessagePage(messages: []), for: fetch)
      }
    }
  }
}

extension StateEvidence {
  /// The line of a page by which a client can mend the difference (PartialKnowledge R10 and R13).
  /// The client held the message, and the page shows it otherwise, in a way that counts. `nil` if
  /// there is no such page.
  func line(ofPageAgainst difference: StateDifference) -> Int? {
    guard ["starred_messages", "unread_msgs"].contains(difference.key.field) else { return nil }
    let id = MessageID(difference.key.number)
    for late in pages.reversed() where late.held[id] != nil {
      guard let word = late.word(on: id) else { continue }
      return agrees(word, with: difference) ? nil : late.page.line
    }
    return nil
  }

  /// Whether a copy is newer than all that events have told of a message's place. If not, it may be
  /// from an old cache. Both versions are whole seconds.
  private func isNewer(_ copy: ChatMessage<ZulipContent>) -> Bool {
    events.allSatisfy { event in
      switch event.kind {
      case .sent(let message): message.id != copy.id || message.version < copy.version
      case .updated(let update):
        !update.moved.contains(copy.id) || update.version ?? .min < copy.version
      case .deleted, .flagged, .reacted, .covered, .ignored: true
      }
    }
  }

  private func agrees(_ word: LatePage.Word, with difference: StateDifference) -> Bool {
    guard case .shown(let message) = word else { return difference.found == nil }
    guard let name = difference.path.first else {
      let isStar = difference.key.field == "starred_messages"
      let isThere = isStar ? message.flags.contains(.starred) : !message.flags.contains(.read)
      return isThere == (difference.found != nil)
    }
    guard isNewer(message) else { return true }
    switch (name, message.place) {
    case ("stream_id", .channel(let channel, _)):
      return difference.found?.number == channel.number
    case ("topic", .channel(_, let topic)):
      return difference.found?.text.map { MessageTopic(zulip: $0) } == topic
    default: return true
    }
  }
}
