package import MessageSync
package import UpdateMachine

/// Oracle F for lists: a window claims no more than is known. Where the content is unknown, it
/// never shows *empty*, *the newest*, or two rows as neighbours.
///
/// It uses plain loops over what the list holds and knows, instead of the list's own code.
package enum ExcerptOracle {
  package typealias Objection = IntervalOracle.Objection

  package static func objection(
    to excerpt: ListExcerpt<MessageID>, of window: ListWindow<MessageID>,
    _ list: PartialList<MessageID>
  ) -> Objection? {
    guard let complaint = complaint(about: excerpt, of: window, list) else { return nil }
    return Objection(expected: complaint, found: "\(words(excerpt)) of \(list)")
  }

  private static func complaint(
    about excerpt: ListExcerpt<MessageID>, of window: ListWindow<MessageID>,
    _ list: PartialList<MessageID>
  ) -> String? {
    var ids: [Int64] = []
    for (id, _) in list.ids { ids.append(id.number) }
    for (id, _) in list.copied { ids.append(id.number) }
    // The point up to which the rows leave nothing out.
    var end = IDInterval<MessageID>.Point.veryBeginning
    var isOpen = excerpt.reachesBeginning
    var shown: [Int64] = []
    var gaps = 0
    for row in excerpt.rows {
      switch row {
      case .former(let id) where !list.knowledge.contains(id): break
      case .item(let id), .former(let id):
        if let complaint = complaint(about: row, list) { return complaint }
        guard IDInterval<MessageID>.Point.id(id) >= end else { return "rows are in order" }
        if isOpen, !isAll(from: end, to: .id(id), shown, ids, list) {
          return "nothing is left out before \(id)"
        }
        end = .id(id)
        isOpen = true
        shown.append(id.number)
      case .gap(let gap):
        gaps += 1
        if !list.knowledge.intersection(gap).isEmpty { return "a gap where nothing is known" }
        if isOpen, gap.lowerEnd > end,
          !isAll(from: end, to: before(gap.lowerEnd), shown, ids, list)
        {
          return "nothing is left out before \(gap)"
        }
        end = after(gap.upperEnd)
        isOpen = true
      }
    }
    if excerpt.reachesEnd {
      let last = isOpen ? end : start(of: window, list)
      if !isAll(from: last, to: .veryEnd, shown, ids, list) { return "the newest row is the last" }
    }
    if excerpt.reachesBeginning, shown.isEmpty, gaps == 0,
      !isAll(from: .veryBeginning, to: anchor(of: window), shown, ids, list)
    {
      return "the oldest row is the first"
    }
    return complaint(about: excerpt, of: window, shown.count, gaps, list)
  }

  /// A row that is not beside a gap is a held one, or a copy of which no events come (R15).
  private static func complaint(
    about row: ListExcerpt<MessageID>.Row, _ list: PartialList<MessageID>
  ) -> String? {
    switch row {
    case .item(let id) where !list.ids.contains(id) || !list.knowledge.contains(id):
      "\(id) is shown as known only where it is"
    case .former(let id) where list.ids.contains(id) || !list.copied.contains(id):
      "\(id) is former only where nothing is known"
    case .item, .former, .gap: nil
    }
  }

  /// Checks that whatever is missing is asked for, and that what is asked for is shown as a gap.
  private static func complaint(
    about excerpt: ListExcerpt<MessageID>, of window: ListWindow<MessageID>, _ shown: Int,
    _ gaps: Int,
    _ list: PartialList<MessageID>
  ) -> String? {
    if gaps == 0, !excerpt.wants.isEmpty, window.anchor.point != nil {
      return "what is asked for is shown as a gap"
    }
    guard excerpt.wants.isEmpty else { return nil }
    if let limit = list.historyLimit {
      return complaint(about: excerpt, of: window, list, shown, limit)
    }
    if gaps > 0 { return "a gap is asked for" }
    guard let point = window.anchor.point else { return "the first unread is asked for" }
    let older = excerpt.rows.count {
      $0.number(in: list).map { IDInterval<MessageID>.Point.id($0) < point } ?? false
    }
    if older < Int(window.before), !excerpt.reachesBeginning {
      return "\(window.before) rows before \(window.anchor), or the beginning"
    }
    if shown - older < Int(window.after), !excerpt.reachesEnd {
      return "\(window.after) rows from \(window.anchor) on, or the end"
    }
    return nil
  }

  /// The same for a list whose older part the server hides.
  private static func complaint(
    about excerpt: ListExcerpt<MessageID>, of window: ListWindow<MessageID>,
    _ list: PartialList<MessageID>, _ shown: Int, _ limit: MessageID
  ) -> String? {
    for case .gap(let gap) in excerpt.rows where gap.upperEnd >= .id(limit) {
      // A window that wants nothing from its anchor on stays beside a gap above the limit.
      if limit == MessageID(.max) || window.after == 0 && gap.lowerEnd <= .id(limit) { continue }
      return "a gap that is not hidden is asked for"
    }
    guard limit < MessageID(.max), window.anchor.point != nil else { return nil }
    let from = start(of: window, list)
    let newer = excerpt.rows.count {
      $0.number(in: list).map { IDInterval<MessageID>.Point.id($0) >= from } ?? false
    }
    if newer < Int(window.after), !excerpt.reachesEnd {
      return "\(window.after) rows from \(window.anchor) on, or the end"
    }
    guard !excerpt.reachesBeginning, shown - newer < Int(window.before), from > .id(limit) else {
      return nil
    }
    let isAll = list.knowledge.covers(IDInterval(from: .id(limit), to: from))
    return isAll ? nil : "\(window.before) rows before \(window.anchor), or the limit"
  }

  /// Whether everything between two points is known and shown.
  private static func isAll(
    from low: IDInterval<MessageID>.Point, to high: IDInterval<MessageID>.Point, _ shown: [Int64],
    _ ids: [Int64],
    _ list: PartialList<MessageID>
  ) -> Bool {
    guard low <= high else { return true }
    guard list.knowledge.covers(IDInterval(from: low, to: high)) else { return false }
    for id in ids where low < .id(MessageID(id)) && .id(MessageID(id)) < high {
      if !shown.contains(id) { return false }
    }
    return true
  }

  private static func before(_ point: IDInterval<MessageID>.Point) -> IDInterval<MessageID>.Point {
    point.id.map { .id(MessageID($0.number - 1)) } ?? point
  }

  private static func after(_ point: IDInterval<MessageID>.Point) -> IDInterval<MessageID>.Point {
    point.id.map { .id(MessageID($0.number + 1)) } ?? point
  }

  private static func anchor(of window: ListWindow<MessageID>) -> IDInterval<MessageID>.Point {
    window.anchor.point ?? .veryEnd
  }

  /// Where a window begins to count: at its anchor, or at the limit if the server hides the anchor.
  private static func start(
    of window: ListWindow<MessageID>, _ list: PartialList<MessageID>
  ) -> IDInterval<MessageID>.Point {
    let anchor = anchor(of: window)
    guard let limit = list.historyLimit, !list.knowledge.contains(anchor) else { return anchor }
    return max(anchor, .id(limit))
  }

  private static func words(_ excerpt: ListExcerpt<MessageID>) -> String {
    var text = excerpt.reachesBeginning ? "[" : ""
    for row in excerpt.rows {
      switch row {
      case .item(let id): text += " \(id)"
      case .former(let id): text += " (\(id))"
      case .gap(let gap): text += " …\(gap)…"
      }
    }
    return text + (excerpt.reachesEnd ? " ]" : "")
  }
}

extension ListExcerpt<MessageID>.Row {
  /// `nil` for a gap, or for a row that is beside one and may no longer exist.
  fileprivate func number(in list: PartialList<MessageID>) -> MessageID? {
    switch self {
    case .item(let id): id
    case .former(let id): list.knowledge.contains(id) ? id : nil
    case .gap: nil
    }
  }
}
