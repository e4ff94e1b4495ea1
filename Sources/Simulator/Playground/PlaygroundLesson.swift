internal import SyncProtocols
internal import UpdateMachine

/// A lesson: a session in scenes. Each scene tells something, does some steps, and says what is to
/// be seen then. It may ask what the learner expects of the next scene.
///
/// As text, each line begins with what it is:
///
///     = The title
///     protocol event-queue
///     clients 2
///     complaint What a user says who meets the bug.
///     -- A scene begins.
///     What it tells, on any number of lines.
///     > wait 1000
///     ! client 2 shows Milk
///     ? What the learner is asked before the next scene.
package struct PlaygroundLesson: Sendable {
  package internal(set) var title: String
  package internal(set) var spoken = LibraryWorld.SpokenProtocol.eventQueue
  package internal(set) var clients = 2
  package internal(set) var complaint = ""
  package internal(set) var scenes: [Scene] = []

  /// One scene.
  package struct Scene: Sendable {
    package internal(set) var text = ""
    package internal(set) var question: String?
    package internal(set) var acts: [Act] = []
  }

  /// What happens in a scene.
  package enum Act: Hashable, Sendable {
    /// A step is done, as ``PlaygroundSession/perform(_:)`` reads it.
    case step(String)
    /// Something is to be seen, as ``PlaygroundSession/objection(to:)`` reads it.
    case sight(String)
  }

  /// What is wrong with a text of lessons, and in which line, from 1.
  package struct Mistake: Error, Hashable, Sendable, CustomStringConvertible {
    package var line: Int
    package var what: String

    package var description: String { "line \(line): \(what)" }
  }

  init(title: String) { self.title = title }

  /// Reads the lessons of a text. Lines that begin with `#` are comments.
  package static func lessons(in text: String) throws(Mistake) -> [PlaygroundLesson] {
    var lessons: [PlaygroundLesson] = []
    var number = 0
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      number += 1
      guard let first = line.utf8.first, first != UInt8(ascii: "#") else { continue }
      if let title = line.after("= ") {
        lessons.append(PlaygroundLesson(title: title))
      } else if lessons.isEmpty {
        throw Mistake(line: number, what: "a lesson begins with = and its title")
      } else if let what = lessons[lessons.count - 1].take(line) {
        throw Mistake(line: number, what: what)
      }
    }
    return lessons
  }

  /// Takes a line; returns what is wrong with it.
  private mutating func take(_ line: Substring) -> String? {
    if let text = line.after("--") {
      scenes.append(Scene(text: text))
      return nil
    }
    guard !scenes.isEmpty else { return takeHead(line) }
    let last = scenes.count - 1
    if let step = line.after("> ") {
      guard PlaygroundStep(step) != nil else { return "there is no such step: \(step)" }
      scenes[last].acts.append(.step(step))
    } else if let sight = line.after("! ") {
      guard PlaygroundSight(sight) != nil else { return "nothing can be seen so: \(sight)" }
      scenes[last].acts.append(.sight(sight))
    } else if let question = line.after("? ") {
      scenes[last].question = question
    } else {
      scenes[last].text += (scenes[last].text.isEmpty ? "" : " ") + String(line)
    }
    return nil
  }

  private mutating func takeHead(_ line: Substring) -> String? {
    if let name = line.after("protocol ") {
      guard let spoken = LibraryWorld.SpokenProtocol(rawValue: name) else {
        return "there is no protocol \(name)"
      }
      self.spoken = spoken
    } else if let count = line.after("clients ") {
      guard let clients = Int(count), PlaygroundSession.clientsAllowed.contains(clients) else {
        return "1 to 4 clients"
      }
      self.clients = clients
    } else if let complaint = line.after("complaint ") {
      self.complaint = complaint
    } else {
      return "before the first scene come protocol, clients and complaint"
    }
    return nil
  }

  /// For a page.
  package static func json(_ lessons: [PlaygroundLesson]) -> String {
    "\(JSONValue.array(lessons.map { .object($0.json) }))"
  }

  private var json: JSONObject {
    JSONObject(
      of: ("title", .string(title)), ("protocol", .string(spoken.rawValue)),
      ("clients", JSONValue(integerLiteral: Int64(clients))), ("complaint", .string(complaint)),
      (
        "scenes",
        .array(
          scenes.map { scene in
            let acts = scene.acts.map { act in
              switch act {
              case .step(let step): JSONObject(of: ("step", .string(step)))
              case .sight(let sight): JSONObject(of: ("sight", .string(sight)))
              }
            }
            return .object(
              JSONObject(
                of: ("text", .string(scene.text)),
                ("question", scene.question.map { .string($0) }),
                ("acts", .array(acts.map { .object($0) }))))
          })
      ))
  }
}

/// Something that can be seen in a session.
enum PlaygroundSight {
  /// The titles of the items, ascending by item.
  case shows(Int, [String])
  case serverHas([String])
  /// The first word of a freshness claim.
  case claims(Int, String)
  /// The beginning of a status.
  case isIn(Int, String)
  case pending(Int, Int64)

  /// `nil`: it is nothing that can be seen.
  init?(_ text: String) {
    var words = PlaygroundWords(text)
    switch words.next() {
    case "server":
      guard words.next() == "has", let titles = words.rest() else { return nil }
      self = .serverHas(PlaygroundSight.titles(titles))
    case "client":
      guard let client = words.number(), let verb = words.next(), let rest = words.rest() else {
        return nil
      }
      switch verb {
      case "shows": self = .shows(client, PlaygroundSight.titles(rest))
      case "claims": self = .claims(client, rest)
      case "is": self = .isIn(client, rest)
      case "has":
        var words = PlaygroundWords(rest)
        guard let count = words.number(), words.next() == "pending", words.isEmpty else {
          return nil
        }
        self = .pending(client, Int64(count))
      default: return nil
      }
    default: return nil
    }
  }

  /// "Milk, Tea"; "nothing".
  private static func titles(_ text: String) -> [String] {
    text == "nothing" ? [] : text.split(separator: ",").map { String($0.drop { $0 == " " }) }
  }
}

extension PlaygroundSession {
  /// Says what is to be seen instead; `nil`: it is as the sight says, or there is no such sight.
  package func objection(to sight: String) -> String? {
    guard let wanted = PlaygroundSight(sight) else { return nil }
    let state = object
    func client(_ number: Int) -> JSONValue? {
      let clients = state["clients"]?.array ?? []
      return clients.indices.contains(number - 1) ? clients[number - 1] : nil
    }
    let found: String
    switch wanted {
    case .serverHas(let titles):
      let shown = PlaygroundSession.titles(state["server"]?["items"])
      if shown == titles { return nil }
      found = shown.joined(separator: ", ")
    case .shows(let number, let titles):
      let shown = PlaygroundSession.titles(client(number)?["items"])
      if shown == titles { return nil }
      found = shown.joined(separator: ", ")
    case .claims(let number, let word):
      let claim = client(number)?["claim"]?.string ?? "nothing"
      if claim[...].after(word) != nil { return nil }
      found = claim
    case .isIn(let number, let word):
      let status = client(number)?["status"]?.string ?? "not running"
      if status[...].after(word) != nil { return nil }
      found = status
    case .pending(let number, let count):
      let pending = Int64(client(number)?["pending"]?.array?.count ?? 0)
      if pending == count { return nil }
      found = "\(pending)"
    }
    return found.isEmpty ? "nothing" : found
  }

  private static func titles(_ items: JSONValue?) -> [String] {
    (items?.array ?? []).map { $0["fields"]?["title"]?.string ?? "" }
  }
}

extension Substring {
  /// What comes after a beginning, without spaces around it; `nil`: it begins otherwise.
  fileprivate func after(_ beginning: String) -> String? {
    guard utf8.starts(with: beginning.utf8) else { return nil }
    return String(dropFirst(beginning.count).drop { $0 == " " })
  }
}
