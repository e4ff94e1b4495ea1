// What to do where somebody else has changed what a pending mutation changes. Replay is the default:
// the mutator runs again, sees what is there now, and decides. These are for mutators that set a
// field, and have nothing cleverer to say.

/// One field that the user set, and what it was when they did.
///
///     func apply(to note: inout Note) throws(Conflict<String>) {
///       note.title = try title.resolved(over: note.title, .ask)
///     }
public struct FieldEdit<Value: Equatable & Sendable>: Sendable {
  /// What the user saw.
  public var base: Value
  /// What the user wants.
  public var new: Value

  @inlinable
  public init(from base: Value, to new: Value) {
    self.base = base
    self.new = new
  }

  /// What the field is after the edit, where it is `current` now.
  @inlinable
  public func resolved(
    over current: Value, _ policy: ConflictPolicy
  ) throws(Conflict<Value>) -> Value {
    switch policy {
    case .clientWins: return new
    case .serverOnly: return current
    case .firstWriterWins: return current == base ? new : current
    case .ask:
      guard current == base || current == new else {
        throw Conflict(base: base, current: current, new: new)
      }
      return new
    }
  }
}

/// Who wins a field that two have set.
public enum ConflictPolicy: Hashable, Sendable {
  /// The user does, in the fields that they set and in no others. As the server runs mutations in
  /// the order in which they come, so the last to come wins.
  case clientWins
  /// Whoever came before us: our edit counts only if the field is still what the user saw.
  case firstWriterWins
  /// The server decides alone: nothing shows before the confirmed state has it.
  case serverOnly
  /// The app's user decides: the mutation throws, and so is set aside, until it is edited or
  /// discarded.
  case ask
}

/// Somebody else has set the field to another value meanwhile.
public struct Conflict<Value: Equatable & Sendable>: Error, Equatable {
  public var base: Value
  public var current: Value
  public var new: Value

  @inlinable
  public init(base: Value, current: Value, new: Value) {
    self.base = base
    self.current = current
    self.new = new
  }
}

/// A value and when it was set, for the policy that the last writer wins by the clock, whoever comes
/// first. As honest as the writers' clocks are.
public struct StampedValue<Value: Sendable>: Sendable {
  public var value: Value
  /// Wall time in milliseconds, an argument of the mutation: read once, by the app.
  public var writtenAt: Int64
  /// Decides between two of the same time, so that all replicas agree.
  public var writer: UInt64

  @inlinable
  public init(_ value: Value, writtenAt: Int64, writer: UInt64) {
    self.value = value
    self.writtenAt = writtenAt
    self.writer = writer
  }

  /// The later of the two. In any order, and however often, it comes out the same.
  @inlinable
  public func merged(with other: StampedValue) -> StampedValue {
    (writtenAt, writer) < (other.writtenAt, other.writer) ? other : self
  }
}

extension StampedValue: Equatable where Value: Equatable {}
