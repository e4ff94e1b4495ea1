import SyncProtocols
import UpdateMachine
import ZulipSync

/// Follows each client of a recording with a replica of its account, from what it registered
/// through every event, and compares the realm's state with what the same client was given by a
/// later register.
///
/// A client registers to compare while it still has its queue; what it is given can be compared if
/// the next poll of the queue finds nothing new. If its queue was lost before, the replica
/// registers with that, and follows on; so it does if the new queue is polled from then on.
///
/// The pages that its user asked for are given to its messages, in the order in which they were
/// sent and came: what they mend of a message, they mend of the state.
struct StateCheck {
  private(set) var report = Report()
  private var lives: [Life] = []
  private var departures: [ZulipFields] = []
  private let mendsState: Bool

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
    var user: String
    var parameters: String
    var fed: FedReplica
    var evidence: StateEvidence
    var registers = 0
    var events = 0
    var pages = 0
    var compared = 0
    var rows = 0
    var explained = 0
    var notFollowed = 0
    /// The pages that are out, by their lines.
    var fetches: [Int: RequestID] = [:]
    /// When the last answer with a new event had come.
    var lastNews = Int64.min
    /// A register that waits for the proof that nothing had happened.
    var closing: (line: Int, state: ZulipState, count: Int64?)?
    /// What it was given then, if it goes on with that queue.
    var next: (queue: QueueID, exchange: StateExchange)?
  }

  private enum Step {
    case ended(StateExchange)
    case asked(StatePage)
    case came(StatePage)
  }

  /// - Parameter mendsState: whether the state hears what a page mends of messages.
  init(_ recording: StateRecording, mendsState: Bool = true) {
    self.mendsState = mendsState
    report.differences = recording.differences
    guard recording.hasState else { return }
    departures = recording.exchanges.flatMap(\.events).filter {
      $0.type == "subscription" && $0.fields["op"] == "peer_remove"
    }.map(\.fields)
    for step in StateCheck.steps(of: recording) {
      switch step {
      case .ended(let exchange): take(exchange)
      case .asked(let page): ask(page)
      case .came(let page): take(page)
      }
    }
    for life in lives {
      report.lives.append(StateCheck.text(of: life))
      report.events += life.events
      report.compared += life.compared
      report.rows += life.rows
    }
  }

  /// In the order in which they happened to a client. A question is asked before what ends at the
  /// same moment.
  private static func steps(of recording: StateRecording) -> [Step] {
    var steps: [(moment: Int64, rank: Int, line: Int, step: Step)] = []
    for exchange in recording.exchanges {
      steps.append((exchange.ended, 1, exchange.line, .ended(exchange)))
    }
    for page in recording.pages {
      steps.append((page.sent, 0, page.line, .asked(page)))
      steps.append((page.ended, 1, page.line, .came(page)))
    }
    steps.sort { ($0.moment, $0.rank, $0.line) < ($1.moment, $1.rank, $1.line) }
    return steps.map(\.step)
  }

  private mutating func take(_ exchange: StateExchange) {
    switch exchange.kind {
    case .registered(let finger, let snapshot, let parameters):
      register(exchange, finger, snapshot, parameters)
    case .polled(let queue, let events):
      goOn(with: queue)
      guard let place = lives.firstIndex(where: { $0.fed.queue == queue }) else { return }
      poll(exchange, events, place)
    case .failed(let queue, let failure):
      guard let place = lives.firstIndex(where: { $0.fed.queue == queue }) else { return }
      lives[place].fed.fail(failure)
      lives[place].closing = nil
    case .released(let queue):
      guard let place = lives.firstIndex(where: { $0.fed.queue == queue }) else { return }
      // What it registers next is another session of the same replica: it has lost this queue, too.
      lives[place].fed.fail(.expired)
      lives[place].closing = nil
    }
  }

  private mutating func register(
    _ exchange: StateExchange, _ finger: QueueFinger, _ snapshot: ZulipAccount.Snapshot,
    _ parameters: String
  ) {
    let known = lives.firstIndex {
      $0.client == exchange.client && $0.parameters == parameters
    }
    if let known, lives[known].fed.queue != nil {
      do throws(ZulipError) {
        let state = try ZulipState(snapshot: snapshot.state)
        let count = snapshot.state.fields["unread_msgs"]?.fields?["count"]?.number
        lives[known].closing = (exchange.line, state, count)
        lives[known].next = (finger.queue, exchange)
      } catch {
        differ(exchange.line, "a state", expected: "what the protocol says of it", "\(error)")
      }
      return
    }
    let place = known ?? lives.count
    if known == nil {
      lives.append(
        Life(
          client: exchange.client, user: exchange.user, parameters: parameters,
          fed: FedReplica(at: exchange.sentAt, mendsState: mendsState),
          evidence: StateEvidence(snapshot.state.registration, departures: departures)))
    }
    begin(exchange, finger, snapshot, place)
  }

  private mutating func begin(
    _ exchange: StateExchange, _ finger: QueueFinger, _ snapshot: ZulipAccount.Snapshot,
    _ place: Int
  ) {
    lives[place].registers += 1
    lives[place].evidence.batches = []
    lives[place].evidence.pages = []
    lives[place].lastNews = exchange.ended
    if !lives[place].fed.register(snapshot, finger) {
      var reason = "\(lives[place].fed.client)"
      do throws(ZulipError) { _ = try ZulipState(snapshot: snapshot.state) } catch {
        reason = "\(error)"
      }
      differ(exchange.line, "a register", expected: "a state at \(finger)", reason)
    }
  }

  /// A client polls a queue that it had registered while it had another: that one it has given up.
  private mutating func goOn(with queue: QueueID) {
    guard let place = lives.firstIndex(where: { $0.next?.queue == queue }),
      let exchange = lives[place].next?.exchange,
      case .registered(let finger, let snapshot, parameters: _) = exchange.kind
    else { return }
    lives[place].next = nil
    lives[place].closing = nil
    if lives[place].fed.queue != nil { lives[place].fed.fail(.expired) }
    begin(exchange, finger, snapshot, place)
  }

  private mutating func poll(_ exchange: StateExchange, _ events: ZulipEvents, _ place: Int) {
    // A page that had come before this poll left is one that its answer would explain.
    if let last = lives[place].evidence.pages.last, last.page.ended <= exchange.sent {
      lives[place].fed.asked()
    }
    let before = lives[place].fed.model
    let finger = lives[place].fed.client.finger
    guard lives[place].fed.take(events.batch) else {
      // What the recorder was given when it asked from elsewhere; that is told by another check.
      guard
        case .next(_, let first, _) = finger.map({
          FedReplica.Queue.advance($0, over: events.batch)
        })
      else {
        lives[place].notFollowed += 1
        return
      }
      var reason = "\(lives[place].fed.client)"
      if var model = before?.state {
        do throws(ZulipError) {
          for event in events.events[first...] { try model.apply(event) }
        } catch { reason = "\(error)" }
      }
      return differ(exchange.line, "these events", expected: "a state that has them", reason)
    }
    let new = events.events.filter { $0.id > (finger?.lastEventID ?? .max) }
    lives[place].events += new.count
    lives[place].evidence.batches.append(new)
    if !new.isEmpty {
      lives[place].lastNews = exchange.ended
      lives[place].evidence.pages = []
    }
    if let violation = lives[place].fed.violation {
      differ(exchange.line, "the replica", expected: violation.rule, violation.found)
    }
    if let closing = lives[place].closing {
      lives[place].closing = nil
      if new.isEmpty {
        lives[place].fed.askAgain(lives[place].evidence.pages)
        compare(closing, place)
      }
    }
  }

  // MARK: Pages

  private mutating func ask(_ page: StatePage) {
    for place in lives.indices where lives[place].user == page.user {
      guard let account = lives[place].fed.model else { continue }
      lives[place].fetches[page.line] = lives[place].fed.ask(page.question(of: account))
    }
  }

  private mutating func take(_ page: StatePage) {
    for place in lives.indices {
      guard let fetch = lives[place].fetches.removeValue(forKey: page.line),
        let held = lives[place].fed.model?.messages
      else { continue }
      lives[place].pages += 1
      if page.sent >= lives[place].lastNews {
        lives[place].evidence.pages.append(LatePage(page: page, held: held))
      }
      lives[place].fed.take(page.page, for: fetch)
    }
  }

  // MARK: Comparing

  private mutating func compare(
    _ closing: (line: Int, state: ZulipState, count: Int64?), _ place: Int
  ) {
    guard let state = lives[place].fed.model?.state else { return }
    let client = lives[place].client
    lives[place].compared += 1
    lives[place].rows += closing.state.rows.count
    for difference in StateDifference.all(from: closing.state, to: state) {
      let text = difference.texts
      let evidence = lives[place].evidence
      var what = "\(difference.place), after all events of \(client)"
      if let excuse = evidence.excuse(for: difference, of: state.myself) {
        guard let line = evidence.line(ofPageAgainst: difference) else {
          lives[place].explained += 1
          report.explained.append(
            "\(client), line \(closing.line): \(difference.place): \(text.expected) at the server, "
              + "\(text.found) here: \(excuse.rawValue)")
          continue
        }
        what += ": \(excuse.rawValue), but the page of line \(line) shows it, and mends it"
      }
      differ(closing.line, what, expected: text.expected, text.found)
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
      "\(life.client): \(life.registers) registered, \(life.events) events, \(life.pages) pages, "
      + "\(life.compared) compared with \(life.rows) rows, \(life.explained) explained"
    if life.notFollowed > 0 { text += ", \(life.notFollowed) polls not followed" }
    let counts = life.fed.model?.state.counts ?? ZulipCounts()
    let passed =
      [
        ("of unknown types", counts.unknownTypes.values.reduce(0, +)),
        ("unknown fields", counts.unknownFields.values.reduce(0, +)),
        ("not asked for", counts.notHeld), ("about what is not there", counts.strays),
      ].filter { $0.1 > 0 }.map { "\($0.1) \($0.0)" }
    return passed.isEmpty ? text : text + "; passed over: " + passed.joined(separator: ", ")
  }
}
