import UpdateMachine

extension MessageCheck.Report {
  /// The table's lines.
  var texts: [String] {
    guard !isEmpty else { return [] }
    let given = pages - pagesNotFollowed
    var texts = [
      "  pages        \(pages): \(given) given, \(pagesWithoutContents) of them without contents, "
        + "\(pagesNotFollowed) of no session"
    ]
    texts += sessions.map { "  orders       \($0.text)" }
    texts.append("  in doubt     \(inDoubt)")
    texts += sessions.flatMap(\.doubtTexts)
    texts.append("  stale        \(stale)")
    texts += sessions.flatMap(\.staleTexts)
    return texts
  }

  static func += (one: inout Self, other: Self) {
    one.pages += other.pages
    one.pagesWithoutContents += other.pagesWithoutContents
    one.pagesNotFollowed += other.pagesNotFollowed
    one.sessions += other.sessions
    one.differences += other.differences
  }
}

extension MessageCheck.Session {
  /// The number of messages in doubt, each counted once for every order.
  var inDoubtCount: Int { inDoubt.values.reduce(0) { $0 + $1.orders } }

  /// For example "message 7, its flag read: in doubt in 3 of 9 orders".
  fileprivate var doubtTexts: [String] {
    inDoubt.sorted { $0.key < $1.key }.map { id, doubt in
      "    \(name): message \(id), \(doubt.flags.words), in \(doubt.orders) of \(orders) orders"
    }
  }

  /// The number of messages that show a stale copy, each counted once for every order.
  var staleCount: Int { stale.values.reduce(0) { $0 + $1.orders } }

  /// For example "queue q: message 7, as an old cache shows it on line 12, in 3 of 9 orders".
  fileprivate var staleTexts: [String] {
    stale.sorted { $0.key < $1.key }.map { id, copy in
      "    \(name): message \(id), as an old cache shows it on line \(copy.line), in "
        + "\(copy.orders) of \(orders) orders"
    }
  }

  /// For example "queue q: 120 of 2 races, …".
  var text: String {
    "\(name): \(orders) tried, at most \(bound) for each of \(races) races, and every one for "
      + "\(racesInFull) of them; \(doubts) doubts, \(askedAgain) asked again, \(inDoubtCount) in doubt "
      + "and \(open) open at the end, \(suspects) suspects"
  }
}
