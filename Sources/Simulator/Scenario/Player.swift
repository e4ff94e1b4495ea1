internal import UpdateMachine

/// What plays the directives of a text, one after the other.
enum Player {
  /// Machines, which the text answers itself.
  case machines(Stage)
  /// Whole clients with their server.
  case session(SessionPlayer)

  /// Performs the directive of a line. The first one of a scenario chooses the player. Returns the
  /// output.
  static func perform(
    _ words: inout Words, in player: inout Player?
  ) throws(ScenarioError) -> [String] {
    switch player {
    case nil:
      if let session = try SessionPlayer(&words) {
        player = .session(session)
        return session.beginning
      }
      player = .machines(Stage())
      return try perform(&words, in: &player)
    case .machines(var stage):
      player = nil  // So that the stage is not copied.
      let output = try stage.perform(try Directive(&words), line: words.number)
      player = .machines(stage)
      return output
    case .session(var session):
      player = nil
      let output = try session.perform(&words)
      player = .session(session)
      return output
    }
  }
}

/// Plays steps of whole clients, and looks at what is to be seen.
struct SessionPlayer {
  private(set) var session: PlaygroundSession
  /// How many lines of the session are in the output already.
  private var told = 0

  /// What happens before the first step.
  let beginning: [String]

  /// `nil`: the line begins a scenario of machines.
  fileprivate init?(_ words: inout Words) throws(ScenarioError) {
    guard words.next == "world" else {
      guard let word = words.next, SessionPlayer.beginnings.contains(word) else { return nil }
      throw words.error("a first line such as \"world event-queue clients=2\"")
    }
    session = try PlaygroundSession(&words)
    beginning = session.told(after: 0)
    told = beginning.count
  }

  private static let beginnings = PlaygroundStep.beginnings + ["see"]

  /// Performs the directive of a line. Returns what happens because of it.
  mutating func perform(_ words: inout Words) throws(ScenarioError) -> [String] {
    if words.take("see") {
      try see(&words)
      return []
    }
    guard let first = words.next, SessionPlayer.beginnings.contains(first) else {
      throw words.error(Words.list(SessionPlayer.beginnings))
    }
    let whole = words
    if let refusal = session.perform(try PlaygroundStep(&words)) {
      throw SessionPlayer.error(
        whole, "a step that can be done now", "one that cannot: \(refusal)")
    }
    let new = session.told(after: told)
    told += new.count
    return new
  }

  private func see(_ words: inout Words) throws(ScenarioError) {
    let whole = words
    guard let found = session.objection(to: try PlaygroundSight(&words)) else { return }
    var rest = whole
    throw SessionPlayer.error(whole, try rest.rest("what is to be seen"), found)
  }

  private static func error(_ words: Words, _ expected: String, _ found: String) -> ScenarioError {
    ScenarioError(line: words.number, expected: expected, found: found)
  }
}
