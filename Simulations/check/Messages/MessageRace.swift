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
    /// Its place among the race's pages.
    var place: Int
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
    lists = narrows.map { [pages] in MessageRace.list(of: $0, truth, pages) }
    orders = MessageOrders(session, pages: pages, polls: polls, bound: bound)
  }

  private static func list(
    of narrow: ZulipFilter, _ truth: MessageTruth, _ pages: [Int]
  ) -> List {
    let expected = truth.list(of: narrow)
    let ownPages = pages.enumerated().compactMap { place, index -> Page? in
      let page = truth.session.pages[index]
      guard page.request.narrow == narrow, let interval = page.interval else { return nil }
      let isLevel = truth.isLevel(page, interval, of: narrow)
      return Page(place: place, interval: interval, isLevel: isLevel)
    }
    return List(
      narrow: narrow, expected: expected,
      ids: expected.ids.filter { expected.covered.contains($0) }, pages: ownPages)
  }

  /// Whether the other race ends earlier, and up to its end has the same pages and events. Both are
  /// of the same lists in the same session.
  func goesOn(from other: MessageRace) -> Bool {
    let (mine, its) = (truth.session.pages, other.truth.session.pages)
    // A longer race has each event that a shorter one has, so it is enough to count.
    return pages.count == other.pages.count && events.count >= other.events.count
      && zip(pages, other.pages).allSatisfy { mine[$0].line == its[$1].line }
      && zip(events, other.events).allSatisfy { $0.count == $1.count }
  }
}

/// The orders of races each of which goes on from the one before. What several orders begin with is
/// played once.
struct MessageTree {
  private let races: ArraySlice<MessageRace>
  /// Orders that begin alike are next to each other.
  private let paths: [Path]

  private struct Path {
    var steps: [MessageOrders.Step]
    var order: Int
  }

  init(_ races: ArraySlice<MessageRace>) {
    self.races = races
    paths = races.indices.flatMap { race in
      let slot = 2 * races[race].events.count
      let end = MessageOrders.Step(slot: slot, kind: .ends, place: race)
      return races[race].orders.orders.enumerated().map { number, order in
        Path(steps: order.steps + [end], order: number)
      }
    }.sorted { $0.steps.lexicographicallyPrecedes($1.steps) }
  }

  /// Plays every order.
  /// - Parameters:
  ///   - goesOn: whether to go on.
  ///   - ended: gets a run that has ended, and its race and orders, which are the same.
  func play(while goesOn: () -> Bool, ended: (inout MessageRun, Int, [Int]) -> Void) {
    guard let longest = races.last else { return }
    var run = MessageRun(longest)
    play(&run, paths[...], after: 0, goesOn, ended)
  }

  /// Plays orders whose first steps are the same, from there to the end.
  private func play(
    _ run: inout MessageRun, _ paths: ArraySlice<Path>, after count: Int, _ goesOn: () -> Bool,
    _ ended: (inout MessageRun, Int, [Int]) -> Void
  ) {
    var paths = paths
    var count = count
    while let step = paths.first?.steps[count] {
      guard goesOn() else { return }
      run.go(to: step.slot)
      let same = paths.prefix { $0.steps[count] == step }
      if same.count == paths.count {
        // The last of those that part here needs no copy.
        count += 1
        if perform(step, of: same, &run, ended) { return }
      } else {
        var branch = run
        if !perform(step, of: same, &branch, ended) {
          play(&branch, same, after: count + 1, goesOn, ended)
        }
        paths = paths.dropFirst(same.count)
      }
    }
  }

  /// Returns whether the orders end with this step.
  private func perform(
    _ step: MessageOrders.Step, of paths: ArraySlice<Path>, _ run: inout MessageRun,
    _ ended: (inout MessageRun, Int, [Int]) -> Void
  ) -> Bool {
    switch step.kind {
    case .begins: run.begin(step.place)
    case .takes: run.take(step.place)
    case .ends:
      run.race = races[step.place]
      ended(&run, step.place, paths.map(\.order))
    }
    return step.kind == .ends
  }
}
