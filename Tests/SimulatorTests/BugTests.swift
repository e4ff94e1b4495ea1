import SyncProtocols
import TestSupport
import Testing
import UpdateMachine

/// Bugs of other projects that are about the model, its batches and its saved form, each played on
/// a replica of a ``Notebook``. The numbers are those of the bug table.
@Suite struct BugTests {
  // MARK: Batches

  @Test func `bug 2: a client follows again after an event that the model refuses`() {
    var desk = Desk.live()
    desk.commit([.write(2, "b"), .torn, .write(3, "c")])
    #expect(
      desk.exchange() == ["disarm 2", "report modelRefused", "release q1", "arm 3 in (0, 1 s]"])
    #expect(desk.notes == [1: "a"])
    #expect(desk.fire(after: .seconds(1)).first == "register 3")
    desk.exchange()
    #expect(desk.notes == [1: "a", 2: "b", 3: "c"])
    desk.endWrite()
    desk.commit([.write(4, "d")])
    desk.exchange()
    #expect(desk.notes?[4] == "d")
  }

  @Test func `bug 16: a malformed batch is not requested again`() {
    var desk = Desk.live()
    let effects = desk.answer(
      .batch(QueueBatch(events: [.init(id: 1, event: nil), .init(id: 1, event: nil)])))
    #expect(effects == ["disarm 2", "report malformed", "release q1", "arm 3 in (0, 1 s]"])
    #expect(desk.replica.finger == nil)
    #expect(desk.fire(after: .seconds(1)).first == "register 3")
    var undecodable = Desk.live()
    #expect(undecodable.put(.failed(undecodable.request, .malformed)) == effects)
  }

  @Test func `bug 26: events of all kinds are applied in the order of the log`() {
    var desk = Desk.live()
    desk.commit([.write(2, "b"), .remove(2), .write(2, "c"), .amend(2, "d"), .remove(1)])
    desk.exchange()
    #expect(desk.notes == [2: "cd"])
    #expect(desk.replica.finger?.lastEventID == 4)
  }

  @Test func `bug 26: a batch whose event IDs do not grow is malformed`() {
    var desk = Desk.live()
    desk.answer(
      .batch(
        QueueBatch(events: [
          .init(id: 1, event: .amend(2, "x")), .init(id: 0, event: .write(2, "b")),
        ])))
    #expect(desk.notes == [1: "a"])
    #expect(desk.replica.finger == nil)
  }

  @Test func `bug 27: each event of a batch sees the effect of the one before it`() {
    var desk = Desk.live()
    desk.commit([.write(2, "b"), .amend(2, "c"), .amend(2, "d"), .remove(2), .write(2, "e")])
    desk.exchange()
    #expect(desk.notes == [1: "a", 2: "e"])
    // Read against the state before the batch, the amendments and the removal would make no sense.
    #expect(desk.replica.finger?.lastEventID == 4)
  }

  @Test func `bug 29: the finger is the place of the last applied event`() {
    var desk = Desk.live()
    desk.commit([.write(2, "b"), .write(3, "c"), .write(4, "d")])
    // Only the first two events come, because the answer was cut short, or because the server gives
    // few at a time.
    desk.answer(
      .batch(
        QueueBatch(events: [
          .init(id: 0, event: .write(2, "b")), .init(id: 1, event: .write(3, "c")),
        ])))
    #expect(desk.replica.finger?.lastEventID == 1)
    #expect(desk.endWrite().first == "poll 3 from q1:1")
    desk.exchange()
    #expect(desk.notes == [1: "a", 2: "b", 3: "c", 4: "d"])
  }

  @Test func `bug 29: an empty answer keeps the finger, and an ignored event moves it`() {
    var desk = Desk.live()
    desk.answer(.batch(QueueBatch(events: [])))
    #expect(desk.replica.finger?.lastEventID == -1)
    desk.fire(after: .seconds(1))
    desk.server.announceNothing()
    desk.exchange()
    #expect(desk.replica.finger?.lastEventID == 0)
    desk.endWrite()
    // Event IDs have holes. The finger is the last event's ID, not the number of events.
    desk.answer(
      .batch(QueueBatch(events: [.init(id: 4, event: .write(2, "b")), .init(id: 9, event: nil)])))
    #expect(desk.replica.finger?.lastEventID == 9)
  }

  // MARK: A log and its successor

  @Test func `bug 22: a new queue is polled from its own finger`() {
    var desk = Desk.live()
    desk.commit([.write(2, "b"), .write(3, "c"), .write(4, "d")])
    desk.exchange()
    desk.endWrite()
    #expect(desk.replica.finger?.description == "q1:2")
    desk.server.expire(QueueID("q1"))
    desk.exchange()
    #expect(desk.replica.finger == nil)
    desk.commit([.write(5, "e")])
    desk.fire(after: .seconds(5))
    desk.exchange()
    #expect(desk.endWrite().first == "poll 5 from q2:-1")
    desk.commit([.write(6, "f")])
    desk.exchange()
    #expect(desk.replica.finger?.description == "q2:0")
    #expect(desk.notes?[6] == "f")
  }

  @Test func `bug 22: an answer of the old queue does not count for the new one`() {
    var desk = Desk.live()
    desk.answer(
      .batch(QueueBatch(queue: QueueID("q0"), events: [.init(id: 7, event: .write(9, "z"))])))
    #expect(desk.notes == [1: "a"])
    #expect(desk.replica.finger == nil)
  }

  @Test func `bug 23: a new queue always comes with a new snapshot`() {
    var desk = Desk.live()
    desk.server.expire(QueueID("q1"))
    desk.commit([.remove(1), .write(2, "b")])  // Nobody hears of these.
    desk.exchange()
    desk.fire(after: .seconds(5))
    // If a queue's snapshot cannot be read, the queue is not followed with the old model.
    let torn = QueueFinger(queue: QueueID("q9"), lastEventID: -1)
    let effects = desk.answer(.registered(Notes(texts: [1: ""]), torn, .unspoken))
    #expect(effects.contains("release q9"))
    #expect(desk.replica.finger == nil)
    desk.fire(after: .seconds(2))
    desk.exchange()
    #expect(desk.notes == [2: "b"])
    #expect(desk.replica.finger?.queue == QueueID("q2"))
  }

  @Test(arguments: [
    (400, "BAD_EVENT_QUEUE_ID", SyncFailure.expired), (404, "BAD_EVENT_QUEUE_ID", .expired),
    (400, "BAD_REQUEST", .rejected(RejectionCode("BAD_REQUEST"))),
    (400, "", .rejected(.none)),
  ])
  func `bug 24: an expiry is recognised by its code, never by its wording`(
    status: Int, code: String, expected: SyncFailure
  ) {
    #expect(ServerAnswer(status: status, result: .error, code: code).failure() == expected)
    let fields = Mirror(reflecting: ServerAnswer(status: status, result: .error)).children
    #expect(fields.compactMap(\.label) == ["status", "result", "code", "retryAfter"])
  }

  @Test func `bug 25: the old state stays readable until the new one arrives`() {
    var desk = Desk.live()
    desk.server.expire(QueueID("q1"))
    desk.commit([.write(2, "b")])
    desk.exchange()
    #expect(desk.replica.holding == .model(Notebook(notes: Notes(texts: [1: "a"]))))
    desk.fire(after: .seconds(5))
    #expect(desk.replica.status.outstanding != nil)
    #expect(desk.notes == [1: "a"])
    desk.put(.failed(desk.request, .serverFault))
    #expect(desk.notes == [1: "a"])
    #expect(
      desk.replica.freshness(at: desk.now).claim == .unreachable(since: .init(milliseconds: 0)))
    desk.fire(after: .seconds(2))
    desk.exchange()
    #expect(desk.notes == [1: "a", 2: "b"])
  }

  @Test func `bug 25: nothing, unknown and empty are three states`() {
    var desk = Desk([])
    #expect(desk.replica.holding == .unknown)
    desk.put(.started(foreground: true))
    desk.put(.loaded(nil, age: nil))
    #expect(desk.replica.holding == .nothing)
    desk.exchange()
    #expect(desk.replica.holding == .model(Notebook(notes: Notes())))
  }

  // MARK: Saved forms

  @Test func `bug 30: a refused event changes neither the finger nor the disk`() {
    var desk = Desk.live()
    desk.commit([.write(2, "b"), .torn])
    let effects = desk.exchange()
    #expect(!effects.contains { $0.hasPrefix("persist") })
    #expect(desk.notes == [1: "a"])
    #expect(desk.replica.saved == nil)
    #expect(desk.disk?.finger?.description == "q1:-1")
    #expect(desk.disk?.model.notes.texts == [1: "a"])
  }

  @Test func `bug 30: model and finger are restored together after a crash before the write`() {
    var desk = Desk.live()
    desk.commit([.write(2, "b")])
    desk.exchange()
    #expect(desk.replica.saved?.finger?.lastEventID == 0)
    #expect(desk.replica.saved?.model.notes.texts == [1: "a", 2: "b"])
    #expect(desk.restart(after: .seconds(1)).first == "poll 1 from q1:-1, quick")
    #expect(desk.notes == [1: "a"])
    desk.exchange()
    #expect(desk.notes == [1: "a", 2: "b"])
  }

  @Test(arguments: [
    SyncFailure.unreachable, .timedOut, .serverFault, .rateLimited(after: .seconds(1)),
  ])
  func `bug 31: a client continues from its finger after an error`(failure: SyncFailure) {
    var desk = Desk.live()
    desk.commit([.write(2, "b"), .amend(2, "c")])
    desk.exchange()
    desk.endWrite()
    desk.put(.failed(desk.request, failure))
    #expect(desk.fire(after: .seconds(2)).first == "poll 4 from q1:1, quick")
    desk.commit([.amend(2, "d")])
    // The batch repeats an old answer's events and adds a new one. Each counts once.
    desk.answer(
      .batch(
        QueueBatch(events: [
          .init(id: 1, event: .amend(2, "c")), .init(id: 2, event: .amend(2, "d")),
        ])))
    #expect(desk.notes == [1: "a", 2: "bcd"])
  }

  @Test func `bug 32: an event during or after the snapshot is not lost`() throws {
    var desk = Desk([.write(1, "a")])
    desk.put(.started(foreground: true))
    desk.put(.loaded(nil, age: nil))
    let queue = try desk.server.beginRegister(at: desk.now).get()
    desk.commit([.amend(1, "b")])
    let reply = desk.server.finishRegister(queue, at: desk.now)
    desk.commit([.amend(1, "c")])
    desk.answer(reply)
    #expect(desk.notes == [1: "ab"])
    #expect(desk.endWrite().first == "poll 2 from q1:0")
    desk.exchange()
    #expect(desk.notes == [1: "abc"])
  }

  @Test func `bug 34: a saved finger that the server refuses costs one poll`() {
    var desk = Desk.live()
    desk.commit([.write(2, "b")])
    desk.exchange()
    desk.endWrite()
    desk.exchange()  // This acknowledges what came.
    let older = QueueFinger(queue: QueueID("q1"), lastEventID: 900)
    desk.replica = Desk.Follower(incarnation: Incarnation(2))
    desk.put(.started(foreground: true))
    desk.put(
      .loaded(
        SavedReplica(
          model: desk.disk!.model, finger: older, terms: desk.disk!.terms), age: .zero))
    #expect(
      desk.exchange() == [
        "disarm 1", "report rejected(BAD_REQUEST)", "release q1", "arm 2 in (0, 1 s]",
      ])
    #expect(desk.fire(after: .seconds(1)).first == "register 2")
    desk.exchange()
    desk.endWrite()
    #expect(desk.restart().first == "poll 1 from q2:-1, quick")
    #expect(desk.notes == [1: "a", 2: "b"])
  }

  @Test func `bug 35: the answer to an abandoned register changes nothing`() throws {
    var desk = Desk([.write(1, "a")])
    desk.put(.started(foreground: true))
    desk.put(.loaded(nil, age: nil))
    let first = desk.request
    let queue = try desk.server.beginRegister(at: desk.now).get()
    let late = desk.server.finishRegister(queue, at: desk.now)
    desk.commit([.amend(1, "b")])
    desk.fire(after: .seconds(60))
    desk.fire(after: .seconds(1))
    desk.exchange()
    desk.endWrite()
    let before = desk.replica
    guard case .registered(let notes, let finger, let terms) = late else { return }
    #expect(
      desk.put(.snapshotArrived(first, notes, finger: finger, terms: terms), after: .seconds(1))
        == ["release q1"])
    #expect(desk.replica.machine == before.machine)
    #expect(desk.notes == [1: "ab"])
  }

  @Test(arguments: ["TOO_LARGE", "BAD_REQUEST", "REQUEST_VARIABLE_INVALID", ""])
  func `bug 36: a refused finger is never polled again, whatever the error code`(
    code: String
  ) {
    var desk = Desk.live()
    let effects = desk.answer(
      .refused(ServerAnswer(status: 400, result: .error, code: code.isEmpty ? nil : code)))
    #expect(effects.contains("release q1"))
    #expect(desk.replica.finger == nil)
    #expect(desk.fire(after: .seconds(1)).first == "register 3")
    desk.exchange()
    #expect(desk.replica.finger?.description == "q2:-1")
  }
}
