internal import UpdateMachine

// Sessions that chance directs, by a seed: for a person who wants to see something happen, and for
// a test that compares the page with native code.

extension PlaygroundSession {
  /// A step that chance chooses and that can be done now. The same seed and number choose the same
  /// step for the same session.
  package func stepByChance(seed: UInt64, number: Int) -> String {
    var choices = Choices(seed: StateDigest.mixed(seed) &+ UInt64(number))
    let scene = scene
    for _ in 0..<20 {
      let step = scene.step(&choices)
      var copy = self
      if copy.perform(step) == nil { return step }
    }
    return "wait 1s"
  }

  /// Directs two clients by a seed, which also chooses the protocol. Returns a line with a digest
  /// of all that a page shows at the end: the state, the whole conversation, and the diagram.
  package static func told(seed: UInt64) -> String {
    let all = PlayedProtocol.allCases
    let played = all[Int(seed % UInt64(all.count))]
    var session = PlaygroundSession(played, clients: 2)
    for number in 0..<stepsPerSeed {
      _ = session.perform(session.stepByChance(seed: seed, number: number))
    }
    var digest = StateDigest()
    session.state.fold(into: &digest)
    session.picture("seed \(seed)").latest(300).svg.fold(into: &digest)
    return "seed \(seed): \(played.rawValue), \(digest)"
  }

  private static var stepsPerSeed: Int { 60 }

  private var scene: Scene {
    switch world {
    case .eventQueue(let some): some.scene
    case .clientView(let some): some.scene
    case .recordSync(let some): some.scene
    case .tableSync(let some): some.scene
    case .eventStream(let some): some.scene
    case .messages(let some): some.scene
    }
  }

  /// What chance chooses from.
  fileprivate struct Scene {
    let clients: Int
    let hasPosts: Bool
    /// The messages on their way.
    let travelling: [Int]
    let items: Int64

    func step(_ choices: inout Choices) -> String {
      func pick(_ steps: [String]) -> String { choices.pick(.workload, steps) }
      let client = "client \(1 + choices.draw(.workload, below: UInt64(clients)))"
      switch choices.draw(.workload, below: 20) {
      case 0..<7: return "next"
      case 7..<10: return pick(["wait 150ms", "wait 1s", "wait 10s", "wait 1min", "wait 11min"])
      case 10..<14: return hasPosts ? look(client, &choices) : edit(client, &choices)
      case 14..<16:
        guard !travelling.isEmpty else { return "next" }
        let message = travelling[Int(choices.draw(.workload, below: UInt64(travelling.count)))]
        return "message \(message) " + pick(["arrives", "is lost", "is lost", "is repeated"])
      case 16: return pick(["messages take 100ms", "messages take 2s", "snapshots take 2s"])
      case 17:
        let ends = ["forgets its logs", "restarts", "restarts and forgets its clients"]
        return "the server " + pick(ends)
      case _:
        // What ends a trouble comes as often as what begins one.
        let ends = [
          " goes off line", " goes on line", " crashes", " starts", " sleeps 11min",
          "'s clock jumps 1h", "'s disk is full", "'s disk has room", " goes to the background",
          " comes to the foreground", " is told to retry", " is told of another network",
        ]
        return client + pick(ends)
      }
    }

    private func edit(_ client: String, _ choices: inout Choices) -> String {
      let title = choices.pick(.workload, ["Milk", "Tea", "Bread", "Rice", "Jam", "Salt"])
      guard items > 0 else { return "\(client) creates \(title)" }
      let item = 1 + choices.draw(.workload, below: UInt64(items))
      switch choices.draw(.workload, below: 5) {
      case 0..<2: return "\(client) creates \(title)"
      case 2..<4: return "\(client) renames item \(item) to \(title)"
      case _: return "\(client) deletes item \(item)"
      }
    }

    private func look(_ client: String, _ choices: inout Choices) -> String {
      let topic = choices.pick(.workload, ["lunch", "dinner"])
      let post = 1 + choices.draw(.workload, below: 40)
      let steps = [
        "\(client) opens topic \(topic)", "\(client) opens the channel", "\(client) scrolls up",
        "\(client) scrolls up", "\(client) scrolls down", "\(client) jumps to post \(post)",
        "\(client) jumps to the end", "\(client) closes its window",
        "somebody posts Hello in \(topic)", "somebody changes post \(post) to Hi",
        "somebody deletes post \(post)", "somebody moves post \(post) to \(topic)",
      ]
      return choices.pick(.workload, steps)
    }
  }
}

extension PlaygroundWorld {
  fileprivate var scene: PlaygroundSession.Scene {
    PlaygroundSession.Scene(
      clients: devices.count, hasPosts: App.played == .messages,
      travelling: messages.indices.filter {
        if case .travels = messages[$0].fate { true } else { false }
      }.map { $0 + 1 }, items: made.itemCount)
  }
}
