import MessageSync
import UpdateMachine
import ZulipSync

/// The pages of some lists, and the orders in which they are played. Nothing here changes. It is a
/// class because every run refers to it.
final class MessageRace {
  /// An event, with ``MessageEvent/named``.
  struct Event {
    var event: MessageEvent<ZulipContent>
    var named: [MessageID]?
  }

  /// One list of the race.
  struct List {
    var narrow: ZulipFilter
    var expected: MessageTruth.List
    /// The messages that the list must show where pages cover it, in ascending order.
    var ids: [MessageID]
    /// The list's pages that tell of an interval, in the order in which they were sent.
    var pages: [Page]
  }

  struct Page {
    /// Its place in the session.
    var index: Int
    var interval: IDInterval<MessageID>
    /// Whether what it shows is still true at the end.
    var isLevel: Bool
  }

  let truth: MessageTruth
  let lists: [List]
  /// Which of the session's pages are given, in the order in which they were sent.
  let pages: [Int]
  /// The events of each poll that are given.
  let events: [[Event]]
  /// The messages that events name, in ascending order.
  let named: [MessageID]
  let orders: MessageOrders

  /// The orders with their steps. Orders that begin alike are next to each other.
  private let paths: [(steps: [MessageOrders.Step], number: Int)]

  /// - Parameters:
  ///   - narrows: the narrow of one list, or those of all.
  ///   - bound: the most orders.
  init(_ truth: MessageTruth, _ narrows: [ZulipFilter], atMost bound: Int) {
    let session = truth.session
    self.truth = truth
    pages = session.pages.indices.filter { index in
      narrows.count > 1 || session.pages[index].request.narrow == narrows[0]
    }
    let polls =
      narrows.count > 1 ? Array(session.polls.indices) : session.polls(thatMatterTo: narrows[0])
    let events =
      narrows.count > 1 ? session.polls.map(\.events) : session.events(thatMatterTo: narrows[0])
    self.events = events.map { $0.map { Event(event: $0, named: $0.named) } }
    named = truth.lastNamed.keys.sorted()
    lists = pages.isEmpty ? [] : narrows.map { MessageRace.list(of: $0, truth) }
    orders = MessageOrders(session, pages: pages, polls: polls, bound: bound)
    paths = orders.orders.enumerated().map { (steps: $1.steps, number: $0) }
      .sorted { $0.steps.lexicographicallyPrecedes($1.steps) }
  }

  private static func list(of narrow: ZulipFilter, _ truth: MessageTruth) -> List {
    let expected = truth.list(of: narrow)
    let pages = truth.session.pages.enumerated().compactMap { index, page -> Page? in
      guard page.request.narrow == narrow, let interval = page.interval else { return nil }
      let isLevel = truth.isLevel(page, interval, of: narrow)
      return Page(index: index, interval: interval, isLevel: isLevel)
    }
    return List(
      narrow: narrow, expected: expected,
      ids: expected.ids.filter { expected.covered.contains($0) }, pages: pages)
  }

  // MARK: Playing

  /// Plays every order. What several orders begin with is played once.
  /// - Parameters:
  ///   - goesOn: whether to go on.
  ///   - ended: gets a run that has ended, and the numbers of its orders, which are the same.
  func play(while goesOn: () -> Bool, ended: (inout MessageRun, [Int]) -> Void) {
    var run = MessageRun(self)
    play(&run, paths[...], after: 0, goesOn, ended)
  }

  /// Plays orders whose first steps are the same, from there to the end.
  private func play(
    _ run: inout MessageRun, _ paths: ArraySlice<(steps: [MessageOrders.Step], number: Int)>,
    after count: Int, _ goesOn: () -> Bool, _ ended: (inout MessageRun, [Int]) -> Void
  ) {
    var paths = paths
    for place in count..<2 * pages.count {
      // The last of those that differ here needs no copy.
      while let step = paths.first?.steps[place] {
        guard goesOn() else { return }
        run.go(to: step.slot)
        let same = paths.prefix { $0.steps[place] == step }
        guard same.count < paths.count else {
          run.perform(step)
          break
        }
        var branch = run
        branch.perform(step)
        play(&branch, same, after: place + 1, goesOn, ended)
        paths = paths.dropFirst(same.count)
      }
    }
    run.go(to: 2 * events.count)
    ended(&run, paths.map(\.number))
  }
}
