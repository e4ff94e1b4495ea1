import MessageSync
import UpdateMachine
import ZulipSync

/// What a run shows at its end, compared with the truth.
struct MessageVerdict {
  /// A difference.
  struct Found: Hashable {
    var line: Int
    var what: String
    var expected: String
    var found: String
  }

  private(set) var suspects = 0
  private(set) var doubts = 0
  private(set) var askedAgain = 0
  /// How often a list leaves a message open that it must show.
  private(set) var open = 0
  private(set) var inDoubt: [(id: MessageID, flags: MessageFlags)] = []
  /// The messages that differ from the truth because a copy was stale, and that copy's line.
  private(set) var stale: [MessageID: Int] = [:]
  private(set) var found: [Found] = []
  /// The messages whose fields were compared, if there are several lists.
  private var compared: Set<MessageID> = []

  /// - Parameter other: a run of the same race, and what it shows. Many orders end with the same.
  init(on run: MessageRun, asOn other: (run: MessageRun, verdict: MessageVerdict)?) {
    if let other, run.isSame(as: other.run) {
      self = other.verdict
    } else {
      compare(run)
    }
    suspects = Int(run.store.auditCounts.suspects)
    doubts = run.doubtCount
    askedAgain = run.askedAgain
  }

  private mutating func compare(_ run: MessageRun) {
    inDoubt = run.inDoubt.map { ($0, run.store.doubt(about: $0)) }
    for line in run.malformed {
      note(line, "a page", expected: "one that can be taken", found: "malformed")
    }
    for id in run.inDoubt { compareDoubt(run, id) }
    for list in run.race.lists { compare(run, list) }
  }

  private mutating func note(_ line: Int, _ what: String, expected: String, found: String) {
    self.found.append(Found(line: line, what: what, expected: expected, found: found))
  }

  // MARK: Lists

  private mutating func compare(_ run: MessageRun, _ expected: MessageRace.List) {
    let narrow = expected.narrow
    guard let list = run.store.list(of: narrow) else { return }
    if let objection = KnowledgeRules.objection(to: list, of: narrow, in: run.store) {
      note(
        run.line(of: MessageVerdict.lastPage(run, narrow)), "the list of \(narrow)",
        expected: objection.expected, found: objection.found)
    }
    guard run.store.canBeKnown(narrow) else { return compareShown(run, narrow) }
    compareKnown(run, list.knowledge, expected)
    // Both are in ascending order.
    var next = 0
    for (id, _) in list.ids {
      while next < expected.ids.count, expected.ids[next] < id {
        judge(expected.ids[next], isListed: false, isExpected: true, list, expected, run)
        next += 1
      }
      let isExpected = next < expected.ids.count && expected.ids[next] == id
      if isExpected { next += 1 }
      guard isExpected || expected.expected.covered.contains(id) else { continue }
      judge(id, isListed: true, isExpected: isExpected, list, expected, run)
    }
    for id in expected.ids[next...] {
      judge(id, isListed: false, isExpected: true, list, expected, run)
    }
  }

  /// A message that the list shows, or must show.
  private mutating func judge(
    _ id: MessageID, isListed: Bool, isExpected: Bool, _ list: PartialList<MessageID>,
    _ expected: MessageRace.List, _ run: MessageRun
  ) {
    guard list.knowledge.contains(id) else {
      // A message in doubt is counted already.
      if isExpected, !run.inDoubt.contains(id) { open += 1 }
      return
    }
    guard isListed != isExpected else {
      if run.race.lists.count == 1 || compared.insert(id).inserted { compare(run, id, expected) }
      return
    }
    if let copy = run.stale[id], !copy.isContradicted,
      expected.narrow.verdict(on: PartialMessage(copy.message)) == (isListed ? .yes : .no)
    {
      stale[id] = copy.line
      return
    }
    note(
      run.line(of: expected.expected.pages[id]), "the list of \(expected.narrow), message \(id)",
      expected: isListed ? "not listed" : "listed", found: isListed ? "listed" : "not listed")
  }

  private static func lastPage(_ run: MessageRun, _ narrow: ZulipFilter) -> Int? {
    run.race.truth.session.pages.lastIndex { $0.request.narrow == narrow }
  }

  /// A list that only the server can decide must show what its last page showed.
  private mutating func compareShown(_ run: MessageRun, _ narrow: ZulipFilter) {
    guard let index = MessageVerdict.lastPage(run, narrow), !run.givenUp.contains(narrow) else {
      return
    }
    let last = run.race.truth.session.pages[index]
    for message in last.page.messages where run.store.message(message.id, in: narrow) == nil {
      note(
        last.line, "the list of \(narrow), message \(message.id)", expected: "shown",
        found: "not shown")
    }
  }

  /// Everything that the pages cover must be known, except single messages that events named, that
  /// were not held at that time, and that no later page brings.
  private mutating func compareKnown(
    _ run: MessageRun, _ known: Knowledge<MessageID>, _ list: MessageRace.List
  ) {
    let narrow = list.narrow
    guard !run.givenUp.contains(narrow), !run.shown.contains(narrow) else { return }
    for interval in list.expected.covered.intervals {
      for gap in known.gaps(in: interval).intervals {
        if let ids = run.ids(in: gap), ids.allSatisfy({ run.isOpen($0) }) { continue }
        note(
          run.line(of: MessageVerdict.lastPage(run, narrow)),
          "what is known of the list of \(narrow)", expected: "\(interval)", found: "not \(gap)")
      }
    }
  }

  // MARK: Messages

  /// If a message is in doubt at the end, no later page may bring it, because such a page would
  /// have ended the doubt (PartialKnowledge R10).
  private mutating func compareDoubt(_ run: MessageRun, _ id: MessageID) {
    guard let page = run.race.truth.page(with: id) else { return }
    let doubt = run.store.doubt(about: id)
    note(
      run.line(of: page.index), "message \(id), which was in doubt before this page",
      expected: page.copy.flags.intersection(doubt).words, found: "\(doubt.words) in doubt")
  }

  /// Compares every field of a message, except flags in doubt.
  private mutating func compare(_ run: MessageRun, _ id: MessageID, _ list: MessageRace.List) {
    guard let expected = run.race.truth.messages[id], let found = run.store[id] else {
      let isThere = run.race.truth.messages[id] != nil
      return note(
        run.line(of: list.expected.pages[id]), "message \(id)",
        expected: isThere ? "held" : "not there", found: run.store[id] == nil ? "not held" : "held")
    }
    let shown = expected.message
    // Whether it is in the feed, only lists of the feed tell. They are compared one by one.
    let doubt = run.store.doubt(about: id).union(.outsideFeed)
    if found.isSame(as: shown, but: doubt) { return }
    let wrong = KnowledgeRules.wrongFields(of: found, among: [shown], .init(flags: doubt))
    if !wrong.isEmpty, let copy = run.stale[id], !copy.isContradicted,
      KnowledgeRules.wrongFields(of: found, among: [shown, copy.message], .init(flags: doubt))
        .isEmpty
    {
      stale[id] = copy.line
      return
    }
    for field in wrong {
      note(
        run.line(of: expected.page ?? list.expected.pages[id]),
        "message \(id), its \(field.rawValue)",
        expected: shown.words(field, but: doubt), found: found.words(field, but: doubt))
    }
  }
}

extension ChatMessage<ZulipContent> {
  /// Whether ``KnowledgeRules`` finds no wrong field, as almost always. It takes less time to see.
  fileprivate func isSame(as other: Self, but doubt: MessageFlags) -> Bool {
    flags.symmetricDifference(other.flags).isSubset(of: doubt) && sender == other.sender
      && reactions == other.reactions && place == other.place && content == other.content
      && zip(reactions, reactions.dropFirst()).allSatisfy { $0 < $1 }
  }

  /// One field of the message as text.
  fileprivate func words(_ field: KnowledgeRules.Field, but doubt: MessageFlags) -> String {
    switch field {
    case .place: "\(place)"
    case .content: content.text
    case .flags: flags.subtracting(doubt).words
    case .reactions: reactions.words
    case .sender: "\(sender)"
    }
  }
}

extension MessageFlags {
  /// For example "read starred", or "none".
  var words: String {
    let names: [(MessageFlags, String)] = [
      (.read, "read"), (.starred, "starred"), (.mentioned, "mentioned"),
      (.mentionedByName, "by name"), (.wildcardMentioned, "by wildcard"),
      (.hasAlertWord, "alert word"), (.historical, "historical"), (.collapsed, "collapsed"),
    ]
    let words = names.filter { contains($0.0) }.map(\.1)
    return words.isEmpty ? "none" : words.joined(separator: " ")
  }
}

extension [MessageReaction] {
  /// For example "unicode_emoji:1f389 of 7", or "none".
  fileprivate var words: String {
    isEmpty ? "none" : map { "\($0.emoji) of \($0.user)" }.joined(separator: ", ")
  }
}
