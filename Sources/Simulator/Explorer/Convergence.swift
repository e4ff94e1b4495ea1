/// Checks that every calm path from a state ends settled (``ExplorableModel/isSettled(_:)``), depth
/// first. States found to converge are remembered while there is room. Calm paths soon merge, and a
/// forgotten state is only checked again.
///
/// A path that cycles for ever leads back to a state that is still being visited. A path that stops
/// reaches a state without steps. So a depth-first search finds either, if there is one (Tarjan,
/// "Depth-first search and linear graph algorithms", 1972).
@usableFromInline
struct Convergence<Model: ExplorableModel>: ~Copyable {
  /// Some fingerprints known to converge, each at the index given by its high bits. A newer
  /// fingerprint replaces an older one.
  @usableFromInline var known: [UInt64] = Array(repeating: 0, count: 1 << 12)
  /// By how many bits a fingerprint is shifted to its index.
  @usableFromInline var shift: UInt64 = 64 - 12
  /// The states being visited, each with the range of its successors in `pending`.
  @usableFromInline var trail: [Place] = []
  @usableFromInline var pending: [Model.State] = []
  /// Where it does not converge: the calm path from the state checked, without that state.
  @usableFromInline var path: [Model.State] = []

  @usableFromInline
  struct Place {
    @usableFromInline var state: Model.State
    @usableFromInline var fingerprint: UInt64
    /// `pending` before this index belongs to earlier states.
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

  /// Remembers one for every 16 states: half a byte a state.
  @inlinable
  @inline(__always)
  mutating func makeRoom(forStates states: Int64) {
    if states >> 4 > Int64(known.count) { grow() }
  }

  @inlinable
  @inline(never)
  mutating func grow() {
    shift -= 1
    var larger: [UInt64] = Array(repeating: 0, count: known.count * 2)
    for fingerprint in known where fingerprint != 0 { larger[place(of: fingerprint)] = fingerprint }
    known = larger
  }

  /// The index given by the highest bits of a fingerprint.
  @inlinable
  func place(of fingerprint: UInt64) -> Int { Int(truncatingIfNeeded: fingerprint >> shift) }

  @inlinable
  func isKnown(_ fingerprint: UInt64) -> Bool {
    fingerprint != 0 && known[place(of: fingerprint)] == fingerprint
  }

  /// Describes how an unsettled state fails to converge; `nil`: it converges.
  @inlinable
  mutating func look(at state: Model.State, _ model: Model) -> String? {
    guard enter(state, state.fingerprint, model) else { return ended(at: nil) }
    while let last = trail.last {
      guard pending.count > last.start, let next = pending.popLast() else {
        // All its paths converge.
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

  /// Visits a state; `false`: it has no steps.
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
    known[place(of: fingerprint)] = fingerprint
  }

  /// Records a path that does not converge: the trail, and the state that it returns to.
  @inlinable
  mutating func ended(at state: Model.State?) -> String {
    path = trail.dropFirst().map { $0.state }
    if let state { path.append(state) }
    trail = []
    pending = []
    return state == nil
      ? "every path continues until everything is settled"
      : "no path loops before everything is settled: the last state was there before"
  }
}
