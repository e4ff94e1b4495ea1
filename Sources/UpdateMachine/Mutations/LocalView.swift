/// The state that the app shows: the confirmed state with all pending mutations replayed over it.
///
/// It is computed from the confirmed state and the outbox, and never saved. A new mutation extends
/// it in place. A newer confirmed state, or a change in the middle of the queue, rebuilds it with
/// ``Outbox/replay(_:at:)``. The rebuilt state is a fork: it shares with the confirmed state
/// everything that pending mutations leave alone. States are values, so an old one stays readable
/// for ever.
///
/// Each outbox has its own view. A new outbox gets a new view, which goes on counting versions.
@usableFromInline
package struct LocalView<Change: Mutation>: Sendable {
  /// The state that the server has told. Pending mutations are only in ``state``.
  @usableFromInline package private(set) var confirmed: Change.State
  /// The state to show.
  package private(set) var state: Change.State
  /// Counts the changes of ``state``.
  @usableFromInline package private(set) var version: UInt64 = 0
  /// Counts the rebuilds.
  package private(set) var replays: UInt64 = 0

  private var isConfirmedNew = true
  /// The outbox's `queueVersion` at the last rebuild; 0: not rebuilt yet.
  private var queueVersion: UInt64 = 0

  /// Creates a view of a confirmed state, with nothing replayed over it.
  package init(of confirmed: Change.State) {
    self.init(of: confirmed, after: 0)
  }

  /// Creates the view that follows an earlier one of this version, so that no version is told
  /// twice.
  init(of confirmed: Change.State, after version: UInt64) {
    self.confirmed = confirmed
    state = confirmed
    self.version = version
  }

  /// Takes a newer confirmed state. It shows after the next replay.
  package mutating func confirm(_ confirmed: Change.State) {
    self.confirmed = confirmed
    isConfirmedNew = true
  }

  func isLevel(withQueue version: UInt64) -> Bool { !isConfirmedNew && queueVersion == version }

  mutating func extend(to state: Change.State) {
    self.state = state
    version += 1
  }

  mutating func replace(by state: Change.State, queueVersion: UInt64) {
    extend(to: state)
    replays += 1
    isConfirmedNew = false
    self.queueVersion = queueVersion
  }
}

extension Outbox {
  /// Brings the view up to date with its confirmed state and the pending mutations. Then goes on
  /// sending: a mutation that threw may pass now, or the other way round. Call it whenever either
  /// has changed. O(pending), whatever the size of the state; O(1) if the view is up to date.
  ///
  /// A mutation that throws has no effect, and does not hold up others: those after it are replayed
  /// without it. It is tried again over the next state. One that throws before it has left stands
  /// behind all others from then on, except those of its own object. One that is overruled leaves.
  package mutating func replay(_ view: inout LocalView<Change>, at now: Moment) -> Effects {
    var effects = Effects()
    replay(&view, at: now, &effects)
    return effects
  }

  /// Does what ``replay(_:at:)`` does, adding to the effects of earlier inputs of the same step.
  mutating func replay(
    _ view: inout LocalView<Change>, at now: Moment, _ effects: inout Effects
  ) {
    refresh(&view, &effects)
    proceed(at: now, &effects)
  }

  mutating func refresh(_ view: inout LocalView<Change>, _ effects: inout Effects) {
    guard !view.isLevel(withQueue: queueVersion) else { return }
    var state = view.confirmed
    var held: [Int] = []
    var gone: [Int] = []
    for index in queue.indices {
      replay(index, over: &state)
      guard queue[index].refusal != nil else { continue }
      if isOverruled(queue[index], behind: held) { gone.append(index) } else { held.append(index) }
    }
    if !gone.isEmpty { remove(overruled: gone, &effects) }
    if !held.isEmpty { state = moveWhatIsHeld(over: view.confirmed, state, &effects) }
    hasThrown = !held.isEmpty
    view.replace(by: state, queueVersion: queueVersion)
    replayedVersion = queueVersion
  }

  /// What the pending mutations make of another confirmed state. Those that threw in the last
  /// replay, and those that throw here, are left out. Nothing is noted. O(pending).
  func replayed(over confirmed: Change.State) -> Change.State {
    var state = confirmed
    for pending in queue where pending.refusal == nil {
      var fork = state
      do throws(Change.Refusal) {
        _ = try pending.change.apply(to: &fork)
        state = fork
      } catch {
        continue
      }
    }
    return state
  }

  private mutating func replay(_ index: Int, over state: inout Change.State) {
    if let undone = queue[index].takesBack,
      let refusal = queue[..<index].first(where: { $0.tickets.contains(undone) })?.refusal
    {
      queue[index].refusal = refusal  // There is nothing to undo.
      return
    }
    var fork = state
    do throws(Change.Refusal) {
      _ = try queue[index].change.apply(to: &fork)
      state = fork
      if queue[index].refusal != nil { queue[index].refusal = nil }
    } catch {
      queue[index].refusal = error
    }
  }

  // MARK: What is overruled

  /// Whether the confirmed state overrules a mutation that threw. An earlier one that is set aside
  /// may be what it lacks, so it waits for the decision about that. If the server counts IDs, one
  /// that may have left keeps its ID, and the server decides about it.
  private func isOverruled(_ pending: Pending, behind held: [Int]) -> Bool {
    guard let refusal = pending.refusal, pending.change.isOverruled(by: refusal),
      !countsIDs || hasNeverLeft(pending)
    else { return false }
    return !refused.contains { pending.change.mayDepend(on: $0.change) }
      && !held.contains { pending.change.mayDepend(on: queue[$0].change) }
  }

  private mutating func remove(overruled indices: [Int], _ effects: inout Effects) {
    if let first = indices.first(where: { hasNeverLeft(queue[$0]) }) { unmark(from: first) }
    let tickets = indices.map { queue[$0].tickets }
    for index in indices.reversed() { size -= queue.remove(at: index).change.boundedSize }
    for tickets in tickets { noteOverruled(tickets) }
    forgetOldest()
    changed()
    persist(&effects)
  }

  // MARK: What threw and has never left

  /// Moves mutations that threw and have never left, and those of the same objects behind them,
  /// behind all others. There they are replayed, and one that passes now goes ahead of those that
  /// do not. Returns the state that all of it leads to.
  private mutating func moveWhatIsHeld(
    over confirmed: Change.State, _ state: Change.State, _ effects: inout Effects
  ) -> Change.State {
    var state = state
    for _ in queue.indices {
      let held = heldBack
      guard let first = held.first, first + held.count < queue.count else { break }
      let moved = held.map { queue[$0] }
      unmark(from: first)
      changed()
      persist(&effects)
      for index in held.reversed() { queue.remove(at: index) }
      for var pending in moved {
        pending.stage = .unsent
        pending.rank = nextRank
        pending.version = version
        queue.append(pending)
      }
      state = confirmed
      for index in queue.indices { replay(index, over: &state) }
    }
    return state
  }

  /// The places of mutations that cannot be sent yet: those that threw and have never left, and
  /// later ones of the same objects.
  private var heldBack: [Int] {
    var held: [Int] = []
    for index in queue.indices where hasNeverLeft(queue[index]) {
      let object = queue[index].change.object
      if queue[index].refusal != nil
        || object != nil && held.contains(where: { queue[$0].change.object == object })
      {
        held.append(index)
      }
    }
    return held
  }
}

extension Mutation {
  /// Whether it may need what another one does: they may be about the same thing.
  func mayDepend(on other: Self) -> Bool {
    guard let object, let otherObject = other.object else { return true }
    return object == otherObject
  }
}
