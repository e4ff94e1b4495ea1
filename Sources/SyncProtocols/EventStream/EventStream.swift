public import UpdateMachine

// EventStream: the room of a stream of events that only grows, client half and server half, as
// plain values. It follows the rules of the article series that Layer's engineers wrote about their
// chat service. Comments say which rules are ours.
//
// EventStream may use: ClientView, JSON, Server.

/// The client half: how the answer to a read follows on a place in the stream.
///
/// The server gives each event the next *sequence*, from 0 on, and never changes it. So a client
/// that is told the latest sequence knows which events it lacks: the *holes* in what it holds. It
/// asks for these by their sequences. A server whose replicas lag may not find all of them yet, so
/// the client asks again. It is up to date when it holds everything up to the latest sequence.
///
///     held 0…9, then 15…19 came live   ── asks for 10…14 ──▶  up to date: 0…19
///
/// Events beyond a hole may depend on those in it. So they are held, and not shown
/// (``StreamModel``).
/// <doc:UsingEventStream> shows how to use all this.
public enum EventStream: SyncProtocol {
  public typealias Place = StreamPlace
  public typealias Batch = StreamBatch

  /// Events may come in any order of batches, but ascend within one. A repeat is passed on to the
  /// model. Only the model holds the events, so only it can tell a repeat from a contradiction.
  public static func advance(
    _ place: StreamPlace, over batch: StreamBatch
  ) -> SyncAdvance<StreamPlace> {
    guard batch.stream == place.stream else { return .gap }
    var next = place
    next.latest = max(next.latest, batch.latest)
    var last = StreamSequence.none
    for step in batch.steps {
      let interval = step.interval
      guard interval.low > last.number, step.isPossible else { return .gap }
      if case .others = step, place.scope == nil { return .gap }  // Held back from us.
      last = StreamSequence(interval.high)
      next.held.insert(interval)
    }
    next.latest = max(next.latest, last)
    // A replica's counter may lag. Then it does not know all that there is.
    let isComplete = next.isLevel && batch.latest >= next.latest
    if batch.steps.isEmpty, next == place { return isComplete ? .seen : .incomplete }
    return .next(next, first: 0, isComplete: isComplete)
  }
}

/// The sequence number of an event in its stream, given by the server: 0, 1, 2 …
///
/// ``none`` precedes the first. So an empty stream and one up to sequence 0 are two things.
public struct StreamSequence: ListID, StorableKey {
  /// The number; −1 is ``none``.
  public let number: Int64

  /// Creates the sequence of a number. Any number below 0 becomes ``none``.
  public init(_ number: Int64) { self.number = Swift.min(Swift.max(number, -1), .max - 1) }

  /// Precedes the first event.
  public static var none: StreamSequence { StreamSequence(-1) }

  package var next: StreamSequence { StreamSequence(number + 1) }

  public func put(into bytes: inout ByteWriter) { bytes.put(number) }

  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    self.init(try bytes.takeInt64())
  }

  public var keyBytes: [UInt8] { number.keyBytes }

  public init(keyBytes: [UInt8]) throws(StoredFormError) {
    self.init(try Int64(keyBytes: keyBytes))
  }
}

/// The name of a stream. A server that has lost any of its events must begin another stream.
public struct StreamID: Hashable, Sendable {
  /// The server's number for it.
  public let number: UInt64

  /// Creates the ID from the server's number.
  public init(_ number: UInt64) { self.number = number }
}

/// A client's place in a stream: which sequences it holds, and the latest that it has heard of.
///
/// A poll from here asks for the events in the ``holes`` and for those after ``latest``.
public struct StreamPlace: Finger, Hashable {
  /// The stream. A server that has another one by now answers `expired`.
  public package(set) var stream: StreamID
  package var held = Knowledge<StreamSequence>()
  /// The latest sequence that the client has heard of, whether it holds it or not.
  /// ``StreamSequence/none``: nothing has been written.
  public package(set) var latest = StreamSequence.none
  /// The objects that the client follows, ascending; `nil`: all of them.
  public package(set) var scope: [ViewKey]?

  /// The place of a client that holds nothing.
  package init(stream: StreamID, scope: [ViewKey]? = nil) {
    self.stream = stream
    self.scope = scope
  }

  public var log: StreamID { stream }

  /// Whether there is no hole up to the latest sequence.
  package var isLevel: Bool {
    latest == .none || held.covers(IDInterval(low: 0, high: latest.number))
  }

  /// The first holes up to ``latest``, ascending, at most 16. A client that holds all up to there
  /// has none. Whatever is missing beyond them, it asks for once these are filled.
  public var holes: [ClosedRange<StreamSequence>] {
    request.holes.map { StreamSequence($0.low)...StreamSequence($0.high) }
  }

  /// The first holes up to the latest sequence, ascending.
  package func holes(atMost count: Int) -> [IDInterval<StreamSequence>] {
    var holes: [IDInterval<StreamSequence>] = []
    var next: Int64 = 0
    for interval in held.intervals where holes.count < count {
      if next < interval.low, next <= latest.number {
        holes.append(IDInterval(low: next, high: Swift.min(interval.low - 1, latest.number)))
      }
      next = Swift.max(interval.high, interval.high &+ 1)  // A damaged form may have any number.
    }
    if holes.count < count, next <= latest.number {
      holes.append(IDInterval(low: next, high: latest.number))
    }
    return holes
  }

  /// The most holes that one request names. A stream with more is read in several requests.
  package static var holesMaximum: Int { 16 }

  /// What a poll from this place asks for.
  package var request: StreamRequest {
    StreamRequest(
      stream: stream, scope: scope, holes: holes(atMost: StreamPlace.holesMaximum), after: latest)
  }
}

/// A request to the server: the events in the holes, those after a sequence, and the latest
/// sequence.
package struct StreamRequest: Hashable, Sendable {
  package var stream: StreamID
  package var scope: [ViewKey]?
  /// Ascending, and below ``after`` or at it.
  package var holes: [IDInterval<StreamSequence>]
  package var after: StreamSequence
}

/// One step of a batch.
public enum StreamStep: Hashable, Sendable {
  /// An event.
  case event(StreamEvent)
  /// From one sequence through another, no event concerns an object that the client follows. It is
  /// only for a client that follows some objects: one that follows all of them takes it for a gap.
  case others(StreamSequence, through: StreamSequence)

  package var interval: IDInterval<StreamSequence> {
    switch self {
    case .event(let event): IDInterval(event.sequence)
    case .others(let low, let high): IDInterval(low: low.number, high: high.number)
    }
  }

  /// Whether its sequences can be, and its maker can have seen what it says.
  package var isPossible: Bool {
    guard 0 <= interval.low, interval.low <= interval.high, interval.high < .max - 1 else {
      return false
    }
    if case .event(let event) = self { return event.change.preceding < event.sequence }
    return true
  }
}

/// The answer to a read.
public struct StreamBatch: EventBatch, Hashable {
  package var stream: StreamID
  /// The latest sequence that was given to an event.
  package var latest: StreamSequence
  /// Ascending.
  package var steps: [StreamStep]

  /// Creates an answer. A batch that does not ascend, or is of another stream, is a gap: the client
  /// reads the stream anew.
  ///
  /// - Parameters:
  ///   - stream: the stream that was read.
  ///   - latest: the latest sequence that the server has given to any event, whether that is in
  ///     this batch or not; ``StreamSequence/none`` if the stream is empty.
  ///   - steps: ascending by sequence. A page may end early, and may leave out what was asked for:
  ///     the client sees from its holes what it still lacks. Repeats do no harm.
  public init(stream: StreamID, latest: StreamSequence, steps: [StreamStep] = []) {
    self.stream = stream
    self.latest = latest
    self.steps = steps
  }

  public var count: Int { steps.count }

  public func event(at index: Int) -> StreamStep? { steps[index] }
}

/// The answer to a register: the beginning of the stream, and what all its clients agree on.
public struct StreamSnapshot: Hashable, Sendable {
  /// The name of the client that registered.
  package var client: ClientID
  package var law: StreamConflictLaw
  package var scope: [ViewKey]?
  /// The greatest `preceding` of the client's own events. A client that reads the stream anew shows
  /// less than that at first. Its next change must still be ordered after its own events.
  package var seen: StreamSequence
  package var batch: StreamBatch

  /// Creates an answer to a register.
  ///
  /// - Parameters:
  ///   - client: the client's name, under which the server writes its events.
  ///   - law: what becomes of changes of deleted objects. It must never change in a stream.
  ///   - scope: the objects that the client follows, ascending; `nil`, the default: all of them.
  ///   - seen: the greatest ``StreamChange/preceding`` of this client's events so far; by default
  ///     it has made none.
  ///   - batch: the first page: the events from 0 on. May be all of them, or none.
  public init(
    client: ClientID, law: StreamConflictLaw, scope: [ViewKey]? = nil,
    seen: StreamSequence = .none, batch: StreamBatch
  ) {
    self.client = client
    self.law = law
    self.scope = scope
    self.seen = seen
    self.batch = batch
  }

  /// The place that it leads to, and whether it is all that there is; `nil`: it is malformed.
  package var opening: (place: StreamPlace, isComplete: Bool)? {
    let place = StreamPlace(stream: batch.stream, scope: scope)
    switch EventStream.advance(place, over: batch) {
    case .next(let next, _, let isComplete): return (next, isComplete)
    case .seen: return (place, true)
    case .incomplete, .lost, .gap: return nil
    }
  }
}

#if !hasFeature(Embedded)
  extension StreamSnapshot {
    /// Returns what a source's `register()` returns: this snapshot and the place that it leads to.
    /// If it is a first page of several, the client polls for the rest.
    ///
    /// Throws `malformed` if the batch does not ascend, or has what cannot be.
    ///
    /// - Parameter terms: how long a poll may wait; by default almost 100 s.
    public func registered(
      terms: ServerTerms = .eventStream
    ) throws(SyncFailure) -> Registered<StreamSnapshot, StreamPlace> {
      guard let opening else { throw .malformed }
      return Registered(
        snapshot: self, finger: opening.place, terms: terms, isComplete: opening.isComplete)
    }
  }
#endif

/// What becomes of an update or an insert that comes after a deletion in causal order, but whose
/// maker did not know of the deletion. It must be the same for all clients of a stream, for ever.
public enum StreamConflictLaw: UInt8, CaseIterable, Hashable, Sendable {
  /// The deletion wins. The change is dropped, and its maker is told (`overruled`).
  case firstWriterWins
  /// The change brings the object back, as if it had not been deleted.
  case lastWriterWins
  /// The object stays deleted, and every client has a question (``StreamState/questions``). A user
  /// answers by inserting or deleting the object again, which settles it for all.
  case ask
}

extension StreamID: CustomStringConvertible {
  public var description: String { "stream \(number)" }
}

extension StreamPlace: CustomStringConvertible {
  /// "[0…9] [15…19] of 19".
  public var description: String { "\(held) of \(latest)" }
}
