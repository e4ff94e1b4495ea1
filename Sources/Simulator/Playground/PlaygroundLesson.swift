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
///     > wait 1s
///     ! client 2 shows Milk
///     ? What the learner is asked before the next scene.
///     break name-of-a-mutant
///     protocol client-view
///     -- What is switched off, and what to try.
///     > wait 1s
///     ! client 2 shows nothing
///     ! right: client 2 shows Milk
///
/// A break switches one rule off, by a mutant of the Zoo. Its steps begin anew. They are done
/// twice: without the rule, which shows the harm, and with it. The lines between `break` and `--`
/// may be left out: then its protocol and its number of clients are the lesson's.
package struct PlaygroundLesson: Sendable {
  package internal(set) var title: String
  package internal(set) var played = PlayedProtocol.eventQueue
  package internal(set) var clients = 2
  package internal(set) var complaint = ""
  package internal(set) var scenes: [Scene] = []
  package internal(set) var breaks: [Break] = []

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
    /// In a break: something is to be seen where the rule is in force. There a sight is of where it
    /// is off.
    case rightSight(String)
  }

  /// A rule that is switched off.
  package struct Break: Sendable {
    /// The name of the mutant that switches it off.
    package internal(set) var mutant: String
    package internal(set) var played: PlayedProtocol
    package internal(set) var clients: Int
    package internal(set) var text = ""
    package internal(set) var acts: [Act] = []
    /// Whether its text has begun.
    fileprivate var isTold = false
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
    if let mutant = line.after("break ") {
      guard !scenes.isEmpty else { return "a break comes after the scenes" }
      breaks.append(Break(mutant: mutant, played: played, clients: clients))
      return nil
    }
    guard breaks.isEmpty else { return breaks[breaks.count - 1].take(line) }
    if let text = line.after("--") {
      scenes.append(Scene(text: text))
      return nil
    }
    guard !scenes.isEmpty else { return takeHead(line) }
    let last = scenes.count - 1
    if let step = line.after("> ") {
      scenes[last].acts.append(.step(step))
      return PlaygroundLesson.mistake(inStep: step)
    } else if let sight = line.after("! ") {
      scenes[last].acts.append(.sight(sight))
      return PlaygroundLesson.mistake(inSight: sight)
    } else if let question = line.after("? ") {
      scenes[last].question = question
    } else {
      scenes[last].text += (scenes[last].text.isEmpty ? "" : " ") + String(line)
    }
    return nil
  }

  fileprivate static func mistake(inStep step: String) -> String? {
    mistake(in: step) { words throws(ScenarioError) in _ = try PlaygroundStep(&words) }
  }

  fileprivate static func mistake(inSight sight: String) -> String? {
    mistake(in: sight) { words throws(ScenarioError) in _ = try PlaygroundSight(&words) }
  }

  private static func mistake(
    in text: String, _ read: (inout Words) throws(ScenarioError) -> Void
  ) -> String? {
    var words = Words(text, number: 1)
    do throws(ScenarioError) { try read(&words) } catch {
      return "expected \(error.expected), found \(error.found)"
    }
    return nil
  }

  private mutating func takeHead(_ line: Substring) -> String? {
    if let complaint = line.after("complaint ") {
      self.complaint = complaint
      return nil
    }
    if let complaint = PlaygroundLesson.takeSetting(line, &played, &clients) {
      return complaint.isEmpty ? nil : complaint
    }
    return "before the first scene come protocol, clients and complaint"
  }

  /// Takes a line that names a protocol or a number of clients. Returns what is wrong with it, or
  /// an empty text; `nil`: it is another line.
  fileprivate static func takeSetting(
    _ line: Substring, _ played: inout PlayedProtocol, _ clients: inout Int
  ) -> String? {
    if let name = line.after("protocol ") {
      guard let named = PlayedProtocol(rawValue: name) else {
        return "there is no protocol \(name)"
      }
      played = named
      return ""
    }
    guard let count = line.after("clients ") else { return nil }
    guard let number = Int(count), PlaygroundSession.clientsAllowed.contains(number) else {
      return "1 to 4 clients"
    }
    clients = number
    return ""
  }

  /// For a page.
  package static func json(_ lessons: [PlaygroundLesson]) -> String {
    "\(JSONValue.array(lessons.map { .object($0.json) }))"
  }

  private var json: JSONObject {
    JSONObject(
      of: ("title", .string(title)), ("protocol", .string(played.rawValue)),
      ("clients", JSONValue(integerLiteral: Int64(clients))), ("complaint", .string(complaint)),
      (
        "scenes",
        .array(
          scenes.map { scene in
            .object(
              JSONObject(
                of: ("text", .string(scene.text)),
                ("question", scene.question.map { .string($0) }),
                ("acts", .array(scene.acts.map { .object($0.json) }))))
          })
      ),
      (
        "breaks",
        .array(
          breaks.map {
            .object(
              JSONObject(
                of: ("mutant", .string($0.mutant)), ("protocol", .string($0.played.rawValue)),
                ("clients", JSONValue(integerLiteral: Int64($0.clients))),
                ("text", .string($0.text)),
                ("acts", .array($0.acts.map { .object($0.json) }))))
          })
      ))
  }
}

extension PlaygroundLesson.Break {
  /// Takes a line; returns what is wrong with it.
  fileprivate mutating func take(_ line: Substring) -> String? {
    if let beginning = line.after("--") {
      guard !isTold else { return "a break has one scene" }
      isTold = true
      text = beginning
    } else if !isTold {
      guard let complaint = PlaygroundLesson.takeSetting(line, &played, &clients) else {
        return "before the text of a break come protocol and clients"
      }
      return complaint.isEmpty ? nil : complaint
    } else if let step = line.after("> ") {
      acts.append(.step(step))
      return PlaygroundLesson.mistake(inStep: step)
    } else if let sight = line.after("! ") {
      let right = sight[...].after("right: ")
      acts.append(right.map { .rightSight($0) } ?? .sight(sight))
      return PlaygroundLesson.mistake(inSight: right ?? sight)
    } else {
      text += (text.isEmpty ? "" : " ") + String(line)
    }
    return nil
  }
}

extension PlaygroundLesson.Act {
  fileprivate var json: JSONObject {
    switch self {
    case .step(let step): JSONObject(of: ("step", .string(step)))
    case .sight(let sight): JSONObject(of: ("sight", .string(sight)))
    case .rightSight(let sight): JSONObject(of: ("right", .string(sight)))
    }
  }
}

extension Substring {
  /// What comes after a beginning, without spaces around it; `nil`: it begins otherwise.
  fileprivate func after(_ beginning: String) -> String? {
    guard utf8.starts(with: beginning.utf8) else { return nil }
    return String(dropFirst(beginning.count).drop { $0 == " " })
  }
}
