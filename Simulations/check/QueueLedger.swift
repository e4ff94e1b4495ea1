import SyncProtocols
import UpdateMachine

/// What a recording alone proves about one queue: which events its client was given, from which
/// event ID an honest client asks next, and whether it still asks at all.
///
/// It knows nothing of the machine, so that both the machine and the recorder can be compared with
/// it.
struct QueueLedger {
  let queue: QueueID
  /// The event ID of the snapshot, or of the newest event given. An honest client asks from there.
  private(set) var newest: Int64
  /// Why an honest client has left the queue; `nil` if it has not.
  private(set) var left: String?
  private var given: [(id: Int64, type: String?)] = []
  private var known: Set<Int64>

  init(_ finger: QueueFinger) {
    queue = finger.queue
    newest = finger.lastEventID
    known = [finger.lastEventID]
  }

  /// Whether the server has refused an event ID that it never gave, and so destroyed what was not
  /// delivered.
  private(set) var wasRefusedAPlace = false

  mutating func noteRefusedPlace() { wasRefusedAPlace = true }

  var finger: QueueFinger { QueueFinger(queue: queue, lastEventID: newest) }

  /// Whether the client was ever given this ID, so that it could have asked from it.
  func knows(_ id: Int64) -> Bool { known.contains(id) }

  /// Whether an honest client may let the queue go now. It may if it still has the queue, or if it
  /// was refused for a reason that leaves the queue on the server (TheMachine §5, `release`).
  private(set) var mayLetGo = true

  /// Notes that a poll ended in a way after which an honest client does not ask again.
  mutating func leave(_ outcome: Outcome, on line: Int) {
    guard left == nil else { return }
    left = "the answer on line \(line) was \(outcome.rawValue)"
    mayLetGo = Expectation.releases(after: outcome, isRegister: false)
  }

  mutating func letGo(on line: Int) {
    mayLetGo = false
    if left == nil { left = "line \(line) deleted it" }
  }

  /// Notes what a poll gave. Returns whether it can follow on what was given before: its IDs
  /// ascend, and it does not name another queue.
  mutating func note(_ batch: QueueBatch<String>) -> Bool {
    guard batch.queue == nil || batch.queue == queue else { return false }
    for (one, next) in zip(batch.events, batch.events.dropFirst()) where one.id >= next.id {
      return false
    }
    for event in batch.events where event.id > newest {
      given.append((event.id, event.event))
      known.insert(event.id)
    }
    newest = max(newest, batch.events.last?.id ?? newest)
    return true
  }

  /// The first event that the answer to a poll from `place` lacks although the server had to give
  /// it again, because it had been given and not acknowledged.
  ///
  /// Some kinds are not expected again, because the server keeps only the newest pending event of
  /// them, under its ID [05 D1].
  func missing(from batch: QueueBatch<String>, askedFrom place: Int64) -> Int64? {
    let merged = ["update_message_flags", "restart", "web_reload_client"]
    let again = Set(batch.events.map(\.id))
    return given.first { event in
      event.id > place && !again.contains(event.id)
        && !(event.type.map { merged.contains($0) } ?? false)
    }?.id
  }
}
