package import UpdateMachine

// Changes: the room of what users change, whatever the protocol: what they do with an outbox, what
// they know of it, and the one oracle of what becomes of their changes. A protocol brings its law.
//
// Changes may use: Choices, Run.

/// A protocol's law of conflicts: which of a user's changes must stand. A law is made for one
/// moment, and knows what its client holds then and what the server has.
package protocol ConflictLaw {
  associatedtype Change: MarkedChange
  typealias Made = ChangeBook<Change>.Made
  typealias Book = ChangeBook<Change>

  /// Returns the objection to what the client shows, which is what it has confirmed with the
  /// pending changes over it.
  func objectionToView(_ book: Book) -> UserObjection?

  /// Returns the objection to what the server has done, except for what the other requirements say.
  func objectionToServer(_ book: Book) -> UserObjection?

  /// How often the server has made a change, and how often at the most it may have. By default
  /// nobody counts.
  func copies(of made: Made) -> (found: Int, maximum: Int)

  /// The marks of this client's changes, in the order in which the server made them; `nil`, the
  /// default: the law keeps no order, or changes have no marks.
  var order: [Change.Mark]? { get }

  /// Whether only changes of one object are made in the user's order; by default all are.
  var ordersOnlyObjects: Bool { get }

  /// Whether the confirmed state contains a change, or what has rightly taken its place.
  func isConfirmed(_ made: Made, _ book: Book) -> Bool

  /// Whether a change may be overruled, asked when it is. By default none may.
  func canOverrule(_ made: Made, _ book: Book) -> Bool

  /// Whether a change that the server has made may be said to stand, asked when that is said. By
  /// default it may.
  func canAcknowledge(_ made: Made) -> Bool
}

extension ConflictLaw {
  package func objectionToServer(_ book: Book) -> UserObjection? { nil }
  package func copies(of made: Made) -> (found: Int, maximum: Int) { (0, .max) }
  package var order: [Change.Mark]? { nil }
  package var ordersOnlyObjects: Bool { false }
  package func canOverrule(_ made: Made, _ book: Book) -> Bool { false }
  package func canAcknowledge(_ made: Made) -> Bool { true }
}

/// Oracle H: what a user has made is pending, set aside, overruled by the law, or confirmed, and
/// the view shows it so. The server makes nothing that no user has made, nothing too often, and
/// nothing in another order than the law's.
package enum ChangeOracle {
  /// - Parameter book: notes what has become of the changes.
  package static func objection<Law: ConflictLaw>(
    _ law: Law, _ outbox: Outbox<Law.Change>, _ book: inout ChangeBook<Law.Change>
  ) -> UserObjection? {
    law.objectionToView(book) ?? law.objectionToServer(book) ?? objectionToNews(law, outbox, &book)
      ?? objectionToChanges(law, outbox, book) ?? objectionToOrder(law, book)
  }

  private static func objectionToNews<Law: ConflictLaw>(
    _ law: Law, _ outbox: Outbox<Law.Change>, _ book: inout ChangeBook<Law.Change>
  ) -> UserObjection? {
    for (made, state) in book.takeNews(outbox) where !book.isDoubtful(made) {
      if state == .overruled, !made.isDiscarded, !law.canOverrule(made, book) {
        return UserObjection(
          .input, "\(made.ticket), \(made.change), is overruled only by the law", "\(outbox)")
      }
      if state == .acknowledged, !law.canAcknowledge(made) {
        return UserObjection(
          .input, "\(made.ticket), \(made.change), is overruled", "it is acknowledged: \(outbox)")
      }
    }
    return nil
  }

  private static func objectionToChanges<Law: ConflictLaw>(
    _ law: Law, _ outbox: Outbox<Law.Change>, _ book: ChangeBook<Law.Change>
  ) -> UserObjection? {
    for made in book.made where !book.isDoubtful(made) {
      let (found, maximum) = law.copies(of: made)
      if found > maximum {
        return UserObjection(
          .input, "the server makes \(made.change) \(maximum) times at most", "\(found) times")
      }
      guard !made.isDiscarded else { continue }
      switch outbox.state(of: made.ticket) {
      case .queued, .sent, .uncertain, .setAside, .overruled: continue
      case .acknowledged, nil: if law.isConfirmed(made, book) { continue }
      case .discarded: if made.isUndone || made.takesBack != nil { continue }
      }
      return UserObjection(
        .input, "\(made.ticket), \(made.change), is confirmed, pending or set aside", "\(outbox)")
    }
    return nil
  }

  /// Changes that have kept their places are made in the user's order.
  private static func objectionToOrder<Law: ConflictLaw>(
    _ law: Law, _ book: ChangeBook<Law.Change>
  ) -> UserObjection? {
    guard let all = law.order, book.client != nil else { return nil }
    let found = book.withoutDoubtful(all)
    let known = book.made.flatMap { $0.change.marks }
    if let mark = found.first(where: { !known.contains($0) }) {
      return UserObjection(.input, "the server makes what was made, as it was", "\(mark): \(found)")
    }
    var last: [Law.Change.Object?: Int] = [:]  // It is never iterated.
    for made in book.made where made.sends == 1 && !made.isDiscarded && !made.hasMoved {
      for mark in made.change.marks {
        guard let place = found.firstIndex(of: mark) else { continue }
        let object = law.ordersOnlyObjects ? made.change.object : nil
        if place < last[object] ?? -1 {
          return UserObjection(
            .input, "\(made.change) is made after all that was before it", "\(found)")
        }
        last[object] = place
      }
    }
    return nil
  }
}
