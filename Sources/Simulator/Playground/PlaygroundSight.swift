internal import SyncProtocols
internal import UpdateMachine

/// Something that can be seen in a session, as a sentence.
enum PlaygroundSight: Sendable {
  /// The titles of the items, ascending by item.
  case serverHas([String])
  case shows(Int, [String])
  /// The first word of a freshness claim.
  case claims(Int, String)
  /// A status, or its beginning.
  case isIn(Int, String)
  /// So many changes are pending.
  case pending(Int, Int)
  /// What has become of a change.
  case change(Int, MutationTicket, String)
  /// How often a client has asked in the last minute.
  case asked(Int, Bounds)
  /// How often the server was asked in the last second.
  case wasAsked(Bounds)

  enum Bounds: Sendable {
    case atLeast(Int)
    case atMost(Int)

    func contains(_ count: Int) -> Bool {
      switch self {
      case .atLeast(let bound): count >= bound
      case .atMost(let bound): count <= bound
      }
    }
  }

  /// Reads all that is left of a line.
  init(_ words: inout Words) throws(ScenarioError) {
    if try words.take(oneOf: ["client", "the"]) == "the" {
      try words.require("server")
      if try words.take(oneOf: ["has", "was"]) == "has" {
        self = .serverHas(try PlaygroundSight.titles(&words))
      } else {
        try words.require("asked")
        self = .wasAsked(try PlaygroundSight.bounds(&words, "second"))
      }
      return
    }
    let client = try words.client()
    if client.isOwner {
      try words.require("change")
      let number = try words.ordinal("change")
      try words.require("is")
      let ticket = MutationTicket(UInt64(number))
      self = .change(client.number, ticket, try words.phrase(of: PlaygroundSight.stages))
    } else {
      self = try PlaygroundSight.sight(of: client.number, &words)
    }
    try words.requireEnd()
  }

  private static func sight(
    of client: Int, _ words: inout Words
  ) throws(ScenarioError) -> PlaygroundSight {
    switch try words.take(oneOf: ["shows", "claims", "is", "has", "asked"]) {
    case "shows": return .shows(client, try titles(&words))
    case "claims": return .claims(client, try words.take(oneOf: claims))
    case "asked": return .asked(client, try bounds(&words, "minute"))
    case "is": return .isIn(client, try words.phrase(of: statuses))
    case _:
      let count = try words.value("a number of changes") { word in
        Int(word).flatMap { $0 < 0 ? nil : $0 }
      }
      try words.require("pending")
      return .pending(client, count)
    }
  }

  /// The client that it is about; `nil`: it is about the server.
  var client: Int? {
    switch self {
    case .serverHas, .wasAsked: nil
    case .shows(let number, _), .claims(let number, _), .isIn(let number, _),
      .pending(let number, _), .change(let number, _, _), .asked(let number, _):
      number
    }
  }

  static let claims = [
    "unknown", "connecting", "connected", "unreachable", "resting", "halted",
  ]
  static let statuses = [
    "stale", "idle", "registering", "registerFailed", "live", "live.polling", "live.writing",
    "live.pausing", "pollFailed", "halted", "not running",
  ]
  static let stages = [
    "not sent", "about to leave", "sent", "accepted", "uncertain", "set aside",
  ]

  /// "at least 4 times in a second".
  private static func bounds(_ words: inout Words, _ unit: String) throws(ScenarioError) -> Bounds {
    try words.require("at")
    let word = try words.take(oneOf: ["least", "most"])
    let count = try words.value("a number") { word in Int(word).flatMap { $0 < 0 ? nil : $0 } }
    try words.require("times", "in", "a", unit)
    try words.requireEnd()
    return word == "least" ? .atLeast(count) : .atMost(count)
  }

  /// "Milk, Tea", or "nothing".
  private static func titles(_ words: inout Words) throws(ScenarioError) -> [String] {
    let text = try words.rest("titles with commas between them, or \"nothing\"")
    guard text != "nothing" else { return [] }
    return text.utf8.split(separator: UInt8(ascii: ",")).map { part in
      String(Substring(part.drop { $0 == UInt8(ascii: " ") }))
    }
  }
}

extension Words {
  /// Takes the rest of the line if it is one of these.
  fileprivate mutating func phrase(of all: [String]) throws(ScenarioError) -> String {
    let error = self.error(Words.list(all))
    let text = try rest(Words.list(all))
    guard all.contains(text) else { throw error }
    return text
  }
}

extension PlaygroundSession {
  /// Reads what is to be seen, and says what is there instead; `nil`: it is as the text says.
  package func objection(to text: String) -> String? {
    var words = Words(text, number: 1)
    do throws(ScenarioError) {
      return objection(to: try PlaygroundSight(&words))
    } catch {
      return "expected \(error.expected), found \(error.found)"
    }
  }

  /// Says what is to be seen instead; `nil`: it is as the sight says.
  func objection(to sight: PlaygroundSight) -> String? {
    let state = object
    let clients = state["clients"]?.array ?? []
    func client(_ number: Int) -> JSONValue? { clients[number - 1] }
    if let number = sight.client, !clients.indices.contains(number - 1) {
      return "there is no client \(number), only \(clients.count)"
    }
    switch sight {
    case .serverHas(let titles): return objection(to: titles, in: state["server"])
    case .shows(let number, let titles): return objection(to: titles, in: client(number))
    case .claims(let number, let word):
      let claim = client(number)?["claim"]?.string ?? "nothing"
      return claim.utf8.starts(with: word.utf8) ? nil : claim
    case .isIn(let number, let word):
      let status = client(number)?["status"]?.string ?? "not running"
      return status.utf8.starts(with: word.utf8) ? nil : status
    case .pending(let number, let count):
      let pending = client(number)?["pending"]?.array?.count ?? 0
      return pending == count ? nil : "\(pending)"
    case .change(let number, let ticket, let stage):
      let found = PlaygroundSession.stage(of: ticket, in: client(number))
      return found == stage ? nil : found
    case .asked(let number, let bounds):
      let count = client(number)?["asked"]?.int64 ?? 0
      return bounds.contains(Int(count)) ? nil : "\(count) times"
    case .wasAsked(let bounds):
      let count = state["server"]?["asked"]?.int64 ?? 0
      return bounds.contains(Int(count)) ? nil : "\(count) times"
    }
  }

  private func objection(to titles: [String], in place: JSONValue?) -> String? {
    let shown = PlaygroundSession.titles(of: place?["items"])
    if shown == titles { return nil }
    return shown.isEmpty ? "nothing" : shown.joined(separator: ", ")
  }

  /// The titles of things, with "a gap" for each gap and "formerly" before what may be there no
  /// more.
  static func titles(of things: JSONValue?) -> [String] {
    (things?.array ?? []).map { thing in
      if thing["gap"] != nil { return "a gap" }
      let title = thing["fields"]?["title"]?.string ?? ""
      return thing["former"] == nil ? title : "formerly \(title)"
    }
  }

  private static func stage(of ticket: MutationTicket, in client: JSONValue?) -> String {
    let number = JSONValue(integerLiteral: Int64(ticket.number))
    for change in client?["pending"]?.array ?? [] where change["ticket"] == number {
      return change["stage"]?.string ?? ""
    }
    guard let aside = client?["setAside"]?.array else { return "not running" }
    return aside.contains { $0["ticket"] == number } ? "set aside" : "not pending"
  }
}
