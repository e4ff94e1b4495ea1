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
  /// "queue q: 120 tried, at most 100 of each of 2 lists and of all; …"
  var text: String {
    "\(name): \(orders) tried, at most \(bound) for a list alone and for all \(lists) together; "
      + "every one for \(listsInFull) lists; in them \(doubts) doubts, \(inDoubt) in doubt at the "
      + "end, \(askedAgain) asked again, \(open) open, \(suspects) suspects"
  }
}
