internal import SyncProtocols
internal import UpdateMachine

// What a server owes, judged where its answers leave it.

extension World {
  /// Whether the server is one that keeps its contract, and that holds a poll until there is news.
  private var judgesServer: Bool {
    configuration.plant == nil && server.terms.cadence == .waits && server.breachCount == 0
  }

  /// Whether its logs are Zulip's queues, which forget only what was acknowledged. Others may
  /// forget more, and say when they will give a sign of life.
  static var hasQueues: Bool { Place.self == QueueFinger.self }

  /// A poll, before the server takes it; `nil`: it is not judged.
  func asked(_ finger: Place, waits: Bool) -> ServerOracle<Place>.Asked? {
    guard judgesServer, let log = server.index(of: finger.log) else { return nil }
    let isAlive = server.isAlive(at: log)
    let position = server.position(of: finger, inLog: log)
    let number = Server.number(of: finger)
    return ServerOracle.Asked(
      log: log, number: number, isAlive: isAlive,
      isKnown: World.hasQueues && position != nil && serverOracle.isKnown(number, in: log),
      news: position.flatMap { server.firstNews(after: $0) }, waits: waits)
  }

  /// Judges what the server did with a poll; `nil`: it waits.
  mutating func judge(
    _ reply: Server.Reply?, to asked: ServerOracle<Place>.Asked?, from finger: Place, _ client: Int
  ) {
    guard let asked else { return }
    let done: ServerOracle<Place>.Done
    if let reply {
      if let failure = reply.failure() {
        done = .refused(failure)
      } else if case .batch(let batch) = reply {
        let advance = Server.Sync.advance(finger, over: batch)
        // A client that takes a sound answer for a gap asks for everything again, and is level
        // soon.
        if advance == .gap {
          report(("an answer from \(finger) follows on it", "a gap: \(batch)"), client)
        }
        done = .told(isEmpty: advance == .seen)
      } else {
        return
      }
    } else {
      if server.isBehind(on: finger) { return }
      done = .waits
    }
    let objection = serverOracle.objection(
      to: done, asked, lifetime: server.terms.lifetime,
      isLimited: faultPlan.server.requestsPerWindow != nil, at: now)
    if let objection { report(objection, client) }
    serverOracle.mayEndWaits = true  // Of the poll that this one replaces.
  }

  /// Judges a server that has a twin, with or without a plant. Only native code can ask whether it
  /// has one, and an app's server need not say that it has none.
  mutating func judgeTwin() {
    #if !hasFeature(Embedded)
      // The type is asked first, since the server itself is costly to copy.
      guard Server.self is any TwinnedServer.Type,
        let unlike = (server as? any TwinnedServer)?.unlikeTwin
      else { return }
      checker.report(.server, nil, now, "a server answers as its protocol says", unlike)
    #endif
  }

  /// Judges the waits that have just ended, and those that have not.
  mutating func judgeWaits(ended: [EndedWait<App.Truth.Snapshot, Server.Sync>]) {
    defer { serverOracle.mayEndWaits = false }
    guard judgesServer else { return }
    for wait in ended where World.hasQueues && !serverOracle.mayEndWaits {
      let exchange = exchanges[Int(wait.waiter & 0xFFFF_FFFF)]
      guard exchange.generation == wait.waiter >> 32, case .batch(let batch) = wait.reply,
        case .poll(let finger, _) = exchange.kind,
        Server.Sync.advance(finger, over: batch) == .seen, now < exchange.waitsUntil
      else { continue }
      report(("a wait ends when there is something to tell", "\(batch)"), exchange.client)
    }
    for exchange in exchanges where exchange.isWaiting {
      guard case .poll(let finger, _) = exchange.kind else { continue }
      var words: String { "it waits from \(finger)" }
      guard let log = server.index(of: finger.log), server.isAlive(at: log) else {
        report(("a wait ends with its log", words), exchange.client)
        continue
      }
      let position = server.position(of: finger, inLog: log)
      if let news = position.flatMap({ server.firstNews(after: $0) }), !server.isBehind(on: finger)
      {
        report(("a wait ends with the news of \(news)", words), exchange.client)
      }
      if World.hasQueues, now > exchange.waitsUntil {
        let rule = "a wait ends with a sign of life by \(exchange.waitsUntil)"
        report((rule, words), exchange.client)
      }
    }
  }

  private mutating func report(_ objection: (expected: String, found: String), _ client: Int) {
    checker.report(.server, client, now, objection.expected, objection.found)
  }
}
