/// What the app shows: the confirmed state with all that is pending replayed over it.
///
/// It is made from the confirmed state and the outbox, and saved nowhere. A mutation of the app
/// extends it where it is; a new confirmed state, or a change in the middle of the queue, has it made
/// anew by ``Outbox/replay(_:at:)``, in a fork that shares with the confirmed state all that the
/// pending mutations leave alone. States are values: whoever keeps an old one can read it for ever.
///
/// One view belongs to one outbox, and is made anew with it; its versions go on.
public struct LocalView<Change: Mutation>: Sendable {
  /// What the server has said. What is pending is in ``state`` only.
  public private(set) var confirmed: Change.State
  /// What there is to show.
  public private(set) var state: Change.State
  /// Counts up whenever ``state`` is another.
  public private(set) var version: UInt64 = 0
  /// How often it was made anew.
  public private(set) var replays: UInt64 = 0

  private var isConfirmedNew = true
  /// What of the outbox it was last made from; 0: nothing.
  private var queueVersion: UInt64 = 0

  /// Nothing has been replayed over it yet.
  public init(of confirmed: Change.State) {
    self.init(of: confirmed, after: 0)
  }

  /// The same, after an earlier one with this version: no version is told twice.
  init(of confirmed: Change.State, after version: UInt64) {
    self.confirmed = confirmed
    state = confirmed
    self.version = version
  }

  /// There is a newer confirmed state. It shows with the next replay.
  public mutating func confirm(_ confirmed: Change.State) {
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
  /// Makes the view level with its confirmed state and with what is pending, if it is not, and goes
  /// on with the sending: what threw may not throw any more, or the other way round. Called whenever
  /// either has changed. O(pending), whatever the size of the state; O(1) if the view is level.
  ///
  /// A mutation that throws has no effect, and stops nobody: those after it are replayed without it,
  /// and it is tried again with the next state.
  public mutating func replay(_ view: inout LocalView<Change>, at now: Moment) -> Effects {
    var effects = Effects()
    replay(&view, at: now, &effects)
    return effects
  }

  /// As ``replay(_:at:)``, behind what an earlier input of the same step has led to.
  mutating func replay(
    _ view: inout LocalView<Change>, at now: Moment, _ effects: inout Effects
  ) {
    refresh(&view)
    proceed(at: now, &effects)
  }

  mutating func refresh(_ view: inout LocalView<Change>) {
    guard !view.isLevel(withQueue: queueVersion) else { return }
    var state = view.confirmed
    for index in queue.indices {
      var fork = state
      do throws(Change.Refusal) {
        _ = try queue[index].change.apply(to: &fork)
        state = fork
        if queue[index].refusal != nil { queue[index].refusal = nil }
      } catch {
        queue[index].refusal = error
      }
    }
    view.replace(by: state, queueVersion: queueVersion)
    replayedVersion = queueVersion
  }
}
