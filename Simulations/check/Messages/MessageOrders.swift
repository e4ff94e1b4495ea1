import UpdateMachine

/// The orders in which the events and pages of a session may have come, as far as the recorded
/// times leave that open.
///
/// The polls have only one order, because each leaves after the one before was applied. So time is
/// a row of *slots*. Slot 2k lies before poll k leaves, and slot 2k + 1 between that and its
/// answer. The server read a page at some time between the page's sending and its end. So
///
/// - the fetch may have begun earlier than recorded, because it may have left earlier and been
///   slow. It cannot have begun after an answer that came after the page was sent, because the page
///   may be older than that answer;
/// - the page may have been taken at any time after that, however late, because an answer may lie
///   about. But it was not taken before a poll left that was sent before the page ended, because
///   that poll's answer need not tell what the page shows (PartialKnowledge, S3).
struct MessageOrders {
  /// One order: the slots of each page. The pages are in the order in which they were sent.
  struct Order: Hashable {
    var begins: [Int]
    var takes: [Int]
    /// Of two pages taken in one slot, the one with the lower rank comes first.
    var ranks: [Int]
  }

  private struct Slots {
    /// The slots in which the page's fetch may begin.
    var begins: [Int]
    /// The slots in which the page may be taken.
    var takes: [Int]
    var recorded: (begin: Int, take: Int)
    /// Both, in every combination.
    var pairs: [(begin: Int, take: Int)] = []
  }

  /// What happens in a slot. Steps are in the order in which they happen.
  struct Step: Comparable {
    enum Kind: Int {
      /// A page's fetch begins.
      case begins
      /// A page is taken.
      case takes
      /// The order ends.
      case ends
    }

    var slot: Int
    var kind: Kind
    /// The page's place among the race's pages or, at the end, the race's place among the races.
    var place: Int

    static func < (one: Step, other: Step) -> Bool {
      (one.slot, one.kind.rawValue, one.place) < (other.slot, other.kind.rawValue, other.place)
    }
  }

  /// The most orders that are tried.
  let bound: Int
  /// Whether every possible order is tried.
  private(set) var isAll = false
  private(set) var orders: [Order] = []

  /// - Parameters:
  ///   - pages: which of the session's pages are given.
  ///   - polls: which polls matter to those pages. Orders that differ only around other polls count
  ///     as one.
  init(_ session: MessageSession, pages: [Int], polls: [Int], bound: Int) {
    self.bound = bound
    let slots = pages.map { MessageOrders.slots(of: session.pages[$0], session, polls) }
    if let all = MessageOrders.all(slots, atMost: bound) {
      orders = all
      isAll = true
    } else {
      orders = MessageOrders.some(slots, bound)
    }
  }

  private static func slots(
    of page: MessageSession.Page, _ session: MessageSession, _ polls: [Int]
  ) -> Slots {
    let answered = session.pollsAnswered(by: page.sent)
    let asked = session.pollsAsked(before: page.ended)
    let earliest = asked == 0 ? 0 : 2 * asked - 1
    let end = 2 * session.polls.count
    var slots = Slots(begins: [0], takes: [], recorded: (2 * answered, 0))
    // A fetch begins right after an answer that matters. A page is taken right before or right
    // after such a poll leaves.
    for poll in polls {
      if poll < answered { slots.begins.append(2 * (poll + 1)) }
      slots.takes += [2 * poll, 2 * poll + 1].filter { $0 >= earliest }
    }
    slots.takes.append(end)
    let taken = 2 * session.pollsAnswered(by: page.ended)
    slots.recorded.take = asked * 2 > taken ? taken + 1 : taken
    slots.pairs = slots.begins.flatMap { begin in
      slots.takes.filter { $0 >= begin }.map { (begin, $0) }
    }
    return slots
  }

  // MARK: All of them

  /// All orders; `nil` if there are more than the bound allows.
  private static func all(_ slots: [Slots], atMost bound: Int) -> [Order]? {
    var count = 1
    for (index, page) in slots.enumerated() {
      count *= page.pairs.count * (index + 1)
      // Many rankings are the same order, because ranks count only within a slot.
      if count > bound * 24 { return nil }
    }
    var seen: Set<[Int]> = []
    var orders: [Order] = []
    for ranks in permutations(of: slots.count) {
      var chosen: [(begin: Int, take: Int)] = []
      func choose(_ index: Int) -> Bool {
        guard index < slots.count else {
          let order = Order(begins: chosen.map(\.begin), takes: chosen.map(\.take), ranks: ranks)
          guard seen.insert(order.key).inserted else { return true }
          orders.append(order)
          return orders.count <= bound
        }
        for pair in slots[index].pairs {
          chosen.append(pair)
          defer { chosen.removeLast() }
          if !choose(index + 1) { return false }
        }
        return true
      }
      if !choose(0) { return nil }
    }
    return orders
  }

  private static func permutations(of count: Int) -> [[Int]] {
    var all: [[Int]] = [[]]
    for next in 0..<count {
      all = all.flatMap { ranks in
        (0...ranks.count).map { place in
          var longer = ranks
          longer.insert(next, at: place)
          return longer
        }
      }
    }
    return all
  }

  // MARK: Some of them

  /// Some orders: the recorded one, the extreme ones, and then random ones. In a random order each
  /// page keeps its recorded slots with a probability that is drawn once for the order.
  private static func some(_ slots: [Slots], _ bound: Int) -> [Order] {
    let indices = Array(slots.indices)
    let recorded = Order(
      begins: slots.map(\.recorded.begin), takes: slots.map(\.recorded.take), ranks: indices)
    let last = slots.map { $0.takes.max() ?? 0 }
    let first = slots.map { $0.pairs.map(\.take).min() ?? 0 }
    let never = indices.map { _ in 0 }
    let backwards = Array(indices.reversed())
    var orders = [
      recorded,
      Order(begins: recorded.begins, takes: last, ranks: indices),
      Order(begins: recorded.begins, takes: last, ranks: backwards),
      Order(begins: never, takes: last, ranks: indices),
      Order(begins: never, takes: last, ranks: backwards),
      Order(begins: never, takes: first, ranks: indices),
      Order(begins: never, takes: first, ranks: backwards),
    ]
    var seen = Set(orders.map(\.key))
    var chance = SplitMix(StateDigest.mixed(0x3C6E_F372_FE94_F82B))
    // A draw may repeat an order, so there are more draws than orders.
    for _ in 0..<bound * 4 where orders.count < bound {
      var order = recorded
      let keep = chance.below(8)
      for index in indices where chance.below(8) >= keep {
        let pairs = slots[index].pairs
        let pair = pairs[chance.below(pairs.count)]
        (order.begins[index], order.takes[index]) = (pair.begin, pair.take)
        order.ranks[index] = chance.below(slots.count)
      }
      if seen.insert(order.key).inserted { orders.append(order) }
    }
    return Array(orders.prefix(bound))
  }
}

extension MessageOrders.Order {
  /// The same for rankings that are the same order.
  fileprivate var key: [Int] { begins + takes + order }

  /// The pages in the order in which they are taken.
  var order: [Int] {
    takes.indices.sorted { (takes[$0], ranks[$0], $0) < (takes[$1], ranks[$1], $1) }
  }

  /// In a slot, fetches begin before pages are taken.
  var steps: [MessageOrders.Step] {
    let fetches = begins.enumerated().map { page, slot in
      MessageOrders.Step(slot: slot, kind: .begins, place: page)
    }.sorted()
    var steps: [MessageOrders.Step] = []
    var next = 0
    for page in order {
      while next < fetches.count, fetches[next].slot <= takes[page] {
        steps.append(fetches[next])
        next += 1
      }
      steps.append(MessageOrders.Step(slot: takes[page], kind: .takes, place: page))
    }
    return steps + fetches[next...]
  }
}
