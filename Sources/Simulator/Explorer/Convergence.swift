/// Looks whether every calm way from a state ends settled (``ExplorableModel/isSettled(_:)``): depth
/// first. What was found to converge is remembered, as much of it as there is room for: calm ways
/// soon run together, and what is forgotten is only looked at again.
///
/// A state from which a way goes round for ever, or stops, is one that a step leads back to while it
/// is still looked at, or one without steps. So a search in depth finds either if there is one
/// (Tarjan, "Depth-first search and linear graph algorithms", 1972).
@usableFromInline
struct Convergence<Model: ExplorableModel>: ~Copyable {
  /// Some of the fingerprints that are known to converge, each in the place that its high bits name;
  /// empty until there is one. A place that is wanted again goes to who came last.
  @usableFromInline var known: [UInt64] = []
  /// The states that are looked at, each with where its successors stand in `pending`.
  @usableFromInline var trail: [Place] = []
  @usableFromInline var pending: [Model.State] = []
  /// Where it does not converge: the calm way from the state looked at, without it.
  @usableFromInline var path: [Model.State] = []

  @usableFromInline
  struct Place {
    @usableFromInline var state: Model.State
    @usableFromInline var fingerprint: UInt64
    /// Before this one `pending` belongs to the states before.
    @usableFromInline var start: Int

    @inlinable
    init(_ state: Model.State, _ fingerprint: UInt64, start: Int) {
      self.state = state
      self.fingerprint = fingerprint
      self.start = start
    }
  }

  @inlinable
  init() {}

  @inlinable
  var bytes: UInt64 { UInt64(known.capacity) * 8 }

  /// As many as fit into a megabyte.
  @inlinable static var places: Int { 1 << 17 }

  /// The place that the highest bits of a fingerprint name.
  @inlinable
  static func place(of fingerprint: UInt64) -> Int {
    Int(truncatingIfNeeded: fingerprint >> 47)
  }

  @inlinable
  func isKnown(_ fingerprint: UInt64) -> Bool {
    fingerprint != 0 && !known.isEmpty
      && known[Convergence.place(of: fingerprint)] == fingerprint
  }

  /// How it does not converge from a state that is not settled; `nil`: it does.
  @inlinable
  mutating func look(at state: Model.State, _ model: Model) -> String? {
    guard enter(state, state.fingerprint, model) else { return ended(at: nil) }
    while let last = trail.last {
      guard pending.count > last.start, let next = pending.popLast() else {
        // All its ways lead to where it converges.
        remember(last.fingerprint)
        trail.removeLast()
        continue
      }
      let fingerprint = next.fingerprint
      if isKnown(fingerprint) || model.isSettled(next) { continue }
      if trail.contains(where: { $0.fingerprint == fingerprint && $0.state == next }) {
        return ended(at: next)
      }
      guard enter(next, fingerprint, model) else { return ended(at: nil) }
    }
    return nil
  }

  /// Goes on to a state; `false`: nothing leads on from it.
  @inlinable
  mutating func enter(_ state: Model.State, _ fingerprint: UInt64, _ model: Model) -> Bool {
    if isKnown(fingerprint) { return true }
    trail.append(Place(state, fingerprint, start: pending.count))
    let start = pending.count
    var found = pending
    pending = []
    model.forEachCalmSuccessor(of: state) { _, next in found.append(next) }
    pending = found
    return pending.count > start
  }

  @inlinable
  mutating func remember(_ fingerprint: UInt64) {
    if known.isEmpty { known = Array(repeating: 0, count: Convergence.places) }
    known[Convergence.place(of: fingerprint)] = fingerprint
  }

  /// The search has found a way that does not converge: the trail, and the state that it comes back
  /// to.
  @inlinable
  mutating func ended(at state: Model.State?) -> String {
    path = trail.dropFirst().map { $0.state }
    if let state { path.append(state) }
    trail = []
    pending = []
    return state == nil
      ? "something goes on until everything is settled"
      : "no way goes round for ever before everything is settled: the last state was there before"
  }
}
