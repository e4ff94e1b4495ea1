extension MessageCheck.Report {
  /// The table's lines.
  var texts: [String] {
    guard !isEmpty else { return [] }
    let given = pages - pagesInOtherForm - pagesNotFollowed
    var texts = [
      "  pages        \(pages): \(given) given, \(pagesInOtherForm) in another form, "
        + "\(pagesNotFollowed) of no life"
    ]
    texts += lives.map { "  orders       \($0.text)" }
    texts.append("  in doubt     \(inDoubt)")
    return texts
  }

  static func += (one: inout Self, other: Self) {
    one.pages += other.pages
    one.pagesInOtherForm += other.pagesInOtherForm
    one.pagesNotFollowed += other.pagesNotFollowed
    one.lives += other.lives
    one.differences += other.differences
  }
}

extension MessageCheck.Life {
  /// "queue q: 120 of 2 races, …".
  var text: String {
    "\(name): \(orders) tried, at most \(bound) for each of \(races) races, and every one for "
      + "\(racesInFull) of them; \(doubts) doubts, \(askedAgain) asked again, \(inDoubt) in doubt "
      + "and \(open) open at the end, \(suspects) suspects"
  }
}
