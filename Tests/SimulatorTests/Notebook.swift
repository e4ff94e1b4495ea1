import SyncProtocols
import UpdateMachine

/// An event in a notebook. An amendment makes sense only if its note is there. So a model that
/// reads an event against the wrong state shows it at once.
enum NoteEvent: Hashable, Sendable {
  case write(Int, String)
  case amend(Int, String)
  case remove(Int)
  /// Every model refuses this event. The server does not know that.
  case torn
}

/// Notes by number. The server's state and the client's model both use it.
struct Notes: Hashable, Sendable {
  var texts: [Int: String] = [:]

  /// Applies an event. Returns `false` if it makes no sense here.
  mutating func take(_ event: NoteEvent) -> Bool {
    switch event {
    case .write(let number, let text): texts[number] = text
    case .amend(let number, let text):
      guard let old = texts[number] else { return false }
      texts[number] = old + text
    case .remove(let number): return texts.removeValue(forKey: number) != nil
    case .torn: return false
    }
    return true
  }
}

/// The client's model. It refuses what makes no sense to it.
struct Notebook: SyncModel, Equatable {
  struct Refusal: Error {}
  var notes: Notes

  init(notes: Notes) { self.notes = notes }

  /// Throws if a note is empty; such a snapshot counts as unreadable.
  init(snapshot: Notes) throws(Refusal) {
    if snapshot.texts.values.contains("") { throw Refusal() }
    notes = snapshot
  }

  mutating func apply(_ event: NoteEvent) throws(Refusal) {
    guard notes.take(event) else { throw Refusal() }
  }
}

/// The server's state.
struct NoteTruth: ServerTruth {
  var notes = Notes()
  var checksum: UInt64 = 0

  var snapshot: Notes { notes }

  mutating func apply(_ event: NoteEvent) {
    _ = notes.take(event)
    checksum &+= 1
  }

  static func merged(_ pending: NoteEvent, _ newer: NoteEvent) -> NoteEvent? { nil }

  static func isDeletion(_ event: NoteEvent) -> Bool {
    if case .remove = event { true } else { false }
  }
}

/// A replica of a notebook, and the server that it follows, with nothing between them. Each test
/// says what is asked and answered, and when.
struct Desk {
  typealias Sync = EventQueue<NoteEvent>
  typealias Follower = SyncClient<Notebook, Sync>

  var replica: Follower
  var server: EventQueueServer<NoteTruth>
  var now = Moment(milliseconds: 0)
  private(set) var timer: TimerID?
  private(set) var write: WriteID?
  /// What a new process would read.
  private(set) var disk: Follower.Saved?

  init(_ events: [NoteEvent] = [.write(1, "a")]) {
    replica = Follower(incarnation: Incarnation(1))
    server = EventQueueServer(truth: NoteTruth(), at: now)
    for event in events { server.commit(event, at: now) }
  }

  /// A desk whose replica was started without a saved form, and is live.
  static func live(_ events: [NoteEvent] = [.write(1, "a")]) -> Desk {
    var desk = Desk(events)
    desk.put(.app(.started(foreground: true)))
    desk.put(.loaded(nil, age: nil))
    desk.exchange()
    desk.endWrite()
    return desk
  }

  /// Feeds an input after some time. Returns the effects as texts.
  @discardableResult
  mutating func put(_ input: Follower.Input, after span: TimeSpan = .zero) -> [String] {
    now = now + span
    let effects = replica.handle(input, at: now)
    for effect in effects.list {
      switch effect {
      case .disarm: timer = nil
      case .arm(let armed, _): timer = armed
      case .save(let id): write = id
      default: break
      }
    }
    return effects.machine.texts(at: now)
  }

  /// The request that is out. Tests read it only if there is one.
  var request: RequestID {
    replica.status.outstanding?.id ?? RequestID(incarnation: Incarnation(0), number: 0)
  }

  mutating func commit(_ events: [NoteEvent]) {
    for event in events { server.commit(event, at: now) }
  }

  /// The server answers the open request at once. A waiting poll is answered, too, even if there is
  /// nothing new.
  @discardableResult
  mutating func exchange() -> [String] {
    guard let finger = replica.finger else {
      guard case .success(let queue) = server.beginRegister(at: now) else { return [] }
      return answer(server.finishRegister(queue, at: now))
    }
    let reply = server.poll(
      finger, waits: false, waiter: 0, heartbeatAfter: .seconds(50), at: now)
    return reply.map { answer($0) } ?? []
  }

  /// An answer of the server reaches the client as the transport would bring it.
  @discardableResult
  mutating func answer(_ reply: EventQueueServer<NoteTruth>.Reply) -> [String] {
    if let failure = reply.failure() { return put(.failed(request, failure, hasLeft: true)) }
    switch reply {
    case .registered(let notes, let finger, let terms):
      return put(.snapshotArrived(request, notes, finger: finger, terms: terms))
    case .batch(let batch): return put(.batchArrived(request, batch))
    case .released, .refused: return []
    }
  }

  /// The write under way succeeds.
  @discardableResult
  mutating func endWrite() -> [String] {
    guard let ended = write else { return [] }
    write = nil
    disk = replica.saved
    return put(.written(ended))
  }

  @discardableResult
  mutating func fire(after span: TimeSpan) -> [String] {
    guard let fired = timer else { return [] }
    timer = nil
    return put(.fired(fired), after: span)
  }

  /// The process ends without notice. Another begins with what is on the disk.
  @discardableResult
  mutating func restart(after span: TimeSpan = .zero) -> [String] {
    now = now + span
    replica = Follower(incarnation: Incarnation(replica.machine.incarnation.number + 1))
    timer = nil
    write = nil
    put(.app(.started(foreground: true)))
    return put(.loaded(disk, age: span))
  }

  var notes: [Int: String]? { replica.model?.notes.texts }
}
