/// The tickets of one queued mutation: one, or several if mutations were coalesced into it. O(1)
/// for one, or for several in a row.
@usableFromInline
package struct TicketSet: Hashable, Sendable {
  /// The ranges of tickets: ascending, disjoint, and not adjacent.
  @usableFromInline let first: ClosedRange<MutationTicket>
  @usableFromInline let others: [ClosedRange<MutationTicket>]

  @inlinable
  package init(_ ticket: MutationTicket) { self.init(first: ticket...ticket, others: []) }

  @usableFromInline
  init(first: ClosedRange<MutationTicket>, others: [ClosedRange<MutationTicket>]) {
    self.first = first
    self.others = others
  }

  /// The first ticket: it names the mutation on disk.
  @inlinable
  package var lowerBound: MutationTicket { first.lowerBound }

  /// The last ticket: servers that echo a client's own ID echo this one.
  @inlinable
  package var upperBound: MutationTicket { others.last?.upperBound ?? first.upperBound }

  @inlinable
  package func contains(_ ticket: MutationTicket) -> Bool {
    first.contains(ticket) || others.contains { $0.contains(ticket) }
  }

  /// All of them, as ranges.
  @inlinable
  package var ranges: [ClosedRange<MutationTicket>] { [first] + others }

  /// The tickets of both.
  func union(_ other: TicketSet) -> TicketSet {
    var joined: [ClosedRange<MutationTicket>] = []
    for range in (ranges + other.ranges).sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = joined.last, range.lowerBound.number <= last.upperBound.number + 1 {
        joined[joined.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
      } else {
        joined.append(range)
      }
    }
    return TicketSet(first: joined.removeFirst(), others: joined)
  }
}

extension TicketSet: CustomStringConvertible {
  /// "#3", "#3–5", "#3–5,8".
  @usableFromInline package var description: String {
    var text = "#"
    for (index, range) in ranges.enumerated() {
      let (first, last) = (range.lowerBound.number, range.upperBound.number)
      text += "\(index == 0 ? "" : ",")\(first)\(first == last ? "" : "–\(last)")"
    }
    return text
  }
}
