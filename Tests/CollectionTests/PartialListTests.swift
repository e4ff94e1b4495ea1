import TestSupport
import Testing
import UpdateMachine

/// Tests a partial list against a simple model, and against a server that tells the truth.
@Suite struct PartialListTests {
  // MARK: Against the model

  @Test(arguments: 0..<8)
  func `an excerpt equals that of a plain walk along the line`(share: Int) {
    for seed in 0..<250 {
      var dice = SplitMix(UInt64(share * 250 + seed))
      var line = LineModel()
      for _ in 0..<40 {
        line.change(&dice)
        for _ in 0..<4 {
          let window = LineModel.anyWindow(&dice)
          let (found, expected) = (line.list.excerpt(of: window), line.excerpt(of: window))
          guard found != expected else { continue }
          Issue.record("\(share * 250 + seed): \(window) of \(line.list)")
          #expect(found == expected)
          return
        }
      }
    }
  }

  // MARK: Against a server

  @Test(arguments: [1, 3, 100], [nil, 12] as [Int64?])
  func `a window is complete after a bounded number of fetches`(cap: Int, limit: Int64?) {
    for seed in 0..<300 {
      var dice = SplitMix(UInt64(seed))
      let server = TruthfulServer(
        messages: (1...LineModel.last).filter { _ in dice.flip() }, cap: cap, limit: limit)
      var list = server.someKnowledge(&dice)
      var window = LineModel.anyWindow(&dice)
      if window.anchor == .serverChosen { window.anchor = .id(RowID(15)) }
      var pages = 0
      while let want = list.excerpt(of: window).wants.first, pages < 100 {
        server.answer(want, of: &list)
        pages += 1
      }
      // Every page of a walk but the last brings a message or closes a hole.
      #expect(pages <= Int(window.before + window.after) + 20, "seed \(seed), \(window)")
      let excerpt = list.excerpt(of: window)
      let shown = excerpt.rows.compactMap { row in
        if case .item(let id) = row { id.number } else { nil }
      }
      #expect(shown == server.rows(of: window), "seed \(seed), \(window)")
      #expect(excerpt.isComplete, "seed \(seed), \(window)")
    }
  }

  @Test func `an excerpt never asks for known rows`() {
    for seed in 0..<300 {
      var dice = SplitMix(UInt64(seed))
      var line = LineModel()
      for _ in 0..<40 { line.change(&dice) }
      let window = LineModel.anyWindow(&dice)
      guard window.anchor != .serverChosen else { continue }
      let wants = line.list.excerpt(of: window).wants
      #expect(Set(wants).count == wants.count)
      for want in wants {
        switch want {
        case .item(let id): #expect(!line.list.knowledge.contains(id))
        case .about(let anchor, let before, let after):
          guard let point = anchor.point, line.list.knowledge.contains(point) else { continue }
          // A page about a known ID must begin right beside it, in a gap.
          let isBeside = [before > 0 ? -1 : 0, after > 0 ? 1 : 0].contains { step in
            step != 0 && !line.list.knowledge.contains(RowID(point.id!.number + step))
          }
          #expect(isBeside)
          // If rows are hidden, one older row shows whether the anchor is.
          let isOneSided = before == 0 || after == 0
          #expect(isOneSided || line.list.historyLimit != nil && before == 1)
        }
      }
    }
  }

  // MARK: By hand

  @Test func `a new list is one gap, and asks for its whole window`() {
    let list = PartialList<RowID>()
    for window in [ListWindow<RowID>.newest(10), ListWindow<RowID>(.oldest, before: 0, after: 5)] {
      let excerpt = list.excerpt(of: window)
      #expect(excerpt.rows == [.gap(.everything)])
      #expect(
        excerpt.wants == [.about(window.anchor, before: window.before, after: window.after)])
      #expect(!excerpt.reachesBeginning && !excerpt.reachesEnd && !excerpt.isComplete)
    }
  }

  @Test func `a page has at least one row and at most as many as a server returns`() {
    let list = PartialList<RowID>()
    let wants = { (window: ListWindow<RowID>) in list.excerpt(of: window).wants }
    #expect(wants(.newest(0)) == [.about(.newest, before: 1, after: 0)])
    #expect(
      wants(ListWindow<RowID>(.oldest, before: 9, after: 0)) == [
        .about(.oldest, before: 0, after: 1)
      ])
    #expect(
      wants(ListWindow<RowID>(.serverChosen, before: 0, after: 0))
        == [.about(.serverChosen, before: 1, after: 1)])
    #expect(wants(.newest(.max)) == [.about(.newest, before: 1000, after: 0)])
    #expect(wants(ListWindow<RowID>(.newest, before: -5, after: .min)).count == 1)
  }

  /// Found by seed 1222 of messages. The rest of the line behind the last ID was forgotten when a
  /// later reading failed, so a list that was whole showed a gap.
  @Test(arguments: [PageAnchor<RowID>.oldest, .newest])
  func `a read for a window at an end of the line reaches that end`(
    anchor: PageAnchor<RowID>
  ) throws {
    var list = PartialList<RowID>()
    list.learn(.everything)
    list.unload(.everything)
    let window = ListWindow(anchor, before: 3, after: 3)
    let unloaded = try #require(list.excerpt(of: window).unloaded.first)
    #expect(unloaded.interval == .everything)
    list.load(unloaded.interval, [])
    list.forgetUnloaded()
    let excerpt = list.excerpt(of: window)
    #expect(excerpt.rows.isEmpty && excerpt.isComplete)
  }

  @Test func `a hole of one message is asked for by its ID`() {
    var list = PartialList<RowID>()
    list.learn(.everything)
    for number in 1...9 where number != 5 { list.insert(RowID(Int64(number))) }
    list.forget(RowID(5))
    let excerpt = list.excerpt(of: .newest(8))
    #expect(excerpt.wants == [.item(RowID(5))])
    #expect(excerpt.rows.count == 9 && excerpt.rows[4] == .gap(IDInterval(RowID(5))))
    #expect(excerpt.reachesBeginning && excerpt.reachesEnd && !excerpt.isComplete)
    list.learn(IDInterval(RowID(5)))
    #expect(list.excerpt(of: .newest(9)).isComplete)
    #expect(list.excerpt(of: .newest(9)).reachesBeginning)
    #expect(!list.excerpt(of: .newest(7)).reachesBeginning)
  }

  @Test func `former rows are shown in the gap`() {
    var old = PartialList<RowID>()
    old.learn(.everything)
    for number in 1...9 { old.insert(RowID(Int64(number))) }
    var list = PartialList<RowID>(forgetting: old)
    #expect(
      list.excerpt(of: .newest(3)).rows == [
        .former(RowID(7)), .former(RowID(8)), .former(RowID(9)), .gap(.everything),
      ])
    // Even if it is forgotten twice with nothing learnt in between, it is still shown as former.
    list = PartialList<RowID>(forgetting: list)
    list.erase(RowID(8))
    #expect(
      list.excerpt(of: .newest(2)).rows == [
        .former(RowID(7)), .former(RowID(9)), .gap(.everything),
      ])
    list.learn(IDInterval(from: .id(RowID(8)), to: .veryEnd))
    list.insert(RowID(9))
    let excerpt = list.excerpt(of: .newest(3))
    #expect(
      excerpt.rows == [
        .former(RowID(6)), .former(RowID(7)),
        .gap(IDInterval(from: .veryBeginning, to: .id(RowID(7)))), .item(RowID(9)),
      ])
    #expect(excerpt.wants == [.about(.id(RowID(8)), before: 20, after: 0)])
  }

  @Test func `a list asks for no rows older than its history limit`() {
    var list = PartialList<RowID>()
    for number in [50, 60] { list.insert(RowID(Int64(number))) }
    list.learn(IDInterval(from: .id(RowID(50)), to: .veryEnd))
    list.limitHistory(to: RowID(50))
    for window in [.newest(10), ListWindow<RowID>(.oldest, before: 0, after: 5)] {
      let excerpt = list.excerpt(of: window)
      #expect(excerpt.wants == [] && excerpt.isComplete && !excerpt.reachesBeginning)
      #expect(Array(excerpt.rows.suffix(2)) == [.item(RowID(50)), .item(RowID(60))])
    }
    // A row that is held already says nothing about the limit.
    list.insert(RowID(50))
    #expect(list.historyLimit == RowID(50))
    // There may be something older to show after all.
    list.insert(RowID(40))
    #expect(list.historyLimit == RowID(40))
    #expect(
      list.excerpt(of: .newest(10)).wants == [.about(.id(RowID(50)), before: 20, after: 0)])
  }

  @Test func `a gap above the limit is filled from its newer side`() {
    var list = PartialList<RowID>()
    list.learn(IDInterval(from: RowID(10), to: RowID(20)))
    list.learn(IDInterval(from: RowID(30), to: RowID(40)))
    let window = ListWindow<RowID>(.id(RowID(15)), before: 0, after: 5)
    #expect(
      list.excerpt(of: window).wants == [
        .about(.id(RowID(20)), before: 0, after: 20), .about(.id(RowID(40)), before: 0, after: 20),
      ])
    list.limitHistory(to: RowID(10))
    #expect(
      list.excerpt(of: window).wants == [
        .about(.id(RowID(30)), before: 20, after: 0), .about(.id(RowID(40)), before: 1, after: 20),
      ])
    // What the server hides now is not asked for again, but is still a gap.
    list.limitHistory(to: RowID(30))
    let excerpt = list.excerpt(of: window)
    #expect(excerpt.wants == [.about(.id(RowID(40)), before: 1, after: 20)])
    #expect(excerpt.rows.first == .gap(IDInterval(from: RowID(21), to: RowID(29))))
  }

  @Test func `an unknown anchor below the limit is asked about at the limit`() {
    var list = PartialList<RowID>()
    list.limitHistory(to: RowID(10))
    for anchor in [PageAnchor<RowID>.oldest, .id(RowID(3))] {
      let window = ListWindow<RowID>(anchor, before: 5, after: 5)
      #expect(list.excerpt(of: window).wants == [.about(.id(RowID(10)), before: 1, after: 5)])
      #expect(list.excerpt(of: ListWindow<RowID>(anchor, before: 5, after: 0)).isComplete)
    }
  }

  @Test func `the least and the greatest ID differ from the ends of the line`() {
    for id in [RowID(.max), RowID(.min)] {
      var list = PartialList<RowID>()
      list.insert(id)
      list.learn(.everything)
      #expect(list.excerpt(of: .newest(3)).rows == [.item(id)])
      #expect(list.excerpt(of: ListWindow<RowID>(.id(id), before: 1, after: 1)).isComplete)
      list.forget(id)
      for anchor in [PageAnchor<RowID>.newest, .oldest, .id(id), .id(RowID(0))] {
        let excerpt = list.excerpt(of: ListWindow<RowID>(anchor, before: 2, after: 2))
        #expect(!excerpt.isComplete && excerpt.wants.count == 1)
        #expect(excerpt.rows.count == 1)
      }
    }
  }
}

/// The line of IDs, point by point. Point 0 stands for the beginning and everything below 1, and
/// the point after the last ID for everything above.
struct LineModel {
  static let last: Int64 = 30
  private static let end = last + 1

  private(set) var list = PartialList<RowID>()
  private var ids: Set<Int64> = []
  private var known: Set<Int64> = []
  private var former: Set<Int64> = []
  private var limit: Int64?

  static func anyWindow(_ dice: inout SplitMix) -> ListWindow<RowID> {
    let anchors: [PageAnchor<RowID>] = [
      .oldest, .newest, .newest, .serverChosen, .id(RowID(1 + dice.roll(last))),
      .id(RowID(1 + dice.roll(last))), .id(RowID(1 + dice.roll(last))),
    ]
    let anchor = anchors[Int(dice.roll(Int64(anchors.count)))]
    return ListWindow<RowID>(anchor, before: dice.roll(12), after: dice.roll(12))
  }

  static func interval(_ low: Int64, _ high: Int64) -> IDInterval<RowID> {
    IDInterval(
      from: low <= 0 ? .veryBeginning : .id(RowID(low)),
      to: high >= end ? .veryEnd : .id(RowID(high)))
  }

  mutating func change(_ dice: inout SplitMix) {
    let number = 1 + dice.roll(LineModel.last)
    switch dice.roll(24) {
    case 0...5:
      list.insert(RowID(number))
      if let limit, number < limit, !ids.contains(number) { self.limit = number }
      ids.insert(number)
    case 6, 7:
      list.remove(RowID(number))
      ids.remove(number)
    case 8...13:
      let low = dice.roll(LineModel.end + 1)
      let high = min(LineModel.end, low + dice.roll(8))
      list.learn(LineModel.interval(low, high))
      known.formUnion(low...high)
    case 14...19:
      list.forget(RowID(number))
      known.remove(number)
    case 20:
      if !known.isEmpty || list.former == nil { former = ids }
      list = PartialList<RowID>(forgetting: list)
      (ids, known, limit) = ([], [], nil)
    case 21:
      list.erase(RowID(number))
      ids.remove(number)
      former.remove(number)
    case 22 where known.contains(number):
      list.limitHistory(to: RowID(number))
      limit = number
    case 23 where dice.roll(4) == 0:
      list.forgetAll()
      (known, limit) = ([], nil)
    default: break
    }
  }

  // MARK: The excerpt

  func excerpt(of window: ListWindow<RowID>) -> ListExcerpt<RowID> {
    var excerpt = ListExcerpt<RowID>()
    let before = window.anchor == .oldest ? 0 : window.before
    let after = window.anchor == .newest ? 0 : window.after
    let isNothing = before + after == 0
    let whole = PageWant<RowID>.about(
      window.anchor, before: isNothing && window.anchor != .oldest ? 1 : before,
      after: isNothing && window.anchor != .newest ? 1 : after)
    var point: Int64
    switch window.anchor {
    case .oldest: point = 0
    case .newest: point = LineModel.end
    case .serverChosen:
      excerpt.wants = [whole]
      return excerpt
    case .id(let id): point = id.number
    }
    let pointOfAnchor = point
    var wanted = whole
    var isWanted = true
    if let limit {
      if point < limit, !known.contains(point) {
        point = limit
        isWanted = window.after > 0
        wanted = .about(.id(RowID(limit)), before: 1, after: window.after)
      } else if case .about(.id(let id), 0, let after) = whole {
        wanted = .about(.id(id), before: 1, after: after)
      }
    }
    guard known.contains(point) else {
      let gap = run(around: point)
      let old = former.sorted().filter { $0 >= gap.low && $0 <= gap.high }
      let before = wanted == whole || point == pointOfAnchor ? window.before : 0
      for id in old.filter({ $0 < point }).suffix(Int(before)) {
        excerpt.rows.append(.former(RowID(id)))
      }
      excerpt.rows.append(.gap(LineModel.interval(gap.low, gap.high)))
      for id in old.filter({ $0 >= point }).prefix(Int(window.after)) {
        excerpt.rows.append(.former(RowID(id)))
      }
      if isWanted { excerpt.wants = [wanted] }
      return excerpt
    }
    let older = walk(from: point, by: -1, rows: window.before)
    let newer = walk(from: point, by: 1, rows: window.after)
    excerpt.rows = older.rows.reversed() + newer.rows
    excerpt.reachesBeginning = older.isAtEnd
    excerpt.reachesEnd = newer.isAtEnd
    excerpt.wants = older.wants + newer.wants
    return excerpt
  }

  private func run(around point: Int64) -> (low: Int64, high: Int64) {
    var (low, high) = (point, point)
    while low > 0, !known.contains(low - 1) { low -= 1 }
    while high < LineModel.end, !known.contains(high + 1) { high += 1 }
    return (low, high)
  }

  private func walk(
    from start: Int64, by step: Int64, rows: Int64
  ) -> (rows: [ListExcerpt<RowID>.Row], wants: [PageWant<RowID>], isAtEnd: Bool) {
    var found: [ListExcerpt<RowID>.Row] = []
    var wants: [PageWant<RowID>] = []
    var left = rows
    var gaps = 0
    var point = step > 0 || start == LineModel.end ? start : start - 1
    while point >= 0, point <= LineModel.end {
      guard !known.contains(point) else {
        if ids.contains(point) {
          if left == 0 { return (found, wants, false) }
          found.append(.item(RowID(point)))
          left -= 1
        }
        point += step
        continue
      }
      if left == 0 { return (found, wants, false) }
      let gap = run(around: point)
      found.append(.gap(LineModel.interval(gap.low, gap.high)))
      let filling = filling(of: gap, beside: point - step, step, left)
      if let filling { wants.append(filling) }
      while point >= gap.low, point <= gap.high {
        if left > 0, filling != nil, former.contains(point) {
          found.append(.former(RowID(point)))
          left -= 1
        }
        point += step
      }
      if filling != nil { gaps += 1 }
      if left == 0 || gaps == 5 || point < 0 || point > LineModel.end {
        return (found, wants, false)
      }
    }
    return (found, wants, true)
  }

  private func filling(
    of gap: (low: Int64, high: Int64), beside edge: Int64, _ step: Int64, _ left: Int64
  ) -> PageWant<RowID>? {
    guard let limit else { return want(gap, beside: edge, step, left) }
    if gap.high < LineModel.end {
      return gap.high + 1 <= limit ? nil : want(gap, beside: gap.high + 1, -1, left)
    }
    guard case .about(let anchor, 0, let after) = want(gap, beside: edge, step, left) else {
      return want(gap, beside: edge, step, left)
    }
    return .about(anchor == .oldest ? .id(RowID(limit)) : anchor, before: 1, after: after)
  }

  private func want(
    _ gap: (low: Int64, high: Int64), beside edge: Int64, _ step: Int64, _ left: Int64
  ) -> PageWant<RowID> {
    if gap.low == gap.high, gap.low > 0, gap.low < LineModel.end {
      return .item(RowID(gap.low))
    }
    let count = max(20, left)
    return .about(
      .id(RowID(edge)), before: step < 0 ? count : 0, after: step > 0 ? count : 0)
  }
}

/// A server that has some messages and gives pages of them.
struct TruthfulServer {
  var messages: [Int64]
  /// The most messages on each side of an anchor.
  var cap: Int
  /// Messages older than this are hidden.
  var limit: Int64?

  private var visible: [Int64] { messages.filter { $0 >= limit ?? 0 } }

  /// A list that knows a random part of the messages.
  func someKnowledge(_ dice: inout SplitMix) -> PartialList<RowID> {
    var list = PartialList<RowID>()
    for _ in 0..<dice.roll(6) {
      let low = max(limit ?? 0, dice.roll(LineModel.last))
      let high = min(LineModel.last + 1, low + dice.roll(8))
      list.learn(LineModel.interval(low, high))
      for id in visible where id >= low && id <= high { list.insert(RowID(id)) }
    }
    return list
  }

  /// What a complete window shows.
  func rows(of window: ListWindow<RowID>) -> [Int64] {
    var point = window.anchor.point.map { $0.id?.number ?? ($0 == .veryEnd ? .max : .min) } ?? 0
    if let limit { point = max(point, limit) }
    return visible.filter { $0 < point }.suffix(Int(window.before))
      + visible.filter { $0 >= point }.prefix(Int(window.after))
  }

  func answer(_ want: PageWant<RowID>, of list: inout PartialList<RowID>) {
    switch want {
    case .item(let id):
      if visible.contains(id.number) { list.insert(id) }
      list.learn(IDInterval(id))
    case .about(let anchor, let before, let after):
      let point = anchor.point.map { $0.id?.number ?? ($0 == .veryEnd ? .max : .min) } ?? .max
      let (before, after) = (min(Int(before), cap), min(Int(after), cap))
      let older = visible.filter { $0 < point }.suffix(before)
      let newer = visible.filter { $0 > point }.prefix(after)
      let ids = older + visible.filter { $0 == point } + newer
      let foundOldest = older.count < before || anchor == .oldest
      let foundNewest = newer.count < after || anchor == .newest
      let isLimited = limit != nil && foundOldest
      for id in ids { list.insert(RowID(id)) }
      let known = (ids + [anchor.point?.id?.number].compactMap { $0 }).map { RowID($0) }
      let ends = known.min().flatMap { low in known.max().map { (low, $0) } }
      let beginsAtOldest = foundOldest && !isLimited
      if let (low, high) = ends {
        list.learn(
          IDInterval(
            from: beginsAtOldest ? .veryBeginning : .id(low),
            to: foundNewest ? .veryEnd : .id(high)))
      } else if beginsAtOldest, foundNewest {
        list.learn(.everything)
      }
      if isLimited {
        list.limitHistory(to: RowID(ids.first ?? anchor.point?.id?.number ?? .max))
      }
    }
  }
}
