// Policies for a field that another client has changed while our mutation is pending. Replay is the
// default: the mutator runs again, sees what is there now, and decides. These policies are for
// mutators that only set a field.

/// The user's edit of one field, with the value that the user saw before.
///
///     func apply(to note: inout Note) throws(Conflict<String>) {
///       note.title = try title.resolved(over: note.title, .ask)
///     }
public struct FieldEdit<Value: Equatable & Sendable>: Sendable {
  /// The value that the user saw.
  public var base: Value
  /// The value that the user wants.
  public var new: Value

  /// Creates an edit of a field in which the user saw `base` and wants `new`.
  @inlinable
  public init(from base: Value, to new: Value) {
    self.base = base
    self.new = new
  }

  /// Returns the field's value after the edit, if it is `current` now.
  @inlinable
  public func resolved(
    over current: Value, _ policy: ConflictPolicy
  ) throws(EditConflict<Value>) -> Value {
    switch policy {
    case .clientWins: return new
    case .serverOnly: return current
    case .firstWriterWins: return current == base ? new : current
    case .ask:
      guard current == base || current == new else {
        throw EditConflict(base: base, current: current, new: new)
      }
      return new
    }
  }
}

/// The winner of a field that two clients have set.
public enum ConflictPolicy: Hashable, Sendable {
  /// Our user wins, in the fields that they set and in no others. The server runs mutations in the
  /// order in which they arrive, so the last to arrive wins.
  case clientWins
  /// The earlier writer wins: our edit counts only if the field is still what our user saw.
  case firstWriterWins
  /// The server wins: nothing shows before the confirmed state has it.
  case serverOnly
  /// The app's user decides. The mutation throws and is set aside, until it is edited or discarded.
  case ask
}

/// The error of ``ConflictPolicy/ask``: the field has been set to a third value meanwhile.
public struct EditConflict<Value: Equatable & Sendable>: Error, Equatable {
  /// The value that the user saw before the edit.
  public var base: Value
  /// The field's value now: neither ``base`` nor ``new``.
  public var current: Value
  /// The value that the user wants.
  public var new: Value

  @inlinable
  package init(base: Value, current: Value, new: Value) {
    self.base = base
    self.current = current
    self.new = new
  }
}

/// A value with its time of writing, for a policy in which the last writer by the clock wins,
/// whatever the order of arrival. It is only as good as the writers' clocks.
public struct StampedValue<Value: Sendable>: Sendable {
  /// What was written.
  public var value: Value
  /// Wall time in milliseconds. An argument of the mutation, read once by the app.
  public var writtenAt: Int64
  /// Breaks ties between equal times, so that all replicas agree.
  public var writer: UInt64

  /// Creates a value with its time in milliseconds, and the writer's number.
  @inlinable
  public init(_ value: Value, writtenAt: Int64, writer: UInt64) {
    self.value = value
    self.writtenAt = writtenAt
    self.writer = writer
  }

  /// Returns the later of the two, or this one if time and writer are equal. If no writer gives two
  /// values the same time, merging in any order, and however often, gives the same result.
  @inlinable
  public func merged(with other: StampedValue) -> StampedValue {
    (writtenAt, writer) < (other.writtenAt, other.writer) ? other : self
  }
}

extension StampedValue: Equatable where Value: Equatable {}
