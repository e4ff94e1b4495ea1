import TestSupport
import Testing

@testable import MessageSync
@testable import Simulator
@testable import UpdateMachine

/// Tests which pages are fetched for windows, and when. Oracle D judges every step.
@Suite struct PagePlannerTests {
  typealias Desk = PlannerDesk
  static let rejection = SyncFailure.rejected(RejectionCode("NO"))

  // MARK: What is asked

  @Test func `a window on the newest is filled by one page`() {
    var desk = Desk()
    let window = desk.open(Desk.a, .newest(3))
    #expect(desk.asked == ["about newest, 3 before, 0 after"])
    #expect(desk.rows(window) == "gap")
    desk.answer()
    #expect(desk.out.isEmpty)
    #expect(desk.rows(window) == "980 990 1000")
    #expect(desk.view(window).reachesEnd)
    #expect(desk.view(window).isComplete)
    #expect(desk.timer == nil, "no timer is needed")
  }

  @Test func `two windows on one list ask for one page once`() {
    var desk = Desk()
    let first = desk.open(Desk.a, .newest(3))
    let second = desk.open(Desk.a, .newest(5))
    #expect(desk.asked == ["about newest, 3 before, 0 after"])
    desk.answer()
    // What the second window lacks is fetched from where the first ends, and in a page that is
    // worth a request.
    #expect(desk.asked == ["about 980, 20 before, 0 after"])
    desk.answer()
    #expect(desk.rows(first) == "980 990 1000")
    #expect(desk.rows(second) == "960 970 980 990 1000")
    #expect(desk.begun.count == 2)
  }

  @Test func `a page about both sides of an ID serves a window on one of them`() {
    var desk = Desk()
    let both = desk.open(Desk.a, ListWindow(.id(MessageID(500)), before: 2, after: 2))
    let older = desk.open(Desk.a, ListWindow(.id(MessageID(500)), before: 2, after: 0))
    #expect(desk.asked == ["about 500, 2 before, 2 after"])
    // The first window closes. The second still wants its page.
    desk.put(.closed(both))
    #expect(desk.asked == ["about 500, 2 before, 2 after"])
    desk.answer()
    #expect(desk.rows(older) == "480 490")
    #expect(desk.begun.count == 1)
  }

  @Test func `a window that moves or closes gives up its page`() {
    var desk = Desk()
    let window = desk.open(Desk.a, .newest(3))
    desk.move(window, ListWindow(.oldest, before: 0, after: 2))
    #expect(desk.asked == ["about oldest, 0 before, 2 after"])
    desk.put(.closed(window))
    #expect(desk.out.isEmpty)
    #expect(desk.timer == nil)
    #expect(desk.store.openFetches == [])
    #expect(desk.planner.openWindows == [])
    desk.pass(.minutes(10))
    #expect(desk.begun.count == 2)
  }

  // MARK: Lists that no window shows

  private static func channel(_ number: Int64) -> PlannerDesk.Narrow {
    PlannerDesk.Narrow([.channel(ChannelID(number))])
  }

  private static func deskKeeping(_ count: Int) -> PlannerDesk {
    var settings = PageSettings()
    settings.unwatchedMaximum = count
    return PlannerDesk(settings: settings)
  }

  @Test func `a list that was left knows what it knew, and the one left first is forgotten`() {
    var desk = Self.deskKeeping(2)
    for number in [1, 2, 3] as [Int64] {
      let window = desk.open(Self.channel(number), .newest(3))
      desk.serve()
      desk.put(.closed(window))
    }
    #expect(desk.store.narrows == [Self.channel(2), Self.channel(3)])
    let asked = desk.begun.count
    let window = desk.open(Self.channel(2), .newest(3))
    #expect(desk.begun.count == asked, "it is known")
    // It is shown, so it is not counted.
    desk.put(.closed(desk.open(Self.channel(4), .newest(1))))
    #expect(desk.store.narrows == [Self.channel(2), Self.channel(3), Self.channel(4)])
    desk.put(.closed(window))
    #expect(desk.store.narrows == [Self.channel(2), Self.channel(4)])
    _ = desk.open(Self.channel(1), .newest(3))
    #expect(desk.begun.count == asked + 2, "one for channel 4; channel 1 is asked for once more")
  }

  @Test func `a list that another window shows is not left`() {
    var desk = Self.deskKeeping(0)
    let first = desk.open(Self.channel(1), .newest(3))
    let second = desk.open(Self.channel(1), .newest(3))
    desk.serve()
    desk.put(.closed(first))
    #expect(desk.store.narrows == [Self.channel(1)])
    desk.put(.closed(second))
    #expect(desk.store.narrows == [])
    #expect(desk.store.count == 3, "its messages stay")
  }

  @Test func `a start closes the lists that were opened first`() {
    var desk = Self.deskKeeping(2)
    for number in [1, 2, 3, 4] as [Int64] { desk.store.open(Self.channel(number)) }
    let window = desk.planner.open(Self.channel(1), .newest(3))
    desk.planner.restored(&desk.store)
    #expect(desk.store.narrows == [Self.channel(1), Self.channel(3), Self.channel(4)])
    desk.put(.closed(window))
    #expect(desk.store.narrows == [Self.channel(1), Self.channel(4)])
  }

  // MARK: Anchors

  @Test func `the anchor first unread becomes the ID that the page names`() {
    var desk = Desk()
    desk.serverMessages.apply(.flagged((1...50).map { MessageID($0 * 10) }, .read, isSet: true))
    let window = desk.open(Desk.a, ListWindow(.firstUnread, before: 1, after: 2))
    #expect(desk.view(window).rows.isEmpty)
    #expect(!desk.view(window).isComplete)
    desk.answer()
    #expect(desk.view(window).window.anchor == .id(MessageID(510)))
    #expect(desk.rows(window) == "500 510 520")
    #expect(desk.out.isEmpty)
  }

  @Test func `a search is fetched once until its window moves, and is never complete`() {
    var desk = Desk()
    let window = desk.open(Desk.search, .newest(3))
    desk.answer()
    #expect(desk.out.isEmpty)
    #expect(!desk.view(window).isComplete)
    #expect(!desk.view(window).rows.isEmpty)
    desk.hearNew(2000)
    #expect(desk.out.isEmpty)
    desk.move(window, .newest(3))
    #expect(desk.out.count == 1)
  }

  @Test func `a list that can no longer be known is fetched as a snapshot`() {
    var desk = Desk()
    let window = desk.open(Desk.a, .newest(3))
    desk.answer()
    desk.hear(.covered(ChannelID(1), follows: false))
    desk.pass(.seconds(2))
    #expect(desk.asked == ["about newest, 3 before, 0 after"])
    desk.answer()
    #expect(!desk.view(window).isComplete)
    #expect(desk.view(window).isSnapshot)
    #expect(desk.rows(window).hasPrefix("(980) (990) (1000)"))
    #expect(desk.view(window).items.map(\.id.number) == [980, 990, 1000])
    // Read again, it no longer shows what is gone.
    desk.serverMessages.apply(.deleted([MessageID(990)]))
    desk.move(window, .newest(3))
    desk.answer()
    #expect(desk.view(window).items.map(\.id.number) == [970, 980, 1000])
  }

  /// The page that is out may have been read before that.
  @Test(arguments: [false, true])
  func `a snapshot is read again when something was created`(_ isOut: Bool) {
    var desk = Desk()
    let search = desk.open(Desk.search, .newest(3))
    let known = desk.open(Desk.a, .newest(3))
    if !isOut { while !desk.out.isEmpty { desk.answer() } }
    desk.planner.refreshSnapshots()
    desk.look()
    while !desk.out.isEmpty { desk.answer() }
    desk.pass(.seconds(30))
    while !desk.out.isEmpty { desk.answer() }
    desk.pass(.minutes(10))
    #expect(desk.out.isEmpty)
    #expect(desk.begun.count == 3, "the search twice, and the other list once")
    #expect(desk.view(known).isComplete && !desk.view(search).items.isEmpty)
  }

  // MARK: Generations

  @Test func `fetches are given up without a finger, and repeated with the next one`() {
    var desk = Desk()
    let open = desk.open(Desk.a, .newest(3))
    let closed = desk.open(Desk.b, .newest(3))
    #expect(desk.out.count == 2)
    desk.loseFinger()
    #expect(desk.out.isEmpty)
    #expect(desk.timer == nil, "no timer is needed")
    desk.put(.closed(closed))
    desk.register()
    #expect(desk.asked == ["about newest, 3 before, 0 after"], "only open windows are served")
    desk.answer()
    #expect(desk.rows(open) == "980 990 1000")
  }

  @Test func `known rows are shown as former until they are known again`() {
    var desk = Desk()
    let window = desk.open(Desk.a, .newest(2))
    desk.answer()
    desk.loseFinger()
    desk.register()
    #expect(desk.rows(window) == "(990) (1000) gap")
    desk.answer()
    #expect(desk.rows(window) == "990 1000")
  }

  @Test func `a disarmed timer that fires does nothing`() {
    var desk = Desk()
    desk.open(Desk.a, .newest(3))
    let old = desk.timer!.id
    desk.loseFinger()
    desk.register()
    let before = desk.begun.count
    desk.put(.fired(old))
    #expect(desk.begun.count == before)
    #expect(desk.timer != nil)
  }

  // MARK: Failures

  @Test(arguments: [true, false])
  func `failed fetches are repeated with growing waits`(firesEarly: Bool) {
    var desk = Desk()
    desk.firesEarly = firesEarly
    desk.open(Desk.a, .newest(3))
    for _ in 0..<1200 {
      desk.failAll(.unreachable)
      desk.pass(.milliseconds(100))
    }
    // In two minutes the waits are 1, 2, 4, 8, 16, 32 and 60 s.
    #expect((6...9).contains(desk.begun.count), "\(desk.begun)")
    for index in desk.begun.indices.dropFirst(2) {
      let (older, newer) = (desk.begun[index - 1], desk.begun[index])
      #expect(newer - older >= older - desk.begun[index - 2])
    }
  }

  @Test func `fetches that were out together and fail count as one failure`() {
    var desk = Desk()
    desk.open(Desk.a, .newest(3))
    desk.open(Desk.a, ListWindow(.oldest, before: 0, after: 3))
    desk.open(Desk.b, .newest(3))
    desk.open(Desk.b, ListWindow(.oldest, before: 0, after: 3))
    #expect(desk.out.count == 4)
    desk.pass(.milliseconds(100))
    desk.failAll(.unreachable)
    desk.pass(.seconds(1))
    #expect(desk.out.count == 4, "the first wait is 0.5 s, and 1 s before a repeat")
  }

  @Test(arguments: [true, false], [true, false])
  func `a rate limit's wait is kept, whatever else is answered`(
    isLimitFirst: Bool, fails: Bool
  ) {
    var desk = Desk()
    desk.open(Desk.a, .newest(3))
    desk.open(Desk.b, .newest(3))
    desk.pass(.milliseconds(100))
    func other() { if fails { desk.fail(.unreachable) } else { desk.answer() } }
    if !isLimitFirst { other() }
    desk.fail(.rateLimited(after: .seconds(20)))
    if isLimitFirst { other() }
    desk.open(Desk.a, ListWindow(.oldest, before: 0, after: 3))
    #expect(desk.out.isEmpty)
    desk.pass(.milliseconds(19_999))
    #expect(desk.out.isEmpty)
    #expect(desk.begun.count == 2)
    desk.pass(.milliseconds(501))
    #expect(desk.out.count > 0)
    desk.serve()
    #expect(desk.planner.fetchesOut == 0)
  }

  @Test func `a rate limit's wait has a minimum and a maximum`() {
    for (asked, wait) in [(nil, 500), (-5, 500), (3, 3000), (7200, 600_000)] as [(Int64?, Int64)] {
      var desk = Desk()
      desk.firesEarly = true
      desk.open(Desk.a, .newest(3))
      desk.fail(.rateLimited(after: asked.map { .seconds($0) }))
      desk.pass(.milliseconds(max(wait, 1000) - 1))
      #expect(desk.out.isEmpty)
      desk.pass(.milliseconds(1))
      #expect(desk.out.count == 1)
    }
  }

  @Test func `a rejected narrow is not fetched again soon, whatever its windows show`() {
    var desk = Desk()
    let window = desk.open(Desk.a, .newest(3))
    desk.fail(Self.rejection)
    #expect(desk.reports == [Self.rejection])
    #expect(desk.begun.count == 1)
    // This holds wherever the user scrolls, and even if the user closes the window and opens it
    // again.
    for step in 1...100 {
      desk.pass(.milliseconds(300))
      desk.move(window, ListWindow(.id(MessageID(Int64(step))), before: 3, after: 3))
    }
    desk.put(.closed(window))
    desk.open(Desk.a, .newest(3))
    #expect(desk.begun.count == 1)
    desk.open(Desk.b, .newest(3))
    #expect(desk.begun.count == 2, "other narrows do not wait")
    desk.answer()
    desk.pass(.seconds(31))
    #expect(desk.begun.count == 3)
  }

  @Test func `a malformed page is a failure`() {
    var desk = Desk()
    desk.open(Desk.a, .newest(3))
    var page = desk.serverMessages.page(desk.out[0].request, later: desk.serverMessages)
    page.messages.reverse()
    desk.answer(as: page)
    #expect(desk.reports == [.malformed])
    #expect(desk.out.isEmpty)
    desk.pass(.milliseconds(999))
    #expect(desk.out.isEmpty)
    desk.pass(.milliseconds(1))
    #expect(desk.out.count == 1)
  }

  @Test func `a fetch without an answer is given up at its deadline and repeated`() {
    var desk = Desk()
    desk.open(Desk.a, .newest(3))
    let first = desk.out[0].id
    desk.pass(.milliseconds(29_999))
    #expect(desk.out.map(\.id) == [first])
    desk.pass(.milliseconds(1))
    #expect(desk.out.isEmpty)
    desk.pass(.milliseconds(500))
    #expect(desk.out.count == 1)
    #expect(desk.out.first?.id != first)
  }

  @Test func `earlier requests are not remembered for ever`() {
    var desk = Desk()
    let window = desk.open(Desk.a, .newest(3))
    for step in 1...5000 {
      desk.failAll(step % 2 == 0 ? Self.rejection : .unreachable)
      desk.pass(.milliseconds(100))
      desk.move(window, ListWindow(.id(MessageID(Int64(step))), before: 3, after: 3))
      #expect(desk.planner.questionsRemembered < 140)
    }
    desk.put(.closed(window))
    desk.pass(.seconds(61))
    desk.look()
    #expect(desk.planner.questionsRemembered == 0)
  }

  // MARK: The budget

  @Test func `a window that jumps between places stays within the pace`() {
    var desk = Desk(messages: 1000)
    let window = desk.open(Desk.a, .newest(3))
    for step in 1...1000 {
      desk.move(window, ListWindow(.id(MessageID(Int64(step * 10))), before: 2, after: 2))
      desk.pass(.milliseconds(10))
      if step == 100 { #expect(desk.begun.count == 16 + 2, "one second has passed") }
    }
    #expect((34...36).contains(desk.begun.count), "16 at once, and two a second")
    // This holds in any window of time.
    for (first, one) in desk.begun.enumerated() {
      for (last, other) in desk.begun.enumerated().dropFirst(first) {
        let most = 16 + (other - one).milliseconds / 500
        #expect(last - first + 1 <= Int(most))
      }
    }
    desk.pass(.seconds(1))
    desk.serve()
    #expect(desk.view(window).isComplete, "the place where the user stays is shown")
  }

  @Test(arguments: 1...40 as ClosedRange<UInt64>)
  func `the budget is kept under random faults, and every window is complete afterwards`(
    seed: UInt64
  ) {
    var desk = Desk(messages: 60)
    var dice = SplitMix(seed)
    func draw(_ count: Int64) -> Int64 { dice.roll(count) }
    func anyWindow() -> ListWindow<MessageID> {
      let anchors = [PageAnchor.newest, .oldest, .firstUnread, .id(MessageID(draw(700)))]
      return ListWindow(anchors[Int(draw(4))], before: draw(30), after: draw(30))
    }
    let failures: [SyncFailure] = [
      .unreachable, .serverFault, Self.rejection, .rateLimited(after: .seconds(draw(40))),
    ]
    var windows: [WindowID] = []
    for _ in 0..<400 {
      desk.firesEarly = draw(2) == 0
      switch draw(12) {
      case 0 where windows.count < 5:
        windows.append(desk.open([Desk.a, Desk.b, Desk.search][Int(draw(3))], anyWindow()))
      case 1 where !windows.isEmpty:
        desk.put(.closed(windows.remove(at: Int(draw(Int64(windows.count))))))
      case 2,
        3 where !windows.isEmpty:
        guard !windows.isEmpty else { break }
        desk.move(windows[Int(draw(Int64(windows.count)))], anyWindow())
      case 4, 5: if !desk.out.isEmpty { desk.answer() }
      case 6: if !desk.out.isEmpty { desk.fail(failures[Int(draw(4))]) }
      case 7: if desk.isLive { desk.hearNew(1000 + Int64(desk.serverMessages.messages.count)) }
      case 8 where draw(6) == 0: desk.isLive ? desk.loseFinger() : desk.register()
      default: desk.pass(.milliseconds(draw(draw(8) == 0 ? 40_000 : 600)))
      }
    }
    if !desk.isLive { desk.register() }
    for _ in 0..<100 {
      desk.serve()
      desk.pass(.seconds(10))
    }
    #expect(desk.out.isEmpty)
    for window in windows where desk.view(window).narrow != Desk.search {
      #expect(desk.view(window).isComplete, "\(desk.rows(window))")
    }
  }
}

/// Bugs of other projects that are about fetching.
@Suite struct PagePlannerBugTests {
  typealias Desk = PlannerDesk

  /// A window whose newest page is held. If the user scrolls up beyond it, there is something to
  /// fetch.
  private func scrolling() -> (Desk, WindowID) {
    var desk = Desk()
    let window = desk.open(Desk.a, .newest(30))
    desk.answer()
    #expect(desk.out.isEmpty)
    return (desk, window)
  }

  @Test(
    arguments: [true, false],
    [SyncFailure.unreachable, .serverFault, .malformed, PagePlannerTests.rejection])
  func `bug 57: a failed page is not fetched again by every scroll`(
    isFailureFirst: Bool, failure: SyncFailure
  ) {
    var (desk, window) = scrolling()
    func scroll(_ step: Int64) {
      desk.move(window, ListWindow(.id(MessageID(1000 - step % 20 * 10)), before: 40, after: 0))
      desk.pass(.milliseconds(20))
    }
    desk.move(window, ListWindow(.id(MessageID(1000)), before: 40, after: 0))
    #expect(desk.out.count == 1)
    if isFailureFirst {
      desk.fail(failure)
      for step in 1...20 { scroll(Int64(step)) }
    } else {
      for step in 1...20 { scroll(Int64(step)) }
      #expect(desk.begun.count == 2, "one fetch is out")
      desk.fail(failure)
    }
    #expect(desk.begun.count == 2)
    // The user scrolls for half a minute, in which every fetch fails.
    for step in 1...1500 {
      scroll(Int64(step))
      desk.failAll(failure)
    }
    #expect(desk.begun.count <= 8, "\(desk.begun)")
    // Then the fetches succeed.
    for _ in 0..<7 {
      desk.pass(.seconds(10))
      desk.serve()
    }
    #expect(desk.view(window).isComplete)
  }

  /// What happens to each page of a walk until the server has recovered.
  enum Trouble: CaseIterable {
    case fails, isEmpty, bringsTheAnchorAlone
  }

  @Test(arguments: Trouble.allCases, [true, false])
  func `bug 60: paging with failures or empty pages is slow, and ends`(
    trouble: Trouble, isNewsFirst: Bool
  ) {
    var (desk, window) = scrolling()
    desk.move(window, .newest(200))
    for minute in 1...60 {
      // A new message comes before the page, or after it.
      if isNewsFirst { desk.hearNew(2000 + Int64(minute)) }
      while let (_, request) = desk.out.first {
        switch (trouble, request.want) {
        case (.bringsTheAnchorAlone, .about(.id(let id), _, _)):
          desk.answer(as: MessagePage(messages: [desk.serverMessages[id]!], anchor: id))
        case (.fails, _): desk.fail(.serverFault)
        case (.isEmpty, _), (.bringsTheAnchorAlone, _): desk.answer(as: MessagePage(messages: []))
        }
      }
      if !isNewsFirst { desk.hearNew(2000 + Int64(minute)) }
      desk.pass(.minutes(1))
    }
    #expect((20...70).contains(desk.begun.count), "in an hour: \(desk.begun.count)")
    for _ in 0..<10 {
      desk.serve()
      desk.pass(.minutes(1))
    }
    let view = desk.view(window)
    #expect(view.isComplete)
    #expect(view.reachesBeginning)
    #expect(
      view.items.map(\.id.number) == (1...100).map { $0 * 10 } + (2001...2060).map { $0 },
      "each once, and none is missing")
    let before = desk.begun.count
    desk.pass(.minutes(60))
    #expect(desk.begun.count == before, "the walk is over")
  }
}
