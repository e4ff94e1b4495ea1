package import UpdateMachine

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
///     held 0…9, then 15…19 came live      ── asks for 10…14 ──▶  up to date: 0…19
///
/// Events beyond a hole mean nothing without it. They are held, and not shown (``StreamModel``).
package enum EventStream: SyncProtocol {
  package typealias Place = StreamPlace
  package typealias Batch = StreamBatch

  /// Events may come in any order of batches, but ascend within one. A repeat is passed on to the
  /// model. Only the model holds the events, so only it can tell a repeat from a contradiction.
  package static func advance(
    _ place: StreamPlace, over batch: StreamBatch
  ) -> SyncAdvance<StreamPlace> {
    guard batch.stream == place.stream else { return .gap }
    var next = place
    next.latest = max(next.latest, batch.latest)
    var last = EventSequence.none
    for step in batch.steps {
      let interval = step.interval
      guard interval.low > last.number, step.isPossible else { return .gap }
      if case .others = step, place.scope == nil { return .gap }  // It is kept back from us.
      last = EventSequence(interval.high)
      next.held.insert(interval)
    }
    next.latest = max(next.latest, last)
    // A replica's counter may lag. Then it does not know all that there is.
    let isComplete = next.isLevel && batch.latest >= place.latest
    if batch.steps.isEmpty, next == place { return isComplete ? .seen : .incomplete }
    return .next(next, first: 0, isComplete: isComplete)
  }
}

/// The place of an event in its stream, given by the server: 0, 1, 2 …
///
/// ``none`` precedes the first. So an empty stream and one up to sequence 0 are two things.
package struct EventSequence: ListID, StorableKey {
  package let number: Int64

  package init(_ number: Int64) { self.number = Swift.min(Swift.max(number, -1), .max - 1) }

  /// Precedes the first event.
  package static var none: EventSequence { EventSequence(-1) }

  package var next: EventSequence { EventSequence(number + 1) }

  package func put(into bytes: inout ByteWriter) { bytes.put(number) }

  package init(from bytes: inout ByteReader) throws(StoredFormError) {
    self.init(try bytes.takeInt64())
  }

  package var keyBytes: [UInt8] { number.keyBytes }

  package init(keyBytes: [UInt8]) throws(StoredFormError) {
    self.init(try Int64(keyBytes: keyBytes))
  }
}

/// The name of a stream. A server that has lost its stream must begin another one.
package struct StreamID: Hashable, Sendable {
  package var number: UInt64

  /// Creates the ID from the server's number.
  package init(_ number: UInt64) { self.number = number }
}

/// A client's place in a stream: which sequences it holds, and the latest that it has heard of.
package struct StreamPlace: Finger, Hashable {
  package var stream: StreamID
  package var held = Knowledge<EventSequence>()
  /// ``EventSequence/none``: nothing has been written.
  package var latest = EventSequence.none
  /// The objects that the client follows, ascending; `nil`: all of them.
  package var scope: [ViewKey]?

  /// The place of a client that holds nothing.
  package init(stream: StreamID, scope: [ViewKey]? = nil) {
    self.stream = stream
    self.scope = scope
  }

  package var log: StreamID { stream }

  /// Whether there is no hole up to the latest sequence.
  package var isLevel: Bool {
    latest == .none || held.covers(IDInterval(low: 0, high: latest.number))
  }

  /// The first holes up to the latest sequence, ascending.
  package func holes(atMost count: Int) -> [IDInterval<EventSequence>] {
    var holes: [IDInterval<EventSequence>] = []
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

/// A request to the server: the events in the holes and after a sequence, and the latest sequence.
package struct StreamRequest: Hashable, Sendable {
  package var stream: StreamID
  package var scope: [ViewKey]?
  /// Ascending, and below ``after`` or at it.
  package var holes: [IDInterval<EventSequence>]
  package var after: EventSequence
}

/// One step of a batch.
package enum StreamStep: Hashable, Sendable {
  /// An event.
  case event(StreamEvent)
  /// Sequences of events that concern none of the objects that the client follows.
  case others(IDInterval<EventSequence>)

  package var interval: IDInterval<EventSequence> {
    switch self {
    case .event(let event): IDInterval(event.sequence)
    case .others(let interval): interval
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
package struct StreamBatch: EventBatch, Hashable {
  package var stream: StreamID
  /// The latest sequence that was given to an event.
  package var latest: EventSequence
  /// Ascending.
  package var steps: [StreamStep]

  package init(stream: StreamID, latest: EventSequence, steps: [StreamStep] = []) {
    self.stream = stream
    self.latest = latest
    self.steps = steps
  }

  package var count: Int { steps.count }

  package func event(at index: Int) -> StreamStep? { steps[index] }
}

/// The answer to a register: the beginning of the stream, and what all its clients agree on.
package struct StreamSnapshot: Hashable, Sendable {
  /// The name of the client that registered.
  package var client: ClientID
  package var law: ConflictLaw
  package var scope: [ViewKey]?
  /// What the maker of the client's own events had seen. A client that reads the stream anew shows
  /// less than that at first, and its next change must still come after its own events.
  package var seen: EventSequence
  package var batch: StreamBatch

  package init(
    client: ClientID, law: ConflictLaw, scope: [ViewKey]?, seen: EventSequence = .none,
    batch: StreamBatch
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

/// What becomes of a change of an object that was deleted, if its maker did not know. Also of an
/// insert of that object. All clients of a stream must agree on it.
package enum ConflictLaw: UInt8, CaseIterable, Hashable, Sendable {
  /// The deletion wins. The change is dropped, and its maker is told.
  case firstWriterWins
  /// The change brings the object back, as if it had not been deleted.
  case lastWriterWins
  /// The object stays deleted, and every client is asked once (``StreamState/questions``). Whoever
  /// answers inserts the object again, or deletes it again; that settles it for all.
  case ask
}

extension StreamID: CustomStringConvertible {
  package var description: String { "stream \(number)" }
}

extension StreamPlace: CustomStringConvertible {
  /// "[0…9] [15…19] of 19".
  package var description: String { "\(held) of \(latest)" }
}
