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
package struct PlaygroundLesson: Sendable {
  package internal(set) var title: String
  package internal(set) var played = PlayedProtocol.eventQueue
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
      scenes[last].acts.append(.step(step))
      return mistake(in: step) { words throws(ScenarioError) in _ = try PlaygroundStep(&words) }
    } else if let sight = line.after("! ") {
      scenes[last].acts.append(.sight(sight))
      return mistake(in: sight) { words throws(ScenarioError) in _ = try PlaygroundSight(&words) }
    } else if let question = line.after("? ") {
      scenes[last].question = question
    } else {
      scenes[last].text += (scenes[last].text.isEmpty ? "" : " ") + String(line)
    }
    return nil
  }

  private func mistake(
    in text: String, _ read: (inout Words) throws(ScenarioError) -> Void
  ) -> String? {
    var words = Words(text, number: 1)
    do throws(ScenarioError) { try read(&words) } catch {
      return "expected \(error.expected), found \(error.found)"
    }
    return nil
  }

  private mutating func takeHead(_ line: Substring) -> String? {
    if let name = line.after("protocol ") {
      guard let played = PlayedProtocol(rawValue: name) else {
        return "there is no protocol \(name)"
      }
      self.played = played
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
      of: ("title", .string(title)), ("protocol", .string(played.rawValue)),
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

extension Substring {
  /// What comes after a beginning, without spaces around it; `nil`: it begins otherwise.
  fileprivate func after(_ beginning: String) -> String? {
    guard utf8.starts(with: beginning.utf8) else { return nil }
    return String(dropFirst(beginning.count).drop { $0 == " " })
  }
}
