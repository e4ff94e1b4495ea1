extension PartialList {
  /// So many messages are asked for at least: a page costs a journey, however few are on it.
  static var pageMinimum: Int64 { 20 }

  /// So many are asked for at most; servers give no more than some thousand.
  static var pageMaximum: Int64 { 1000 }

  /// So many gaps a side are looked over; what lies behind more of them nobody sees.
  static var gapsMaximum: Int { 4 }

  /// What there is to show of a window, and what to fetch for the rest. O(rows + log *n*).
  public func excerpt(of window: ListWindow) -> ListExcerpt {
    var excerpt = ListExcerpt()
    guard var anchor = window.anchor.point else {
      excerpt.wants = [PartialList.want(window)]
      return excerpt
    }
    // Who wants what the server hides is shown what comes after it.
    if let historyLimit, anchor < .id(historyLimit), !knowledge.contains(anchor) {
      anchor = .id(historyLimit)
    }
    guard knowledge.contains(anchor) else { return unknown(window, at: anchor) }
    let older = side(.older, of: anchor, rows: window.before)
    let newer = side(.newer, of: anchor, rows: window.after)
    excerpt.rows = older.rows.reversed() + newer.rows
    excerpt.reachesBeginning = older.isAtEnd
    excerpt.reachesEnd = newer.isAtEnd
    excerpt.wants = older.wants + newer.wants
    excerpt.asleep = older.asleep + newer.asleep
    return excerpt
  }

  // MARK: Helpers

  /// One side of an excerpt, from the anchor outwards.
  struct Side {
    enum Way { case older, newer }
    var rows: [ListExcerpt.Row] = []
    var wants: [PageWant] = []
    var asleep: [ListExcerpt.Sleeping] = []
    /// There is nothing further on this side.
    var isAtEnd = false
  }

  /// The anchor lies in a gap: one page about it serves both sides. What was there formerly is shown.
  private func unknown(_ window: ListWindow, at anchor: Interval.Point) -> ListExcerpt {
    var excerpt = ListExcerpt()
    let gap = knowledge.gap(atOrBelow: anchor) ?? .everything
    var older: [ListExcerpt.Row] = []
    for id in formerIDs(.older, from: PartialList.first(.older, of: anchor), gap, window.before) {
      older.append(.former(id))
    }
    excerpt.rows = older.reversed() + [.gap(gap)]
    for id in formerIDs(.newer, from: PartialList.first(.newer, of: anchor), gap, window.after) {
      excerpt.rows.append(.former(id))
    }
    if !hidesEverything { excerpt.wants = [PartialList.want(window)] }
    return excerpt
  }

  private func side(_ way: Side.Way, of anchor: Interval.Point, rows: Int64) -> Side {
    var side = Side()
    var left = rows
    guard var interval = knowledge.interval(holding: anchor) else { return side }
    var next = PartialList.first(way, of: anchor)
    for _ in 0...PartialList.gapsMaximum {
      let sleeping = sleeping(way, from: next, interval)
      let awake = sleeping.map { interval.before($0, way) } ?? interval
      let taken = take(way, ids, from: next, awake, left)
      for id in taken.ids { side.rows.append(.message(id)) }
      left -= Int64(taken.ids.count)
      if let sleeping, taken.isAll {
        // One more than is shown: so it is seen whether that was the last.
        side.asleep.append(
          ListExcerpt.Sleeping(interval: sleeping, isFromEnd: way == .older, count: left + 1))
        if left > 0 { side.rows.append(.gap(sleeping)) }
        return side
      }
      let end = way == .older ? interval.lowerEnd : interval.upperEnd
      guard end != (way == .older ? .veryBeginning : .veryEnd) else {
        side.isAtEnd = taken.isAll
        return side
      }
      guard left > 0, let gap = gap(way, beside: end) else { return side }
      side.rows.append(.gap(gap))
      if way == .newer || !isHidden(below: end) {
        side.wants.append(PartialList.want(way, gap, beside: end, rows: left))
      }
      for id in formerIDs(way, from: end.id, gap, left) {
        side.rows.append(.former(id))
        left -= 1
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

  /// What sleeps of an interval next, from an ID on; `nil`: nothing.
  private func sleeping(
    _ way: Side.Way, from first: MessageID?, _ interval: Interval
  ) -> Interval? {
    guard !asleep.isEmpty, let first else { return nil }
    var point = Interval.Point.id(first)
    if !asleep.contains(point) {
      // Beyond all that is awake about it.
      let awake = way == .older ? asleep.gap(atOrBelow: point) : asleep.gap(atOrAbove: point)
      let far = way == .older ? awake?.lowerEnd : awake?.upperEnd
      guard let next = far.flatMap({ PartialList.next(way, after: $0) }) else { return nil }
      point = .id(next)
    }
    guard interval.contains(point), let piece = asleep.interval(holding: point) else { return nil }
    return way == .older
      ? Interval(from: max(interval.lowerEnd, piece.lowerEnd), to: point)
      : Interval(from: point, to: min(interval.upperEnd, piece.upperEnd))
  }

  /// The next messages from an ID on that lie in an interval; whether those are all of them.
  private func take(
    _ way: Side.Way, _ ids: VersionedMap<MessageID, Present>, from first: MessageID?,
    _ interval: Interval?, _ most: Int64
  ) -> (ids: [MessageID], isAll: Bool) {
    guard let first, let interval else { return ([], true) }
    var taken: [MessageID] = []
    func take(_ id: MessageID) -> Bool {
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

  private func formerIDs(
    _ way: Side.Way, from first: MessageID?, _ gap: Interval, _ most: Int64
  ) -> [MessageID] {
    guard let former, let first else { return [] }
    // The first may lie beside the gap; those in it come next.
    let start = gap.contains(first) ? first : PartialList.next(way, after: .id(first))
    return take(way, former.ids, from: start, gap, most).ids
  }

  /// Whether the server shows nothing on the older side of a point.
  private func isHidden(below point: Interval.Point) -> Bool {
    historyLimit.map { point <= .id($0) } ?? false
  }

  private func gap(_ way: Side.Way, beside end: Interval.Point) -> Interval? {
    way == .older ? knowledge.gap(atOrBelow: end) : knowledge.gap(atOrAbove: end)
  }

  /// The first ID on a side of an anchor: its own is on the newer one.
  private static func first(_ way: Side.Way, of anchor: Interval.Point) -> MessageID? {
    if let id = anchor.id { return way == .newer ? id : next(.older, after: anchor) }
    switch way {
    case .older: return anchor == .veryEnd ? MessageID(.max) : nil
    case .newer: return anchor == .veryBeginning ? MessageID(.min) : nil
    }
  }

  /// The ID beside a point; `nil`: none, for it is an end.
  private static func next(_ way: Side.Way, after point: Interval.Point) -> MessageID? {
    guard let id = point.id else { return nil }
    return MessageID(id.number + (way == .older ? -1 : 1))
  }

  private static func want(_ window: ListWindow) -> PageWant {
    let before = window.anchor == .oldest ? 0 : min(window.before, pageMaximum)
    let after = window.anchor == .newest ? 0 : min(window.after, pageMaximum)
    // Of nothing at all a page tells nothing.
    if before + after == 0 {
      return .about(
        window.anchor, before: window.anchor == .oldest ? 0 : 1,
        after: window.anchor == .newest ? 0 : 1)
    }
    return .about(window.anchor, before: before, after: after)
  }

  private static func want(
    _ way: Side.Way, _ gap: Interval, beside edge: Interval.Point, rows: Int64
  ) -> PageWant {
    if gap.lowerEnd == gap.upperEnd, let id = gap.lowerEnd.id { return .message(id) }
    let count = min(max(rows, pageMinimum), pageMaximum)
    // An ID of the greatest or the least number is an end.
    let anchor = edge.id.map { .id($0) } ?? (way == .older ? PageAnchor.newest : .oldest)
    return way == .older
      ? .about(anchor, before: count, after: 0) : .about(anchor, before: 0, after: count)
  }
}

extension Interval {
  /// What of it comes before a part of it, on the way there; `nil`: nothing.
  fileprivate func before(_ part: Interval, _ way: PartialList.Side.Way) -> Interval? {
    switch way {
    case .older: part.high < high ? Interval(low: part.high + 1, high: high) : nil
    case .newer: low < part.low ? Interval(low: low, high: part.low - 1) : nil
    }
  }
}
