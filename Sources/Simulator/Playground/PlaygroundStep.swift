internal import SyncProtocols
internal import UpdateMachine

/// One thing that happens in a playground, as a sentence that a person writes. The link to a session
/// holds its steps as text.
enum PlaygroundStep: Sendable {
  /// The next thing that is due happens.
  case next
  /// Time passes, and all that is due in it happens.
  case wait(TimeSpan)
  /// A message arrives now, is lost, or is repeated. Messages are numbered from 1.
  case deliver(Int)
  case lose(Int)
  case `repeat`(Int)
  /// How long a message is on its way from now on.
  case latency(TimeSpan)
  /// All logs expire.
  case expire
  /// The server restarts, with or without what it knows of its clients.
  case restart(keepingQueues: Bool)
  /// Something happens at a client. Clients are numbered from 1.
  case client(Int, AtClient)

  /// One thing that happens at a client.
  enum AtClient: Sendable {
    /// The user makes a new item. Items are numbered from 1.
    case create(title: String)
    /// The user writes the title of an item.
    case rename(Int64, title: String)
    case delete(Int64)
    /// The user decides about a change that is refused or uncertain.
    case retry(MutationTicket)
    case discard(MutationTicket)
    /// The app tells its client something.
    case tell(AppSignal)
    case goOffline
    case goOnline
    case crash
    case start
    /// The disk has no room, or has room again.
    case fill
    case free
    case sleep(TimeSpan)
    /// The wall clock jumps forward.
    case clock(TimeSpan)
  }

  /// The signals that an app can give, each with the end of a sentence about a client.
  static let signals: [(word: String, sentence: String, signal: AppSignal)] = [
    ("foregrounded", "comes to the foreground", .foregrounded),
    ("backgrounded", "goes to the background", .backgrounded),
    ("network-changed", "is told of another network", .networkChanged),
    ("retry", "is told to retry", .retryRequested),
    ("credentials-changed", "is told of new credentials", .credentialsChanged),
    ("stopped", "is told to stop", .stopped),
    ("started", "is told to start", .started(foreground: true)),
    ("logged-out", "logs out", .loggedOut),
  ]

  /// The words with which a step can begin.
  static let beginnings = ["next", "wait", "client", "message", "messages", "the"]

  /// Reads a line that is a step.
  init(_ words: inout Words) throws(ScenarioError) {
    switch try words.take(oneOf: PlaygroundStep.beginnings) {
    case "next": self = .next
    case "wait": self = .wait(try words.span())
    case "message": self = try PlaygroundStep.message(&words)
    case "messages":
      try words.require("take")
      self = .latency(try words.span())
    case "client":
      let client = try words.client()
      self = .client(client.number, try AtClient(&words, itsOwn: client.isOwner))
    case _: self = try PlaygroundStep.server(&words)
    }
    try words.requireEnd()
  }

  private static func message(_ words: inout Words) throws(ScenarioError) -> PlaygroundStep {
    let number = try words.ordinal("message")
    if try words.take(oneOf: ["arrives", "is"]) == "arrives" { return .deliver(number) }
    return try words.take(oneOf: ["lost", "repeated"]) == "lost" ? .lose(number) : .repeat(number)
  }

  private static func server(_ words: inout Words) throws(ScenarioError) -> PlaygroundStep {
    try words.require("server")
    if try words.take(oneOf: ["forgets", "restarts"]) == "forgets" {
      try words.require("its", "logs")
      return .expire
    }
    guard words.take("and") else { return .restart(keepingQueues: true) }
    try words.require("forgets", "its", "clients")
    return .restart(keepingQueues: false)
  }
}

extension PlaygroundStep.AtClient {
  /// - Parameter itsOwn: it is about something of the client: "client 1's disk is full".
  fileprivate init(_ words: inout Words, itsOwn: Bool) throws(ScenarioError) {
    guard !itsOwn else {
      self = try PlaygroundStep.AtClient.device(&words)
      return
    }
    let verbs = [
      "creates", "renames", "deletes", "sends", "gives", "goes", "comes", "crashes", "starts",
      "sleeps", "is", "logs",
    ]
    switch try words.take(oneOf: verbs) {
    case "creates": self = .create(title: try words.rest("a title"))
    case "renames":
      try words.require("item")
      let item = Int64(try words.ordinal("item"))
      try words.require("to")
      self = .rename(item, title: try words.rest("a title"))
    case "deletes":
      try words.require("item")
      self = .delete(Int64(try words.ordinal("item")))
    case "sends":
      self = .retry(try words.change())
      try words.require("again")
    case "gives":
      try words.require("up")
      self = .discard(try words.change())
    case "goes": self = try PlaygroundStep.AtClient.going(&words)
    case "comes":
      try words.require("to", "the", "foreground")
      self = .tell(.foregrounded)
    case "crashes": self = .crash
    case "starts": self = .start
    case "sleeps": self = .sleep(try words.span())
    case "is": self = .tell(try PlaygroundStep.AtClient.told(&words))
    case _:
      try words.require("out")
      self = .tell(.loggedOut)
    }
  }

  private static func going(_ words: inout Words) throws(ScenarioError) -> Self {
    switch try words.take(oneOf: ["off", "on", "to"]) {
    case "to":
      try words.require("the", "background")
      return .tell(.backgrounded)
    case let way:
      try words.require("line")
      return way == "on" ? .goOnline : .goOffline
    }
  }

  private static func told(_ words: inout Words) throws(ScenarioError) -> AppSignal {
    try words.require("told")
    if try words.take(oneOf: ["to", "of"]) == "of" {
      if try words.take(oneOf: ["another", "new"]) == "another" {
        try words.require("network")
        return .networkChanged
      }
      try words.require("credentials")
      return .credentialsChanged
    }
    switch try words.take(oneOf: ["start", "stop", "retry"]) {
    case "start": return .started(foreground: true)
    case "stop": return .stopped
    case _: return .retryRequested
    }
  }

  private static func device(_ words: inout Words) throws(ScenarioError) -> Self {
    if try words.take(oneOf: ["disk", "clock"]) == "clock" {
      try words.require("jumps")
      return .clock(try words.span())
    }
    if try words.take(oneOf: ["is", "has"]) == "is" {
      try words.require("full")
      return .fill
    }
    try words.require("room")
    return .free
  }
}

extension Words {
  /// A number of at most nine digits, from 1.
  mutating func ordinal(_ thing: String) throws(ScenarioError) -> Int {
    try value("the number of the \(thing)", Words.ordinal)
  }

  private static func ordinal(_ word: String) -> Int? {
    guard (1...9).contains(word.utf8.count), let number = Int(word), number > 0 else { return nil }
    return number
  }

  /// "1", or "1's": something of the client follows.
  mutating func client() throws(ScenarioError) -> (number: Int, isOwner: Bool) {
    try value("the number of the client") { word in
      if let number = Words.ordinal(word) { return (number, false) }
      let bytes = Array(word.utf8)
      guard bytes.suffix(2) == [UInt8(ascii: "'"), UInt8(ascii: "s")] else { return nil }
      let number = Words.ordinal(String(decoding: bytes.dropLast(2), as: UTF8.self))
      return number.map { ($0, true) }
    }
  }

  /// "change 3".
  fileprivate mutating func change() throws(ScenarioError) -> MutationTicket {
    try require("change")
    return MutationTicket(UInt64(try ordinal("change")))
  }
}
