internal import SyncProtocols
internal import UpdateMachine

/// Looks for the fewest steps that show what harm it does to switch a rule off. The same steps are
/// done in two sessions: with the rule, and without it.
///
/// After the steps everything is repaired: the apps run, the devices are on line, and all messages
/// arrive. Then there is harm if an oracle objects to the session without the rule, and not to the
/// one with it. All ways of one step are tried first, then all of two, and so on, so the first one
/// found is a shortest. It is bounded, and does a little at a time.
///
/// Only the app of client 1 crashes, and only its device goes off line or sleeps: otherwise every
/// way would be tried twice, with the clients exchanged.
package struct PlaygroundSearch: Sendable {
  package enum Outcome: Hashable, Sendable {
    case searching
    /// The steps, those that repair everything, and the harm in words.
    case found([String], settling: [String], harm: String)
    /// All ways within the bounds were tried.
    case exhausted
  }

  /// The most steps, and the most ways to try.
  package static let depthMaximum = 6
  package static let triesMaximum = 100_000

  package private(set) var outcome = Outcome.searching
  /// How many ways were tried, and how many steps those have that are tried now.
  package private(set) var tried = 0
  package private(set) var depth = 0

  private struct Pair: Sendable {
    var right: PlaygroundSession
    var broken: PlaygroundSession
  }

  private enum Move: Sendable {
    case step(String)
    /// A client makes an item that has no title of another.
    case create(Int)
    case set(Int)
    /// The message that left last is lost.
    case loseNewest
  }

  /// A beginning of ways, and which of its continuations comes next.
  private struct Level: Sendable {
    var pair: Pair
    /// The move that has led here; `nil`: it is the beginning.
    var last: Move?
    var next = 0
  }

  private let clients: Int
  private let beginning: Pair
  private let moves: [Move]
  private var levels: [Level] = []
  private var path: [String] = []
  /// How many of the steps in the path make or rename an item.
  private var edits: Int {
    levels.count { level in
      switch level.last {
      case .create, .set: true
      case .step, .loseNewest, nil: false
      }
    }
  }

  private static let titles = ["Milk", "Tea", "Bread", "Rice", "Jam", "Salt"]

  /// - Parameter turn: switches the rule off if it gets `true`, and on again if it gets `false`.
  ///   It is called before each use of a session.
  package init(_ played: PlayedProtocol, clients: Int, turn: (Bool) -> Void) {
    turn(false)
    let right = PlaygroundSession(played, clients: clients)
    turn(true)
    let broken = PlaygroundSession(played, clients: clients)
    self.init(right: right, broken: broken, clients: clients)
  }

  /// Both sessions have so many clients, as few as one.
  init(right: PlaygroundSession, broken: PlaygroundSession, clients: Int) {
    self.clients = clients
    beginning = Pair(right: right, broken: broken)
    var moves: [Move] = [.create(1), .set(1)]
    if clients > 1 { moves += [.create(2), .set(2), .step("client 2 is told to retry")] }
    let steps = [
      "wait 150ms", "wait 1s", "wait 1min", "wait 11min", "client 1 goes off line",
      "client 1 goes on line", "client 1 crashes", "client 1 starts", "client 1 sleeps 11min",
      "the server restarts and forgets its clients", "messages take 1s", "snapshots take 2s",
    ]
    self.moves = moves + steps.map { .step($0) } + [.loseNewest]
  }

  /// Goes on by so many steps of the search.
  package mutating func advance(_ count: Int, turn: (Bool) -> Void) {
    for _ in 0..<count {
      guard outcome == .searching else { return }
      advance(turn)
    }
  }

  private mutating func advance(_ turn: (Bool) -> Void) {
    guard let level = levels.last else {
      depth += 1
      if depth > PlaygroundSearch.depthMaximum { outcome = .exhausted }
      levels = [Level(pair: beginning)]
      return
    }
    guard level.next < moves.count else {
      levels.removeLast()
      if !path.isEmpty { path.removeLast() }
      return
    }
    levels[levels.count - 1].next += 1
    var pair = level.pair
    guard let step = text(of: moves[level.next], in: pair) else { return }
    turn(false)
    guard pair.right.perform(step) == nil else { return }
    turn(true)
    guard pair.broken.perform(step) == nil else { return }
    path.append(step)
    guard path.count == depth else {
      levels.append(Level(pair: pair, last: moves[level.next]))
      return
    }
    tried += 1
    if let (harm, settling) = harm(in: &pair, turn) {
      outcome = .found(path, settling: settling, harm: harm)
    } else if tried == PlaygroundSearch.triesMaximum {
      outcome = .exhausted
    }
    path.removeLast()
  }

  /// `nil`: it cannot be done.
  private func text(of move: Move, in pair: Pair) -> String? {
    switch move {
    case .step(let step):
      // A second long wait shows nothing that the first one does not.
      return step == path.last && step != "wait 150ms" ? nil : step
    case .create(let client): return "client \(client) creates \(newTitle)"
    case .set(let client): return "client \(client) renames item 1 to \(newTitle)"
    case .loseNewest:
      guard let newest = pair.right.newestTravelling, newest == pair.broken.newestTravelling else {
        return nil
      }
      return "message \(newest) is lost"
    }
  }

  private var newTitle: String {
    PlaygroundSearch.titles[edits]
  }

  // MARK: Harm

  /// Returns the harm, and the steps that have repaired everything until it showed.
  private func harm(in pair: inout Pair, _ turn: (Bool) -> Void) -> (String, [String])? {
    let early = excess(in: pair, turn) ?? harm(now: pair, isRepaired: false, turn)
    if let early { return (early, []) }
    var settling: [String] = []
    func settle(_ step: String) -> String? {
      turn(false)
      let right = pair.right.perform(step)
      turn(true)
      let broken = pair.broken.perform(step)
      if right == nil && broken == nil { settling.append(step) }
      return right == nil ? broken : nil
    }
    for client in 1...clients {
      _ = settle("client \(client) goes on line")
      _ = settle("client \(client) starts")
    }
    // One more item shows whether the clients still hear of what happens.
    for step in [
      "messages take 100ms", "snapshots take 0s", "wait 1min", "client \(clients) creates News",
      "wait 1min", "wait 10min",
    ] {
      if let complaint = settle(step), step == "wait 10min" { return (complaint, settling) }
      if let harm = excess(in: pair, turn) { return (harm, settling) }
    }
    return harm(now: pair, isRepaired: true, turn).map { ($0, settling) }
  }

  private func sketches(
    of pair: Pair, _ turn: (Bool) -> Void
  ) -> (right: PlaygroundSketch, broken: PlaygroundSketch) {
    turn(false)
    let right = pair.right.sketch
    turn(true)
    return (right, pair.broken.sketch)
  }

  private func excess(in pair: Pair, _ turn: (Bool) -> Void) -> String? {
    let (right, broken) = sketches(of: pair, turn)
    for (index, client) in broken.clients.enumerated()
    where client.asked >= 60 && right.clients[index].asked < 30 {
      return "client \(index + 1) asked \(client.asked) times in a minute, "
        + "and with the rule \(right.clients[index].asked) times"
    }
    if broken.asked >= 3 * clients, broken.asked >= 3 * right.asked {
      return "the server was asked \(broken.asked) times in a second, "
        + "and with the rule \(right.asked) times"
    }
    return nil
  }

  private func harm(now pair: Pair, isRepaired: Bool, _ turn: (Bool) -> Void) -> String? {
    let (right, broken) = sketches(of: pair, turn)
    for (index, client) in broken.clients.enumerated() {
      let other = right.clients[index]
      // What a user has just made differs from the server for a moment. That is no harm.
      let isExcused = isRepaired ? !other.isLevel : other.isConnected || client.hasPending
      if client.isConnected, !client.isLevel, !isExcused {
        return "client \(index + 1) claims connected, and differs from the server"
      }
      if isRepaired, !client.isConnected, other.isConnected {
        return "client \(index + 1) does not come back"
      }
    }
    if isRepaired, broken.server != right.server {
      return "the server has other items than with the rule"
    }
    return nil
  }

  /// For a page.
  package var json: String {
    var object = JSONObject(
      of: ("tried", JSONValue(integerLiteral: Int64(tried))),
      ("depth", JSONValue(integerLiteral: Int64(depth))))
    func list(_ steps: [String]) -> JSONValue { .array(steps.map { .string($0) }) }
    switch outcome {
    case .searching: object["state"] = "searching"
    case .exhausted:
      object["state"] = "exhausted"
      object["depth"] = JSONValue(integerLiteral: Int64(depth - 1))
    case .found(let steps, let settling, let harm):
      object["state"] = "found"
      object["steps"] = list(steps)
      object["settling"] = list(settling)
      object["harm"] = .string(harm)
    }
    return "\(JSONValue.object(object))"
  }
}

/// What the oracles of a search look at.
struct PlaygroundSketch: Sendable {
  var server: JSONValue
  /// How often it was asked in the last second.
  var asked: Int
  var clients: [Client]

  struct Client: Sendable {
    var isConnected: Bool
    /// Whether it shows what the server has.
    var isLevel: Bool
    var hasPending: Bool
    /// How often it has asked in the last minute.
    var asked: Int
  }
}

extension PlaygroundWorld {
  var sketch: PlaygroundSketch {
    PlaygroundSketch(
      server: App.things(on: server, made), asked: askedLately,
      clients: devices.indices.map { index in
        let device = devices[index]
        let body = device.client
        return PlaygroundSketch.Client(
          isConnected: device.isRunning && body.freshness(at: now).claim == .connected,
          isLevel: device.isRunning
            && App.isLevel(body, through: device.window, with: server, made),
          hasPending: !body.pending.isEmpty, asked: asked(by: index))
      })
  }

  /// The number of the message that left last, of those on their way.
  var newestTravelling: Int? {
    messages.lastIndex { if case .travels = $0.fate { true } else { false } }.map { $0 + 1 }
  }
}

extension PlaygroundSession {
  var sketch: PlaygroundSketch {
    switch world {
    case .eventQueue(let some): some.sketch
    case .clientView(let some): some.sketch
    case .recordSync(let some): some.sketch
    case .tableSync(let some): some.sketch
    case .eventStream(let some): some.sketch
    case .messages(let some): some.sketch
    }
  }

  var newestTravelling: Int? {
    switch world {
    case .eventQueue(let some): some.newestTravelling
    case .clientView(let some): some.newestTravelling
    case .recordSync(let some): some.newestTravelling
    case .tableSync(let some): some.newestTravelling
    case .eventStream(let some): some.newestTravelling
    case .messages(let some): some.newestTravelling
    }
  }
}
