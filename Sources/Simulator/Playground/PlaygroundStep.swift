internal import SyncProtocols
internal import UpdateMachine

/// One thing that happens in a playground, as a sentence that a person writes. The link to a
/// session holds its steps as text.
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
  /// How long the server takes to make a snapshot from now on.
  case snapshot(TimeSpan)
  /// All logs expire.
  case expire
  /// The server restarts, with or without what it knows of its clients.
  case restart(keepingQueues: Bool)
  /// Somebody changes posts at the server.
  case somebody(Somebody)
  /// Something happens at a client. Clients are numbered from 1.
  case client(Int, AtClient)

  /// One thing that happens at a client.
  enum AtClient: Sendable {
    /// The user makes a new item. Items are numbered from 1.
    case create(title: String)
    /// The user writes the title of an item.
    case rename(Int64, title: String)
    case delete(Int64)
    /// The user opens a window on a topic; `nil`: on the whole channel.
    case open(topic: String?)
    case look(Look)
    case close
    /// The user decides about a change that is refused or uncertain.
    case retry(MutationTicket)
    case discard(MutationTicket)
    /// The user takes back the newest change, or the newest undo.
    case undo
    case redo
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

  /// What somebody does to posts, which have numbers.
  enum Somebody: Sendable {
    case post(String, topic: String)
    case change(Int64, to: String)
    case delete(Int64)
    case move(Int64, topic: String)

    /// The post that must be there.
    var post: Int64? {
      switch self {
      case .post: nil
      case .change(let post, _), .delete(let post), .move(let post, _): post
      }
    }
  }

  /// Where a user looks in a list.
  enum Look: Hashable, Sendable {
    case up
    case down
    case at(Int64)
    case atEnd
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
  static let beginnings = [
    "next", "wait", "client", "message", "messages", "snapshots", "the", "somebody",
  ]

  /// Reads a line that is a step.
  init(_ words: inout Words) throws(ScenarioError) {
    switch try words.take(oneOf: PlaygroundStep.beginnings) {
    case "next": self = .next
    case "wait": self = .wait(try words.span())
    case "message": self = try PlaygroundStep.message(&words)
    case "messages":
      try words.require("take")
      self = .latency(try words.span())
    case "snapshots":
      try words.require("take")
      self = .snapshot(try words.span())
    case "client":
      let client = try words.client()
      self = .client(client.number, try AtClient(&words, itsOwn: client.isOwner))
    case "somebody": self = .somebody(try PlaygroundStep.somebody(&words))
    case _: self = try PlaygroundStep.server(&words)
    }
    try words.requireEnd()
  }

  private static func message(_ words: inout Words) throws(ScenarioError) -> PlaygroundStep {
    let number = try words.ordinal("message")
    if try words.take(oneOf: ["arrives", "is"]) == "arrives" { return .deliver(number) }
    return try words.take(oneOf: ["lost", "repeated"]) == "lost" ? .lose(number) : .repeat(number)
  }

  private static func somebody(_ words: inout Words) throws(ScenarioError) -> Somebody {
    let verb = try words.take(oneOf: ["posts", "changes", "deletes", "moves"])
    if verb == "posts" {
      let error = words.error("a text, then \"in\" and a topic")
      let text = Array(try words.rest("a text, then \"in\" and a topic").utf8)
      // The last "in" counts: a text may have one, too.
      let mark = Array(" in ".utf8)
      for start in text.indices.reversed() where text[start...].starts(with: mark) {
        guard start > 0, start + mark.count < text.count else { break }
        return .post(
          String(decoding: text[..<start], as: UTF8.self),
          topic: String(decoding: text[(start + mark.count)...], as: UTF8.self))
      }
      throw error
    }
    try words.require("post")
    let post = Int64(try words.ordinal("post"))
    guard verb != "deletes" else { return .delete(post) }
    try words.require("to")
    return verb == "moves"
      ? .move(post, topic: try words.rest("a topic")) : .change(post, to: try words.rest("a text"))
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
      "creates", "renames", "deletes", "opens", "scrolls", "jumps", "closes", "sends", "gives",
      "undoes", "redoes", "goes", "comes", "crashes", "starts", "sleeps", "is", "logs",
    ]
    let verb = try words.take(oneOf: verbs)
    switch verb {
    case "creates": self = .create(title: try words.rest("a title"))
    case "renames":
      try words.require("item")
      let item = Int64(try words.ordinal("item"))
      try words.require("to")
      self = .rename(item, title: try words.rest("a title"))
    case "deletes":
      try words.require("item")
      self = .delete(Int64(try words.ordinal("item")))
    case "opens", "scrolls", "jumps", "closes":
      self = try PlaygroundStep.AtClient.window(verb, &words)
    case "sends":
      self = .retry(try words.change())
      try words.require("again")
    case "gives":
      try words.require("up")
      self = .discard(try words.change())
    case "undoes": self = .undo
    case "redoes": self = .redo
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

  private static func window(
    _ verb: String, _ words: inout Words
  ) throws(ScenarioError) -> Self {
    switch verb {
    case "opens":
      if try words.take(oneOf: ["topic", "the"]) == "topic" {
        return .open(topic: try words.rest("a topic"))
      }
      try words.require("channel")
      return .open(topic: nil)
    case "scrolls":
      return .look(try words.take(oneOf: ["up", "down"]) == "up" ? .up : .down)
    case "jumps":
      try words.require("to")
      if try words.take(oneOf: ["post", "the"]) == "post" {
        return .look(.at(Int64(try words.ordinal("post"))))
      }
      try words.require("end")
      return .look(.atEnd)
    case _:
      try words.require("its", "window")
      return .close
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
