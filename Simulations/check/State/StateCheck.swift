import SyncProtocols
import UpdateMachine
import ZulipSync

/// Follows each client of a recording with a replica of its account, from its register through
/// every event. Then it compares the realm's state with the state that a later register gave the
/// same client.
///
/// To allow a comparison, a client registers while it still has its queue. The new state can be
/// compared if the next poll of the old queue finds nothing new. If the old queue was lost before,
/// the replica takes the new register and follows on from there. It does the same if the new queue
/// is polled from then on.
///
/// The replica's messages get the pages that its user asked for, in the order in which those were
/// sent and came. What a page mends in a message it also mends in the state.
struct StateCheck {
  private(set) var report = Report()
  private var sessions: [Session] = []
  private var departures: [ZulipFields] = []
  private var madePrivate: Set<Int64> = []
  private let mendsState: Bool

  /// What was found in one file.
  struct Report {
    var sessions: [String] = []
    var events = 0
    /// How many registers were compared.
    var compared = 0
    var rows = 0
    var explained: [String] = []
    var differences: [Difference] = []

    var isEmpty: Bool { sessions.isEmpty && differences.isEmpty }

    static func += (one: inout Report, other: Report) {
      one.sessions += other.sessions
      one.events += other.events
      one.compared += other.compared
      one.rows += other.rows
      one.explained += other.explained
      one.differences += other.differences
    }

    /// The table's lines.
    var texts: [String] {
      guard !isEmpty else { return [] }
      return sessions.map { "  state        \($0)" } + ["  explained    \(explained.count)"]
        + explained.map { "    \($0)" }
    }
  }

  /// One client with one set of parameters.
  private struct Session {
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
    /// The fetches that are out, by the lines of their pages.
    var fetches: [Int: RequestID] = [:]
    /// When the last answer with a new event came.
    var lastNews = Int64.min
    /// A register that waits for proof that nothing happened before it.
    var closing: (line: Int, state: ZulipState, count: Int64?)?
    /// The new queue and its register, in case the client goes on with that queue.
    var next: (queue: QueueID, exchange: StateExchange)?
  }

  private enum Step {
    case ended(StateExchange)
    case asked(StatePage)
    case came(StatePage)
  }

  /// - Parameter mendsState: whether the state is told what pages have mended in messages.
  init(_ recording: StateRecording, mendsState: Bool = true) {
    self.mendsState = mendsState
    report.differences = recording.differences
    guard recording.hasState else { return }
    departures = recording.exchanges.flatMap(\.events).filter {
      $0.type == "subscription" && $0.fields["op"] == "peer_remove"
    }.map(\.fields)
    madePrivate = Set(recording.exchanges.flatMap(\.events).compactMap(\.channelMadePrivate))
    for step in StateCheck.steps(of: recording) {
      switch step {
      case .ended(let exchange): take(exchange)
      case .asked(let page): ask(page)
      case .came(let page): take(page)
      }
    }
    for session in sessions {
      report.sessions.append(StateCheck.text(of: session))
      report.events += session.events
      report.compared += session.compared
      report.rows += session.rows
    }
  }

  /// All steps in the order in which they happened to a client. A request leaves before whatever
  /// ends at the same moment.
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
      guard let place = sessions.firstIndex(where: { $0.fed.queue == queue }) else { return }
      poll(exchange, events, place)
    case .failed(let queue, let failure):
      guard let place = sessions.firstIndex(where: { $0.fed.queue == queue }) else { return }
      sessions[place].fed.fail(failure)
      sessions[place].closing = nil
    case .released(let queue):
      guard let place = sessions.firstIndex(where: { $0.fed.queue == queue }) else { return }
      // The client's next register begins another session of the same replica, which has lost this
      // queue, too.
      sessions[place].fed.fail(.expired)
      sessions[place].closing = nil
    }
  }

  private mutating func register(
    _ exchange: StateExchange, _ finger: QueueFinger, _ snapshot: ZulipAccount.Snapshot,
    _ parameters: String
  ) {
    let known = sessions.firstIndex {
      $0.client == exchange.client && $0.parameters == parameters
    }
    if let known, sessions[known].fed.queue != nil {
      do throws(ZulipError) {
        let state = try ZulipState(snapshot: snapshot.state)
        let count = snapshot.state.fields["unread_msgs"]?.fields?["count"]?.number
        sessions[known].closing = (exchange.line, state, count)
        sessions[known].next = (finger.queue, exchange)
      } catch {
        differ(exchange.line, "a state", expected: "what the protocol says of it", "\(error)")
      }
      return
    }
    let place = known ?? sessions.count
    if known == nil {
      sessions.append(
        Session(
          client: exchange.client, user: exchange.user, parameters: parameters,
          fed: FedReplica(at: exchange.sentAt, mendsState: mendsState),
          evidence: StateEvidence(
            snapshot.state.registration, departures: departures, madePrivate: madePrivate)))
    }
    begin(exchange, finger, snapshot, place)
  }

  private mutating func begin(
    _ exchange: StateExchange, _ finger: QueueFinger, _ snapshot: ZulipAccount.Snapshot,
    _ place: Int
  ) {
    sessions[place].registers += 1
    sessions[place].evidence.batches = []
    sessions[place].evidence.pages = []
    sessions[place].lastNews = exchange.ended
    if !sessions[place].fed.register(snapshot, finger) {
      var reason = "\(sessions[place].fed.client)"
      do throws(ZulipError) { _ = try ZulipState(snapshot: snapshot.state) } catch {
        reason = "\(error)"
      }
      differ(exchange.line, "a register", expected: "a state at \(finger)", reason)
    }
  }

  /// A client polls a queue that it had registered while it had another. So it has given the other
  /// up.
  private mutating func goOn(with queue: QueueID) {
    guard let place = sessions.firstIndex(where: { $0.next?.queue == queue }),
      let exchange = sessions[place].next?.exchange,
      case .registered(let finger, let snapshot, parameters: _) = exchange.kind
    else { return }
    sessions[place].next = nil
    sessions[place].closing = nil
    if sessions[place].fed.queue != nil { sessions[place].fed.fail(.expired) }
    begin(exchange, finger, snapshot, place)
  }

  private mutating func poll(_ exchange: StateExchange, _ events: ZulipEvents, _ place: Int) {
    // If a page came before this poll left, the poll's answer would explain what the page shows.
    if let last = sessions[place].evidence.pages.last, last.page.ended <= exchange.sent {
      sessions[place].fed.asked()
    }
    let before = sessions[place].fed.model
    let finger = sessions[place].fed.client.finger
    guard sessions[place].fed.take(events.batch) else {
      // The recorder asked from another event ID. Another check reports that.
      guard
        case .next(_, let first, _) = finger.map({
          FedReplica.Queue.advance($0, over: events.batch)
        })
      else {
        sessions[place].notFollowed += 1
        return
      }
      var reason = "\(sessions[place].fed.client)"
      if var model = before?.state {
        do throws(ZulipError) {
          for event in events.events[first...] { try model.apply(event) }
        } catch { reason = "\(error)" }
      }
      return differ(exchange.line, "these events", expected: "a state that has them", reason)
    }
    let new = events.events.filter { $0.id > (finger?.lastEventID ?? .max) }
    sessions[place].events += new.count
    sessions[place].evidence.batches.append(new)
    if !new.isEmpty {
      sessions[place].lastNews = exchange.ended
      sessions[place].evidence.pages = []
    }
    if let violation = sessions[place].fed.violation {
      differ(exchange.line, "the replica", expected: violation.rule, violation.found)
    }
    if let closing = sessions[place].closing {
      sessions[place].closing = nil
      if new.isEmpty {
        sessions[place].fed.askAgain(sessions[place].evidence.pages)
        compare(closing, place)
      }
    }
  }

  // MARK: Pages

  private mutating func ask(_ page: StatePage) {
    for place in sessions.indices where sessions[place].user == page.user {
      guard let account = sessions[place].fed.model else { continue }
      sessions[place].fetches[page.line] = sessions[place].fed.ask(page.question(of: account))
    }
  }

  private mutating func take(_ page: StatePage) {
    for place in sessions.indices {
      guard let fetch = sessions[place].fetches.removeValue(forKey: page.line),
        let held = sessions[place].fed.model?.messages
      else { continue }
      sessions[place].pages += 1
      if page.sent >= sessions[place].lastNews {
        sessions[place].evidence.pages.append(LatePage(page: page, held: held))
      }
      sessions[place].fed.take(page.page, for: fetch)
    }
  }

  // MARK: Comparing

  private mutating func compare(
    _ closing: (line: Int, state: ZulipState, count: Int64?), _ place: Int
  ) {
    guard let state = sessions[place].fed.model?.realm else { return }
    let client = sessions[place].client
    sessions[place].compared += 1
    sessions[place].rows += closing.state.rows.count
    for difference in StateDifference.all(from: closing.state, to: state) {
      let text = difference.texts
      let evidence = sessions[place].evidence
      var what = "\(difference.place), after all events of \(client)"
      if let excuse = evidence.excuse(for: difference, of: state.myself) {
        guard let line = evidence.line(ofPageAgainst: difference) else {
          sessions[place].explained += 1
          report.explained.append(
            "\(client), line \(closing.line): \(difference.place): \(text.expected) at the server, "
              + "\(text.found) here: \(excuse.rawValue)")
          continue
        }
        what += ": \(excuse.rawValue), but the page of line \(line) shows it, and mends it"
      }
      differ(closing.line, what, expected: text.expected, text.found)
    }
    // The state does not hold this count but derives it, so it is compared separately.
    let unread = Int64(state.unreadCount)
    let isSame = StateCheck.counted(state) == StateCheck.counted(closing.state)
    if let count = closing.count, isSame, unread != count {
      differ(
        closing.line, "unread_msgs.count, after all events of \(client)", expected: "\(count)",
        "\(unread)")
    }
  }

  /// The unread messages as they are counted: in any spelling of their topics.
  private static func counted(_ state: ZulipState) -> [ZulipState.Unread] {
    state.unread.map { message in
      var message = message
      message.topic = ""
      return message
    }
  }

  private mutating func differ(_ line: Int, _ what: String, expected: String, _ found: String) {
    report.differences.append(
      Difference(line: line, what: what, expected: expected, found: found))
  }

  /// For example "hamlet/modern: 1 registered, 347 events, …".
  private static func text(of session: Session) -> String {
    var text =
      "\(session.client): \(session.registers) registered, \(session.events) events, \(session.pages) pages, "
      + "\(session.compared) compared with \(session.rows) rows, \(session.explained) explained"
    if session.notFollowed > 0 { text += ", \(session.notFollowed) polls not followed" }
    let counts = session.fed.model?.realm.counts ?? ZulipCounts()
    let ignored: [(what: String, count: Int64)] = [
      ("of unknown types", counts.unknownTypes.values.reduce(0, +)),
      ("of unknown ops", counts.unknownOps.values.reduce(0, +)),
      ("unknown fields", counts.unknownFields.values.reduce(0, +)),
      ("not asked for", counts.notHeld), ("about what is not there", counts.strays),
    ]
    let passed = ignored.filter { $0.count > 0 }.map { "\($0.count) \($0.what)" }
    return passed.isEmpty ? text : text + "; passed over: " + passed.joined(separator: ", ")
  }
}
