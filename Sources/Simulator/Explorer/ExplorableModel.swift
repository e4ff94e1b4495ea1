public import UpdateMachine

/// A small world of which every state can be visited: where it begins, what may happen next, and
/// what must hold in every state.
///
/// A model is a value that holds only its parameters. Its states are packed into a few bits, because
/// there are millions of them. ``Explorer`` asks for the successors of each state once, or twice if
/// it has to tell a counterexample; both times the answer must be the same, in the same order.
///
/// Mark the conformance `@inlinable` if it is explored from another module: every call here is on
/// the hot path.
public protocol ExplorableModel {
  /// A whole state, packed.
  associatedtype State: PackedState
  /// What leads from one state to the next, with whatever a reader of a counterexample wants to
  /// know. Made and dropped on the hot path: an enumeration without strings costs nothing.
  associatedtype Step

  /// Where it begins. One given twice counts twice as generated.
  var initialStates: [State] { get }

  /// Visits what every enabled step leads to. A state that two steps lead to is visited twice, and
  /// a step that leads back to `state` is visited too: TLC counts both as generated.
  func forEachSuccessor(of state: State, _ visit: (_ step: Step, _ next: State) -> Void)

  /// What does not hold in this state, in words; `nil`: everything holds.
  func violation(of state: State) -> String?

  /// The state, on one line.
  func description(of state: State) -> String

  /// The step, on one line.
  func description(ofStep step: Step) -> String

  /// What a step reaches that is worth counting, a bit each: all of them together are
  /// ``Exploration/coverage``. A model without it has none.
  func coverage(of step: Step) -> UInt64

  /// Whether what must come in the end has come. From every state every way of calm steps must lead
  /// to such a state: none may stop before, or go round for ever. A model without it claims nothing.
  func isSettled(_ state: State) -> Bool

  /// Visits what the steps lead to that are left once nothing goes wrong any more. Each of them is
  /// one of ``forEachSuccessor(of:_:)``, too.
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
  /// All that ``Explorer`` remembers of a state. Equal states have equal fingerprints; and every
  /// bit should hang on every bit of the state, because the high bits choose the place in a table.
  var fingerprint: UInt64 { get }

  /// Whether different states always have different fingerprints, so that nothing can be missed.
  static var hasExactFingerprint: Bool { get }
}

extension UInt64: PackedState {
  /// ``Digest/mixed(_:)`` is a bijection.
  @inlinable public var fingerprint: UInt64 { Digest.mixed(self) }
  @inlinable public static var hasExactFingerprint: Bool { true }
}

extension UInt32: PackedState {
  @inlinable public var fingerprint: UInt64 { Digest.mixed(UInt64(self)) }
  @inlinable public static var hasExactFingerprint: Bool { true }
}

extension UInt128: PackedState {
  @inlinable public var fingerprint: UInt64 {
    var digest = Digest()
    digest.fold(UInt64(truncatingIfNeeded: self))
    digest.fold(UInt64(truncatingIfNeeded: self >> 64))
    return digest.value
  }
  @inlinable public static var hasExactFingerprint: Bool { false }
}
