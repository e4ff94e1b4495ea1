/// A query of the view or, where the model takes no changes, of the model: a plain value.
///
///     struct OpenItems: ViewQuery {
///       func answer(in state: Board) -> [Item] { … }
///       func mayDiffer(from old: Board, to new: Board) -> Bool {
///         new.items.differs(from: old.items, in: ItemID(0)..<ItemID(1000))
///       }
///     }
public protocol ViewQuery<State, Answer>: Sendable {
  /// The state that the query reads: the view, or the model.
  associatedtype State: Sendable
  /// What the query returns. Equal answers are not reported twice.
  associatedtype Answer: Equatable & Sendable

  /// Returns the answer in a state. Equal states must have equal answers.
  func answer(in state: State) -> Answer

  /// Whether two states may have different answers; `false` saves a call of ``answer(in:)``. A
  /// query that reads a range of a ``VersionedMap`` can ask the map whether it `differs(from:in:)`.
  /// By default always `true`.
  func mayDiffer(from old: State, to new: State) -> Bool
}

extension ViewQuery {
  @inlinable
  public func mayDiffer(from old: State, to new: State) -> Bool { true }
}

/// A query that follows a state as it changes. It returns the first answer, and then only answers
/// that differ from the last one.
@usableFromInline
package struct ViewSubscription<Query: ViewQuery>: Sendable {
  package let query: Query
  private var known: (state: Query.State, version: UInt64, answer: Query.Answer)?
  /// How often the query computed an answer.
  package private(set) var timesAsked: UInt64 = 0

  package init(_ query: Query) { self.query = query }

  /// The last answer; `nil`: none yet.
  package var answer: Query.Answer? { known?.answer }

  /// Returns the answer if it is the first or has changed. O(1) if the version is the same;
  /// otherwise the cost of the query's ``ViewQuery/mayDiffer(from:to:)``, and of an answer if that
  /// is true.
  ///
  /// - Parameters:
  ///   - state: the present state.
  ///   - version: another number for each state.
  package mutating func update(_ state: Query.State, version: UInt64) -> Query.Answer? {
    guard let known else { return ask(state, version) }
    guard known.version != version else { return nil }
    guard query.mayDiffer(from: known.state, to: state) else {
      self.known = (state, version, known.answer)
      return nil
    }
    let answer = ask(state, version)
    return answer == known.answer ? nil : answer
  }

  /// Does the same with a view.
  package mutating func update<Change: Mutation>(_ view: LocalView<Change>) -> Query.Answer?
  where Change.State == Query.State { update(view.state, version: view.version) }

  private mutating func ask(_ state: Query.State, _ version: UInt64) -> Query.Answer {
    timesAsked += 1
    let answer = query.answer(in: state)
    known = (state, version, answer)
    return answer
  }
}

extension VersionedMap where Value: Equatable {
  /// Whether any key in the range was added, removed or changed. Costs as much as the difference of
  /// the maps up to the end of the range.
  @inlinable
  public func differs(from old: VersionedMap, in range: Range<Key>) -> Bool {
    differs(from: old) { $0 < range.lowerBound ? .below : $0 < range.upperBound ? .within : .above }
  }

  /// Whether any key in the range was added, removed or changed. Costs as much as the difference of
  /// the maps up to the end of the range.
  @inlinable
  package func differs(from old: VersionedMap, in range: ClosedRange<Key>) -> Bool {
    differs(from: old) {
      $0 < range.lowerBound ? .below : $0 <= range.upperBound ? .within : .above
    }
  }

  @inlinable
  func differs(from old: VersionedMap, _ place: (Key) -> PlaceInRange) -> Bool {
    var differs = false
    old.compare(with: self) { key, _, _ in
      switch place(key) {
      case .below: return true
      case .within:
        differs = true
        return false
      case .above: return false
      }
    }
    return differs
  }
}

@usableFromInline
enum PlaceInRange {
  case below, within, above
}
