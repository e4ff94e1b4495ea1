extension PartialList {
  /// The fewest rows to ask for: a page costs a round trip, however few rows it has.
  @inlinable
  static var pageMinimum: Int64 { 20 }

  /// The most rows to ask for: servers give a few thousand at most.
  @inlinable
  static var pageMaximum: Int64 { 1000 }

  /// The most gaps to be filled on each side. Rows behind more gaps are not seen.
  @inlinable
  static var gapsMaximum: Int { 4 }

  /// Returns what a window shows, and what to fetch for the rest. O(rows + log *n*), and a step for
  /// each gap that the server hides.
  @inlinable
  package func excerpt(of window: ListWindow<ID>) -> ListExcerpt<ID> {
    var excerpt = ListExcerpt<ID>()
    guard var anchor = window.anchor.point else {
      excerpt.wants = [PartialList.want(window)]
      return excerpt
    }
    // If the server hides the anchor, the window shows what comes after the limit.
    if let historyLimit, anchor < .id(historyLimit), !knowledge.contains(anchor) {
      anchor = .id(historyLimit)
      guard knowledge.contains(anchor) else {
        // There is nothing older. A page about the very beginning might have hidden rows only.
        let visible = ListWindow(.id(historyLimit), before: 0, after: window.after)
        return unknown(visible, at: anchor, isWanted: window.after > 0)
      }
    }
    guard knowledge.contains(anchor) else { return unknown(window, at: anchor, isWanted: true) }
    let older = side(.older, of: anchor, rows: window.before)
    let newer = side(.newer, of: anchor, rows: window.after)
    excerpt.rows = older.rows.reversed() + newer.rows
    excerpt.reachesBeginning = older.isAtEnd
    excerpt.reachesEnd = newer.isAtEnd
    excerpt.wants = older.wants + newer.wants
    excerpt.unloaded = older.unloaded + newer.unloaded
    return excerpt
  }

  // MARK: Helpers

  /// One side of an excerpt, from the anchor outwards.
  @usableFromInline
  struct Side {
    @usableFromInline enum Way { case older, newer }
    @usableFromInline var rows: [ListExcerpt<ID>.Row] = []
    @usableFromInline var wants: [PageWant<ID>] = []
    @usableFromInline var unloaded: [ListExcerpt<ID>.Unloaded] = []
    /// Whether there is nothing further on this side.
    @usableFromInline var isAtEnd = false

    @inlinable
    init() {}
  }

  /// The excerpt for an anchor in a gap: one page about it serves both sides. Former rows are
  /// shown.
  @inlinable
  func unknown(
    _ window: ListWindow<ID>, at anchor: IDInterval<ID>.Point, isWanted: Bool
  ) -> ListExcerpt<ID> {
    var excerpt = ListExcerpt<ID>()
    let gap = knowledge.gap(atOrBelow: anchor) ?? .everything
    var older: [ListExcerpt<ID>.Row] = []
    for id in formerIDs(.older, from: PartialList.first(.older, of: anchor), gap, window.before) {
      older.append(.former(id))
    }
    excerpt.rows = older.reversed() + [.gap(gap)]
    for id in formerIDs(.newer, from: PartialList.first(.newer, of: anchor), gap, window.after) {
      excerpt.rows.append(.former(id))
    }
    if isWanted, !hidesEverything { excerpt.wants = [lookingBack(PartialList.want(window))] }
    return excerpt
  }

  @inlinable
  func side(_ way: Side.Way, of anchor: IDInterval<ID>.Point, rows: Int64) -> Side {
    var side = Side()
    var left = rows
    guard var interval = knowledge.interval(holding: anchor) else { return side }
    var next = PartialList.first(way, of: anchor)
    while side.wants.count <= PartialList.gapsMaximum {
      let unloaded = unloaded(way, from: next, interval)
      let loaded = unloaded.map { interval.before($0, way) } ?? interval
      let taken = takeRows(way, from: next, loaded, left)
      side.rows += taken.rows
      left -= Int64(taken.rows.count)
      if let unloaded, taken.isAll {
        // One more than is shown, to see whether that was the last.
        side.unloaded.append(
          ListExcerpt.Unloaded(interval: unloaded, isFromEnd: way == .older, count: left + 1))
        if left > 0 { side.rows.append(.gap(unloaded)) }
        return side
      }
      let end = way == .older ? interval.lowerEnd : interval.upperEnd
      guard end != (way == .older ? .veryBeginning : .veryEnd) else {
        side.isAtEnd = taken.isAll
        return side
      }
      guard left > 0, let gap = gap(way, beside: end) else { return side }
      side.rows.append(.gap(gap))
      if let want = want(way, gap, beside: end, rows: left) {
        side.wants.append(want)
        for id in formerIDs(way, from: end.id, gap, left) {
          side.rows.append(.former(id))
          left -= 1
        }
      }
      let far = way == .older ? gap.lowerEnd : gap.upperEnd
      guard let beyond = PartialList.next(way, after: far), left > 0,
        let known = knowledge.interval(holding: .id(beyond))
      else { return side }
      next = beyond
      interval = known
    }
    return side
  }

  /// The next unloaded part of an interval, from an ID on; `nil`: none.
  @inlinable
  func unloaded(
    _ way: Side.Way, from first: ID?, _ interval: IDInterval<ID>
  ) -> IDInterval<ID>? {
    guard !unloaded.isEmpty, let first else { return nil }
    var point = IDInterval<ID>.Point.id(first)
    if !unloaded.contains(point) {
      // Beyond everything loaded around it.
      let loaded = way == .older ? unloaded.gap(atOrBelow: point) : unloaded.gap(atOrAbove: point)
      let far = way == .older ? loaded?.lowerEnd : loaded?.upperEnd
      guard let next = far.flatMap({ PartialList.next(way, after: $0) }) else { return nil }
      point = .id(next)
    }
    guard interval.contains(point), let piece = unloaded.interval(holding: point) else {
      return nil
    }
    let (low, high) = (
      max(interval.lowerEnd, piece.lowerEnd), min(interval.upperEnd, piece.upperEnd)
    )
    // Nothing lies between the last ID and the end of the line, so the end is read with it.
    switch way {
    case .older: return IDInterval(from: low, to: point == .id(ID(.max)) ? high : point)
    case .newer: return IDInterval(from: point == .id(ID(.min)) ? low : point, to: high)
    }
  }

  /// Returns the next rows of an interval, from an ID on, and whether those are all of them.
  @inlinable
  func take(
    _ way: Side.Way, _ ids: VersionedMap<ID, Present>, from first: ID?,
    _ interval: IDInterval<ID>?, _ most: Int64
  ) -> (ids: [ID], isAll: Bool) {
    guard let first, let interval else { return ([], true) }
    var taken: [ID] = []
    func take(_ id: ID) -> Bool {
      guard interval.contains(id), taken.count < Int(most) else { return false }
      taken.append(id)
      return true
    }
    switch way {
    case .older:
      for (id, _) in ids.descending(from: first) where !take(id) {
        return (taken, !interval.contains(id))
      }
    case .newer:
      for (id, _) in ids.ascending(from: first) where !take(id) {
        return (taken, !interval.contains(id))
      }
    }
    return (taken, true)
  }

  /// Returns the next rows of an interval, held ones and copies, and whether those are all of them.
  @inlinable
  func takeRows(
    _ way: Side.Way, from first: ID?, _ interval: IDInterval<ID>?, _ most: Int64
  ) -> (rows: [ListExcerpt<ID>.Row], isAll: Bool) {
    let held = take(way, ids, from: first, interval, most)
    guard !copied.isEmpty else { return (held.ids.map { .item($0) }, held.isAll) }
    let copies = take(way, copied, from: first, interval, most)
    var rows: [ListExcerpt<ID>.Row] = []
    var left = held.ids[...]
    for id in copies.ids {
      while let item = left.first, way == .older ? item > id : item < id {
        rows.append(.item(left.removeFirst()))
      }
      rows.append(.former(id))
    }
    for id in left { rows.append(.item(id)) }
    // Behind the last row of one kind there may be more of it than was taken.
    guard rows.count > Int(most) else { return (rows, held.isAll && copies.isAll) }
    return (Array(rows.prefix(Int(most))), false)
  }

  @inlinable
  func formerIDs(
    _ way: Side.Way, from first: ID?, _ gap: IDInterval<ID>, _ most: Int64
  ) -> [ID] {
    guard former != nil || !copied.isEmpty, let first else { return [] }
    // The first ID may lie beside the gap, whose IDs come next.
    let start = gap.contains(first) ? first : PartialList.next(way, after: .id(first))
    let copies = take(way, copied, from: start, gap, most).ids
    guard let former else { return copies }
    var all = take(way, former.ids, from: start, gap, most).ids
    guard !copies.isEmpty else { return all }
    for id in copies where !former.ids.contains(id) { all.append(id) }
    all.sort { way == .older ? $0 > $1 : $0 < $1 }
    return Array(all.prefix(Int(most)))
  }

  /// Whether the server shows nothing on the older side of a point.
  @inlinable
  func isHidden(below point: IDInterval<ID>.Point) -> Bool {
    historyLimit.map { point <= .id($0) } ?? false
  }

  @inlinable
  func gap(_ way: Side.Way, beside end: IDInterval<ID>.Point) -> IDInterval<ID>? {
    way == .older ? knowledge.gap(atOrBelow: end) : knowledge.gap(atOrAbove: end)
  }

  /// The first ID on one side of an anchor. The anchor's own ID is on the newer side.
  @inlinable
  static func first(_ way: Side.Way, of anchor: IDInterval<ID>.Point) -> ID? {
    if let id = anchor.id { return way == .newer ? id : next(.older, after: anchor) }
    switch way {
    case .older: return anchor == .veryEnd ? ID(.max) : nil
    case .newer: return anchor == .veryBeginning ? ID(.min) : nil
    }
  }

  /// The ID next to a point; `nil`: the point is an end.
  @inlinable
  static func next(_ way: Side.Way, after point: IDInterval<ID>.Point) -> ID? {
    guard let id = point.id else { return nil }
    return ID(id.number + (way == .older ? -1 : 1))
  }

  @inlinable
  static func want(_ window: ListWindow<ID>) -> PageWant<ID> {
    let before = window.anchor == .oldest ? 0 : min(window.before, pageMaximum)
    let after = window.anchor == .newest ? 0 : min(window.after, pageMaximum)
    // A page without rows tells nothing.
    if before + after == 0 {
      return .about(
        window.anchor, before: window.anchor == .oldest ? 0 : 1,
        after: window.anchor == .newest ? 0 : 1)
    }
    return .about(window.anchor, before: before, after: after)
  }

  /// The request that fills a gap beside a known part; `nil`: the server hides what is there, and
  /// former rows there are not shown either.
  ///
  /// After an anchor, a page does not say whether the server hides rows; before one, it does. So if
  /// some rows are known to be hidden, a gap is filled from its newer side if it has one.
  @inlinable
  func want(
    _ way: Side.Way, _ gap: IDInterval<ID>, beside edge: IDInterval<ID>.Point, rows: Int64
  ) -> PageWant<ID>? {
    guard let historyLimit else { return PartialList.want(way, gap, beside: edge, rows: rows) }
    let newer = way == .older ? edge : PartialList.next(.newer, after: gap.upperEnd).map { .id($0) }
    if let newer {
      if isHidden(below: newer) { return nil }
      return PartialList.want(.older, gap, beside: newer, rows: rows)
    }
    if hidesEverything { return nil }
    let start = edge.id == nil ? .id(historyLimit) : edge
    return lookingBack(PartialList.want(.newer, gap, beside: start, rows: rows))
  }

  /// A request about an ID and what comes after it, for at least one row before it too, if some
  /// rows are known to be hidden. So the page shows whether the anchor is hidden.
  @inlinable
  func lookingBack(_ want: PageWant<ID>) -> PageWant<ID> {
    guard historyLimit != nil, case .about(.id(let id), 0, let after) = want else { return want }
    return .about(.id(id), before: 1, after: after)
  }

  @inlinable
  static func want(
    _ way: Side.Way, _ gap: IDInterval<ID>, beside edge: IDInterval<ID>.Point, rows: Int64
  ) -> PageWant<ID> {
    if gap.lowerEnd == gap.upperEnd, let id = gap.lowerEnd.id { return .item(id) }
    let count = min(max(rows, pageMinimum), pageMaximum)
    // An edge at an end of the line has no ID.
    let anchor = edge.id.map { .id($0) } ?? (way == .older ? PageAnchor.newest : .oldest)
    return way == .older
      ? .about(anchor, before: count, after: 0) : .about(anchor, before: 0, after: count)
  }
}

extension IDInterval {
  /// The part of it that comes before `part` in this direction; `nil`: nothing.
  @inlinable
  func before(_ part: IDInterval, _ way: PartialList<ID>.Side.Way) -> IDInterval? {
    switch way {
    case .older: part.high < high ? IDInterval(low: part.high + 1, high: high) : nil
    case .newer: low < part.low ? IDInterval(low: low, high: part.low - 1) : nil
    }
  }
}
