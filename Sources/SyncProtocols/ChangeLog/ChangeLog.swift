// ChangeLog: the room of the protocol that most servers have already: a table of changes, each with
// a number. Client half and server half, as plain values. The protocol is ours.
//
// ChangeLog may use: Server.

public import UpdateMachine

/// The client half: how the answer to a poll follows on a place in a log of numbered changes.
///
/// A client gets a snapshot and the number of the last change in it. From then on it asks for the
/// changes after a number. Numbers ascend. They may have holes, for example where a transaction was
/// rolled back. So a client cannot see from the numbers whether one is missing: each answer says
/// from where to where it is complete (``ChangeLogBatch``).
///
///     place 41   ── asks for what comes after 41 ──▶   42, 44: all from 41 through 45   ──▶  45
///
/// If the server has lost changes, or was restored from a backup, it begins a new *epoch*.
/// <doc:UsingChangeLog> shows how to use all this, and what the server must do.
public enum ChangeLog<Event: Sendable>: SyncProtocol {
  public typealias Place = ChangeLogPlace
  public typealias Batch = ChangeLogBatch<Event>

  /// Takes the changes above the place. A batch that begins above the place would leave out
  /// changes, so it is a gap. So is one of another epoch, or with a change out of its range.
  ///
  /// An answer that ends below the place is a repeat of an older one. It does not say whether there
  /// is anything after the place, so it does not count as up to date.
  @inlinable
  public static func advance(
    _ place: ChangeLogPlace, over batch: ChangeLogBatch<Event>
  ) -> SyncAdvance<ChangeLogPlace> {
    guard batch.epoch == place.epoch, batch.after <= place.number, batch.after <= batch.through
    else { return .gap }
    var last = batch.after
    var first = batch.changes.count
    for index in batch.changes.indices {
      let number = batch.changes[index].number
      guard last < number, number <= batch.through else { return .gap }
      last = number
      if number > place.number { first = min(first, index) }
    }
    if batch.through > place.number {
      let next = ChangeLogPlace(epoch: place.epoch, number: batch.through)
      return .next(next, first: first, isComplete: !batch.hasMore)
    }
    return batch.through == place.number && !batch.hasMore ? .seen : .incomplete
  }
}

/// The name of a log. A server that has lost changes must begin another epoch, because it would
/// give their numbers to other changes.
///
/// A UUID is a good name. It needs no escapes in a URL.
public struct ChangeLogEpoch: Hashable, Sendable {
  /// The name as the server spells it.
  public var text: String

  /// Creates an epoch from the server's own text, unchanged.
  @inlinable
  public init(_ text: String) { self.text = text }
}

/// The client's place in a log of changes.
public struct ChangeLogPlace: Finger, Hashable {
  /// The log.
  public var epoch: ChangeLogEpoch
  /// The number up to which every change was applied; 0 before the first, if numbers begin at 1.
  public var number: Int64

  /// Creates a place after the change with this number.
  @inlinable
  public init(epoch: ChangeLogEpoch, number: Int64) {
    self.epoch = epoch
    self.number = number
  }

  @inlinable
  public var log: ChangeLogEpoch { epoch }
}

/// A change with its number in a log.
public struct LoggedChange<Event: Sendable>: Sendable {
  /// Its number. Each change has a greater one than those before it.
  public var number: Int64
  /// `nil`: nothing for a model, as in a change of a type that this client does not know.
  public var event: Event?

  /// Creates a change with its number; `nil` is nothing for a model.
  @inlinable
  public init(number: Int64, event: Event?) {
    self.number = number
    self.event = event
  }
}

/// The answer to a poll: every change in a range of numbers.
///
/// As JSON, if the event is `Codable`:
///
///     {"epoch": "5e1b", "after": 41, "through": 45, "hasMore": false,
///      "changes": [{"number": 42, "event": …}, {"number": 44, "event": …}]}
///
/// All fields must be there. An event may be `null`.
public struct ChangeLogBatch<Event: Sendable>: EventBatch {
  /// The log that was read.
  public var epoch: ChangeLogEpoch
  /// The number that the client asked after, as the server has understood it. It may be lower.
  public var after: Int64
  /// The number up to which nothing is missing. Not below ``after``.
  public var through: Int64
  /// Whether the server has changes beyond ``through``.
  public var hasMore: Bool
  /// Every change with a number above ``after``, up to ``through``. Ascending, with holes.
  public var changes: [LoggedChange<Event>]

  /// Creates an answer. One that does not keep what its properties promise is a gap: the client
  /// begins with a new snapshot.
  ///
  /// - Parameters:
  ///   - epoch: the log that was read.
  ///   - after: the number after which it was read, exclusive.
  ///   - through: the number up to which it was read, inclusive. If this is all, it is the latest
  ///     number that the server has given, read in the same transaction as the changes. It is not
  ///     copied from the request: then a server that has lost changes is noticed.
  ///   - hasMore: whether there are changes beyond `through`, as on the first page of many.
  ///   - changes: every change from there to there, ascending.
  @inlinable
  public init(
    epoch: ChangeLogEpoch, after: Int64, through: Int64, hasMore: Bool,
    changes: [LoggedChange<Event>]
  ) {
    self.epoch = epoch
    self.after = after
    self.through = through
    self.hasMore = hasMore
    self.changes = changes
  }

  @inlinable
  public var count: Int { changes.count }

  @inlinable
  public func event(at index: Int) -> Event? { changes[index].event }
}

/// The answer to a register: a state, and the number of the last change in it.
///
/// As JSON, if the state is `Codable`: `{"epoch": "5e1b", "number": 41, "state": …}`.
public struct ChangeLogSnapshot<State: Sendable>: Sendable {
  /// The log.
  public var epoch: ChangeLogEpoch
  /// The number of the last change in the state; no later one is in it.
  public var number: Int64
  /// What the model is made from.
  public var state: State

  /// Creates an answer. State and number must be of one moment.
  @inlinable
  public init(epoch: ChangeLogEpoch, number: Int64, state: State) {
    self.epoch = epoch
    self.number = number
    self.state = state
  }
}

extension LoggedChange: Equatable where Event: Equatable {}
extension ChangeLogBatch: Equatable where Event: Equatable {}
extension ChangeLogSnapshot: Equatable where State: Equatable {}

extension ChangeLogEpoch: CustomStringConvertible {
  public var description: String { text }
}

extension ChangeLogPlace: CustomStringConvertible {
  /// "5e1b:41".
  public var description: String { "\(epoch):\(number)" }
}

#if !hasFeature(Embedded)
  extension ChangeLogSnapshot {
    /// Returns what a source's `register(as:)` returns: the state, and the place that it leads to.
    ///
    /// - Parameter terms: how long the server holds a poll open, and how long it keeps a change.
    public func registered(terms: ServerTerms) -> Registered<State, ChangeLogPlace> {
      Registered(
        snapshot: state, finger: ChangeLogPlace(epoch: epoch, number: number), terms: terms)
    }
  }

  // JSON

  extension ChangeLogSnapshot: Decodable where State: Decodable {}
  extension ChangeLogSnapshot: Encodable where State: Encodable {}
  extension ChangeLogBatch: Decodable where Event: Decodable {}
  extension ChangeLogBatch: Encodable where Event: Encodable {}

  extension ChangeLogEpoch: Codable {
    public init(from decoder: any Decoder) throws {
      self.init(try decoder.singleValueContainer().decode(String.self))
    }

    public func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(text)
    }
  }

  /// The names of a change's fields in JSON.
  private enum ChangeKey: String, CodingKey {
    case number
    case event
  }

  extension LoggedChange: Decodable where Event: Decodable {
    /// A change without an event is refused: it could be lost by a mistake. `null` is nothing for a
    /// model.
    public init(from decoder: any Decoder) throws {
      let fields = try decoder.container(keyedBy: ChangeKey.self)
      number = try fields.decode(Int64.self, forKey: .number)
      event = try fields.decode(Event?.self, forKey: .event)
    }
  }

  extension LoggedChange: Encodable where Event: Encodable {
    public func encode(to encoder: any Encoder) throws {
      var fields = encoder.container(keyedBy: ChangeKey.self)
      try fields.encode(number, forKey: .number)
      try fields.encode(event, forKey: .event)
    }
  }
#endif
