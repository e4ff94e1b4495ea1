public import UpdateMachine

/// Why a client refuses an answer. It keeps its state, and reads the stream anew, slowly.
public enum StreamRefusal: Error, Hashable, Sendable {
  /// Two different events came under this sequence. An event must never change.
  case contradiction(StreamSequence)
  /// The event says that its maker had seen a later one, or this cannot be a sequence.
  case impossible(StreamSequence)
}

/// A client's confirmed state: the events that it holds, by sequence, and the state that the first
/// of them make, up to the first hole. Those beyond it are held, and not shown.
public struct StreamModel: SyncModel, Equatable {
  /// What the events up to the first hole make. Without the user's pending changes.
  public private(set) var state: StreamState
  /// All events that are held, also those beyond a hole: the history of the objects.
  public private(set) var events = VersionedMap<StreamSequence, StreamEvent>()
  /// The sequences of events that concern none of our objects.
  package private(set) var others = Knowledge<StreamSequence>()

  /// An empty stream, so that a user can make changes before the first answer. Nobody has seen it,
  /// so no law is needed yet.
  public static var beginning: StreamModel? {
    StreamModel(StreamState(client: .nameless, law: .firstWriterWins))
  }

  private init(_ state: StreamState) { self.state = state }

  public init(snapshot: StreamSnapshot) throws(StreamRefusal) {
    try self.init(snapshot: snapshot, replacing: nil)
  }

  /// Creates the model of a client that reads the stream anew. It still counts as having seen what
  /// it had seen: otherwise its next change could be ordered before its own older ones. But a
  /// stream that ends before what was seen is another stream.
  public init(snapshot: StreamSnapshot, replacing old: StreamModel?) throws(StreamRefusal) {
    var seen = snapshot.seen
    if let old, old.state.client == snapshot.client, old.state.seen <= snapshot.batch.latest {
      seen = max(seen, old.state.seen)
    }
    self.init(
      StreamState(
        client: snapshot.client, law: snapshot.law, scope: snapshot.scope, seenBefore: seen))
    for step in snapshot.batch.steps { try apply(step) }
  }

  public mutating func apply(_ step: StreamStep) throws(StreamRefusal) {
    let interval = step.interval
    guard step.isPossible else { throw .impossible(StreamSequence(interval.low)) }
    switch step {
    case .event(let event):
      if let old = events[event.sequence] {
        guard old == event else { throw .contradiction(event.sequence) }
        return
      }
      guard !others.contains(event.sequence) else { throw .contradiction(event.sequence) }
      events[event.sequence] = event
    case .others:
      let first = StreamSequence(interval.low)
      if let event = events.first(from: first)?.key, event.number <= interval.high {
        throw .contradiction(event)
      }
      others.insert(interval)
    }
    show()
  }

  /// Shows all up to the first hole.
  private mutating func show() {
    while true {
      let next = state.latest.next
      if let event = events[next] {
        state.add(event.change, by: event.client, at: next)
        state.latest = next
      } else if let interval = others.interval(holding: .id(next)) {
        state.latest = StreamSequence(interval.high)
      } else {
        return
      }
    }
  }

  // MARK: The user's changes

  public typealias Change = StreamChange

  public var client: ClientID? { state.client }

  /// Nothing: the server counts no changes. A change is acknowledged by its event, or by a later
  /// answer.
  public var confirmation: MutationConfirmation { MutationConfirmation(last: .none) }

  public static var delivery: MutationDelivery { .atLeastOnce }

  /// An event of ours, once it is shown.
  public func echo(in step: StreamStep) -> MutationTicket? {
    guard case .event(let event) = step, event.client == state.client,
      event.sequence <= state.latest
    else { return nil }
    return event.ticket
  }

  /// Whether the law drops it.
  public func overrules(_ change: StreamChange) -> Bool { state.hasDropped(change.id) }
}

// MARK: The saved form: a row for each event, and the head

extension StoredTable {
  /// One row for each event.
  fileprivate static var events: StoredTable { .firstOfModel }
  /// One row: all but the events.
  fileprivate static var streamHead: StoredTable { .firstOfModel.advanced(by: 1) }
}

private struct StreamHead: Storable, Equatable {
  let client: ClientID
  let law: StreamConflictLaw
  let scope: [ViewKey]?
  let seenBefore: StreamSequence
  let others: Knowledge<StreamSequence>

  init(_ model: StreamModel) {
    client = model.state.client
    law = model.state.fold.law
    scope = model.state.scope
    seenBefore = model.state.seenBefore
    others = model.others
  }

  func put(into bytes: inout ByteWriter) {
    bytes.put(client.number)
    bytes.put(law.rawValue)
    bytes.put(scope)
    bytes.put(others)
    bytes.put(seenBefore)
  }

  init(from bytes: inout ByteReader) throws(StoredFormError) {
    client = ClientID(try bytes.takeUInt64())
    guard let law = StreamConflictLaw(rawValue: try bytes.takeByte()) else {
      throw StoredFormError(expected: "a conflict law")
    }
    self.law = law
    scope = try bytes.takeOptional()
    others = try bytes.take()
    // The version before did not write it.
    seenBefore = bytes.left > 0 ? try bytes.take() : .none
  }
}

extension StreamModel: StorableModel {
  public func store(since old: StreamModel?, into rows: inout RowWriter) {
    rows.put(.events, events, since: old?.events)
    rows.put(.streamHead, StreamHead(self), since: old.map(StreamHead.init))
  }

  /// Folds the events again. O(n log n).
  public init(stored rows: RowReader) throws(StoredFormError) {
    let found: StreamHead? = try rows.value(of: .streamHead)
    guard let head = found else { throw StoredFormError(expected: "the head of a stream") }
    self.init(
      StreamState(
        client: head.client, law: head.law, scope: head.scope, seenBefore: head.seenBefore))
    let events: VersionedMap<StreamSequence, StreamEvent> = try rows.map(of: .events)
    do throws(StreamRefusal) {
      for interval in head.others.intervals {
        try apply(.others(StreamSequence(interval.low), through: StreamSequence(interval.high)))
      }
      for (sequence, event) in events {
        guard event.sequence == sequence else { throw .impossible(sequence) }
        try apply(.event(event))
      }
    } catch {
      throw StoredFormError(expected: "events of a stream")
    }
  }
}

extension StreamPlace: Storable {
  public func put(into bytes: inout ByteWriter) {
    bytes.put(stream.number)
    bytes.put(held)
    bytes.put(latest)
    bytes.put(scope)
  }

  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    stream = StreamID(try bytes.takeUInt64())
    held = try bytes.take()
    latest = try bytes.take()
    scope = try bytes.takeOptional()
  }
}
