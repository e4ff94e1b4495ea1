import SyncProtocols
import UpdateMachine
import ZulipSync

/// Follows each client of a recording with a replica of the realm's state, from what it registered
/// through every event, and compares it with what the same client was given by a later register.
///
/// A client registers to compare while it still has its queue; what it is given can be compared if the
/// next poll of the queue finds nothing new. If its queue was lost before, the replica registers with
/// that, and follows on.
struct StateCheck {
  private(set) var report = Report()
  private var lives: [Life] = []
  private var departures: [ZulipFields] = []

  /// What was found.
  struct Report {
    var lives: [String] = []
    var events = 0
    /// Registers that were compared.
    var compared = 0
    var rows = 0
    var explained: [String] = []
    var differences: [Difference] = []

    var isEmpty: Bool { lives.isEmpty && differences.isEmpty }

    static func += (one: inout Report, other: Report) {
      one.lives += other.lives
      one.events += other.events
      one.compared += other.compared
      one.rows += other.rows
      one.explained += other.explained
      one.differences += other.differences
    }

    /// The table's lines.
    var texts: [String] {
      guard !isEmpty else { return [] }
      return lives.map { "  state        \($0)" } + ["  explained    \(explained.count)"]
        + explained.map { "    \($0)" }
    }
  }

  /// One client with one choice of parameters.
  private struct Life {
    var client: String
    var parameters: String
    var fed: FedReplica
    var evidence: StateEvidence
    var registers = 0
    var events = 0
    var compared = 0
    var rows = 0
    var explained = 0
    var notFollowed = 0
    /// A register that waits for the proof that nothing had happened.
    var closing: (line: Int, state: ZulipState, count: Int64?)?
  }

  init(_ recording: StateRecording) {
    report.differences = recording.differences
    guard recording.hasState else { return }
    let exchanges = recording.exchanges.sorted { ($0.sent, $0.line) < ($1.sent, $1.line) }
    departures = exchanges.flatMap(\.events).filter {
      $0.type == "subscription" && $0.fields["op"] == "peer_remove"
    }.map(\.fields)
    for exchange in exchanges { take(exchange) }
    for life in lives {
      report.lives.append(StateCheck.text(of: life))
      report.events += life.events
      report.compared += life.compared
      report.rows += life.rows
    }
  }

  private mutating func take(_ exchange: StateExchange) {
    switch exchange.kind {
    case .registered(let finger, let snapshot, let parameters):
      register(exchange, finger, snapshot, parameters)
    case .polled(let queue, let events):
      guard let place = lives.firstIndex(where: { $0.fed.queue == queue }) else { return }
      poll(exchange, events, place)
    case .failed(let queue, let failure):
      guard let place = lives.firstIndex(where: { $0.fed.queue == queue }) else { return }
      lives[place].fed.fail(failure)
      lives[place].closing = nil
    case .released(let queue):
      guard let place = lives.firstIndex(where: { $0.fed.queue == queue }) else { return }
      // What it registers next is another life of the same replica: it has lost this queue, too.
      lives[place].fed.fail(.expired)
      lives[place].closing = nil
    }
  }

  private mutating func register(
    _ exchange: StateExchange, _ finger: QueueFinger, _ snapshot: ZulipSnapshot,
    _ parameters: String
  ) {
    let known = lives.firstIndex {
      $0.client == exchange.client && $0.parameters == parameters
    }
    if let known, lives[known].fed.queue != nil {
      do throws(ZulipError) {
        let state = try ZulipState(snapshot: snapshot)
        let count = snapshot.fields["unread_msgs"]?.fields?["count"]?.number
        lives[known].closing = (exchange.line, state, count)
      } catch {
        differ(exchange.line, "a state", expected: "what the protocol says of it", "\(error)")
      }
      return
    }
    let place = known ?? lives.count
    if known == nil {
      lives.append(
        Life(
          client: exchange.client, parameters: parameters, fed: FedReplica(at: exchange.sentAt),
          evidence: StateEvidence(snapshot.registration, departures: departures)))
    }
    lives[place].registers += 1
    lives[place].evidence.batches = []
    if !lives[place].fed.register(snapshot, finger) {
      var reason = "\(lives[place].fed.replica)"
      do throws(ZulipError) { _ = try ZulipState(snapshot: snapshot) } catch { reason = "\(error)" }
      differ(exchange.line, "a register", expected: "a state at \(finger)", reason)
    }
  }

  private mutating func poll(_ exchange: StateExchange, _ events: ZulipEvents, _ place: Int) {
    let before = lives[place].fed.model
    let finger = lives[place].fed.replica.finger
    guard lives[place].fed.take(events.batch) else {
      // What the recorder was given when it asked from elsewhere; that is told by another check.
      guard
        case .next(_, let first) = finger.map({ FedReplica.Queue.advance($0, over: events.batch) })
      else {
        lives[place].notFollowed += 1
        return
      }
      var reason = "\(lives[place].fed.replica)"
      if var model = before {
        do throws(ZulipError) {
          for event in events.events[first...] { try model.apply(event) }
        } catch { reason = "\(error)" }
      }
      return differ(exchange.line, "these events", expected: "a state that has them", reason)
    }
    let new = events.events.filter { $0.id > (finger?.lastEventID ?? .max) }
    lives[place].events += new.count
    lives[place].evidence.batches.append(new)
    if let violation = lives[place].fed.violation {
      differ(exchange.line, "the replica", expected: violation.rule, violation.found)
    }
    if let closing = lives[place].closing {
      lives[place].closing = nil
      if new.isEmpty { compare(closing, place) }
    }
  }

  // MARK: Comparing

  private mutating func compare(
    _ closing: (line: Int, state: ZulipState, count: Int64?), _ place: Int
  ) {
    guard let state = lives[place].fed.model else { return }
    let client = lives[place].client
    lives[place].compared += 1
    lives[place].rows += closing.state.rows.count
    for difference in StateDifference.all(from: closing.state, to: state) {
      let text = difference.texts
      if let excuse = lives[place].evidence.excuse(for: difference, of: state.myself) {
        lives[place].explained += 1
        report.explained.append(
          "\(client), line \(closing.line): \(difference.place): \(text.expected) at the server, "
            + "\(text.found) here: \(excuse.rawValue)")
      } else {
        differ(
          closing.line, "\(difference.place), after all events of \(client)",
          expected: text.expected, text.found)
      }
    }
    // Not held, but counted from what is held, and so compared for itself.
    let unread = Int64(state.unreadCount)
    if let count = closing.count, state.unread == closing.state.unread, unread != count {
      differ(
        closing.line, "unread_msgs.count, after all events of \(client)", expected: "\(count)",
        "\(unread)")
    }
  }

  private mutating func differ(_ line: Int, _ what: String, expected: String, _ found: String) {
    report.differences.append(
      Difference(line: line, what: what, expected: expected, found: found))
  }

  /// "hamlet/modern: 347 events, 1 register, …".
  private static func text(of life: Life) -> String {
    var text =
      "\(life.client): \(life.registers) registered, \(life.events) events, \(life.compared) compared "
      + "with \(life.rows) rows, \(life.explained) explained"
    if life.notFollowed > 0 { text += ", \(life.notFollowed) polls not followed" }
    let counts = life.fed.model?.counts ?? ZulipCounts()
    let passed =
      [
        ("of unknown types", counts.unknownTypes.values.reduce(0, +)),
        ("unknown fields", counts.unknownFields.values.reduce(0, +)),
        ("not asked for", counts.notHeld), ("about what is not there", counts.strays),
      ].filter { $0.1 > 0 }.map { "\($0.1) \($0.0)" }
    return passed.isEmpty ? text : text + "; passed over: " + passed.joined(separator: ", ")
  }
}
