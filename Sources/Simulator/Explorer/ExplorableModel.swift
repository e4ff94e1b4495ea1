public import UpdateMachine

/// A small world whose states can all be visited: its initial states, its steps, and what must hold
/// in every state.
///
/// A model is a value that holds only its parameters. Its states are packed into a few bits,
/// because there are millions of them. ``Explorer`` asks for the successors of each state once, and
/// a second time for a counterexample. Both answers must be equal, in the same order.
///
/// Mark the conformance `@inlinable` if it is explored from another module: every call here is on
/// the hot path.
public protocol ExplorableModel<State, Step> {
  /// A whole state, packed.
  associatedtype State: PackedState
  /// A step between two states, with details for the reader of a counterexample. Created on the hot
  /// path: an enumeration without strings costs nothing.
  associatedtype Step

  /// The states to start from. A state that is listed twice counts twice as generated.
  var initialStates: [State] { get }

  /// Visits the result of every enabled step. A state that two steps lead to is visited twice, and
  /// so is a step back to `state`: TLC counts both as generated.
  func forEachSuccessor(of state: State, _ visit: (_ step: Step, _ next: State) -> Void)

  /// Describes what does not hold in this state; `nil`: everything holds.
  func violation(of state: State) -> String?

  /// Describes the state on one line.
  func description(of state: State) -> String

  /// Describes the step on one line.
  func description(ofStep step: Step) -> String

  /// What a step reaches that is worth counting, one bit each. ``Exploration/coverage`` is the
  /// union. A model without it has none.
  func coverage(of step: Step) -> UInt64

  /// Whether a liveness goal is reached. From every state every path of calm steps must lead to
  /// such a state: none may stop earlier or cycle for ever. A model without it claims nothing.
  func isSettled(_ state: State) -> Bool

  /// Visits the results of the steps that remain once no more faults occur. Each of them is also
  /// one of ``forEachSuccessor(of:_:)``.
  func forEachCalmSuccessor(of state: State, _ visit: (_ step: Step, _ next: State) -> Void)
}

extension ExplorableModel {
  @inlinable
  public func coverage(of step: Step) -> UInt64 { 0 }

  @inlinable
  public func isSettled(_ state: State) -> Bool { true }

  @inlinable
  public func forEachCalmSuccessor(
    of state: State, _ visit: (_ step: Step, _ next: State) -> Void
  ) {}
}

/// A state as a few bits without references.
public protocol PackedState: BitwiseCopyable, Equatable, Sendable {
  /// All that ``Explorer`` remembers of a state. Equal states have equal fingerprints. Every bit
  /// should depend on every bit of the state, because the high bits choose the slot in a table.
  var fingerprint: UInt64 { get }

  /// Whether different states always have different fingerprints, so that no state is missed.
  static var hasExactFingerprint: Bool { get }
}

extension UInt64: PackedState {
  /// ``StateDigest/mixed(_:)`` is a bijection.
  @inlinable public var fingerprint: UInt64 { StateDigest.mixed(self) }
  @inlinable public static var hasExactFingerprint: Bool { true }
}

extension UInt32: PackedState {
  @inlinable public var fingerprint: UInt64 { StateDigest.mixed(UInt64(self)) }
  @inlinable public static var hasExactFingerprint: Bool { true }
}

extension UInt128: PackedState {
  @inlinable public var fingerprint: UInt64 {
    var digest = StateDigest()
    digest.fold(UInt64(truncatingIfNeeded: self))
    digest.fold(UInt64(truncatingIfNeeded: self >> 64))
    return digest.value
  }
  @inlinable public static var hasExactFingerprint: Bool { false }
}
