/// A short list that allocates nothing for up to two elements. Most steps do at most a few things
/// of one kind.
@usableFromInline
package struct Few<Element: Sendable>: Sendable {
  @usableFromInline var first: Element?
  @usableFromInline var second: Element?
  /// The elements after the second.
  @usableFromInline var rest: [Element] = []

  @inlinable
  package init() {}

  @inlinable
  package var count: Int { (first == nil ? 0 : 1) + (second == nil ? 0 : 1) + rest.count }

  @inlinable
  package var isEmpty: Bool { first == nil }

  @inlinable
  package mutating func append(_ element: Element) {
    if first == nil {
      first = element
    } else if second == nil {
      second = element
    } else {
      rest.append(element)
    }
  }

  /// Calls `body` with each element, in the order in which they were appended.
  @inlinable
  package func each(_ body: (Element) -> Void) {
    if let first { body(first) }
    if let second { body(second) }
    for element in rest { body(element) }
  }
}

extension Few: Equatable where Element: Equatable {}
