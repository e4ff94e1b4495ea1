import MessageSync
import ZulipSync

// The number of unread messages, as lines.

extension Printer {
  /// "[general > lunch] 3 (1 mention)" for each conversation that is not muted, and a last line
  /// with the total.
  static func text(
    _ unread: UnreadCounts, _ state: ZulipState, _ palette: Palette
  ) -> [String] {
    var lines: [String] = []
    for one in unread.conversations where !one.isMuted {
      let place = palette.place(place(one.place, state))
      lines.append("\(place) \(one.count)\(mentions(one.mentions))")
    }
    var total = "\(unread.total) unread\(mentions(unread.mentions))"
    if unread.muted > 0 { total += ", and \(unread.muted) muted" }
    if !unread.isComplete { total += "; there are older ones, which the server does not list" }
    return lines + [total]
  }

  private static func mentions(_ count: Int) -> String {
    count == 0 ? "" : " (\(count) mention\(count == 1 ? "" : "s"))"
  }

  /// An object for each conversation, and one with the total.
  static func json(_ unread: UnreadCounts, _ state: ZulipState) throws -> [String] {
    var lines: [String] = []
    for one in unread.conversations {
      let counts: [String: Any] = [
        "unread": one.count, "mentions": one.mentions, "is_muted": one.isMuted,
        "newest": one.newest.number,
      ]
      lines.append(try json(counts.merging(fields(one.place, state)) { $1 }))
    }
    let total: [String: Any] = [
      "type": "total", "unread": unread.total, "mentions": unread.mentions, "muted": unread.muted,
      "is_complete": unread.isComplete,
    ]
    return lines + [try json(total)]
  }
}
