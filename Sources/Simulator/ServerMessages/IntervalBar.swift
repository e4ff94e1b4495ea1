package import MessageSync
package import UpdateMachine

/// A fixed-width picture of a list that shows where it is known, and where its messages are.
///
/// `[==#==#..o.--` is known from the very beginning, but not up to the very end. `=` is known, `.`
/// is unknown, `-` is unknown now but was known formerly, and `:` is a column of several IDs of
/// which some are known. `#` is a message where the list is known, `o` one where it is not. A known
/// end is shown as `[` or `]`.
package struct IntervalBar: Hashable, Sendable, CustomStringConvertible {
  package let description: String

  /// The number of columns between the ends.
  package static var width: Int64 { 40 }

  /// - Parameters:
  ///   - list: the list to show.
  ///   - newest: the greatest ID to show. The picture covers more if the list has greater IDs.
  package init(_ list: PartialList<MessageID>, through newest: MessageID) {
    var last = max(1, newest.number)
    for (id, _) in list.ids { last = max(last, id.number) }
    // The number of IDs per column.
    let each = (last + IntervalBar.width - 1) / IntervalBar.width
    let former = list.former?.knowledge ?? Knowledge()
    func end(_ point: IDInterval<MessageID>.Point, _ sign: String) -> String {
      if list.knowledge.contains(point) { return sign }
      return former.contains(point) ? "-" : "."
    }
    var held: [Bool] = Array(repeating: false, count: Int(IntervalBar.width))
    for (id, _) in list.ids where id.number > 0 { held[Int((id.number - 1) / each)] = true }
    var text = end(.veryBeginning, "[")
    for column in 0..<IntervalBar.width {
      let ids = IDInterval(
        from: MessageID(column * each + 1), to: MessageID((column + 1) * each))
      let isKnown = list.knowledge.covers(ids)
      if held[Int(column)] {
        text += isKnown ? "#" : "o"
      } else if isKnown {
        text += "="
      } else if !list.knowledge.intersection(ids).isEmpty {
        text += ":"
      } else {
        text += former.intersection(ids).isEmpty ? "." : "-"
      }
    }
    text += end(.veryEnd, "]")
    description = "\(text) 1…\(each * IntervalBar.width)"
  }
}
