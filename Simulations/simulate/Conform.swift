import Foundation
import SyncProtocols
import UpdateMachine

/// `simulate conform`: whether the machine answers recorded conversations to the letter.
struct Conformance {
  var conversations = 0
  var steps = 0
  /// How many conversations, and how many of the steps gone through, agree.
  var agreeing = 0
  var agreeingSteps = 0
  var firstDifference: String?

  mutating func add(_ conversation: Conversation, at place: String) {
    conversations += 1
    steps += conversation.steps.count
    var machine = Machine<QueueFinger>(life: conversationLife, settings: conversation.settings)
    if let restored = conversation.restored {
      machine = Machine(
        restoring: restored.finger, terms: restored.terms, age: restored.age,
        at: Moment(milliseconds: 0), life: conversationLife, settings: conversation.settings)
    }
    for (index, step) in conversation.steps.enumerated() {
      let before = machine
      var effects: [Conversation.Effect] = []
      if let input = step.input.input(for: machine) {
        effects = machine.handle(input, at: step.at).list
      }
      if let difference = difference(step, machine: machine, effects: effects) {
        if firstDifference == nil {
          firstDifference = """
            \(place): "\(conversation.name)", step \(index + 1) of \(conversation.steps.count) \
            (at \(step.at)): \(step.input)
              before    \(before)
            \(difference)
            """
        }
        return
      }
      agreeingSteps += 1
    }
    agreeing += 1
  }

  private func difference(
    _ step: Conversation.Step, machine: Machine<QueueFinger>, effects: [Conversation.Effect]
  ) -> String? {
    var lines: [String] = []
    func compare(_ what: String, _ expected: String, _ found: String) {
      guard expected != found else { return }
      lines.append("  expected  \(what) \(expected)")
      lines.append("  found     \(what) \(found)")
    }
    compare("status", step.status, machine.status.description)
    compare("effects", "\(step.effects)", "\(effects)")
    compare("freshness", step.freshness, machine.freshness(at: step.at).description)
    if let violation = machine.violation() {
      lines.append("  violated  \(violation.rule): \(violation.found)")
    }
    return lines.isEmpty ? nil : lines.joined(separator: "\n")
  }
}

extension Said: CustomStringConvertible {
  /// The input for a machine that stands where this one does; `nil`: nothing is put in.
  func input(for machine: Machine<QueueFinger>) -> Conversation.Input? {
    switch self {
    case .look: return nil
    case .input(let input): return input
    case .polled(let id, let lastEventID):
      guard let finger = machine.finger, lastEventID > finger.lastEventID else {
        return .polled(id, movedTo: nil)
      }
      return .polled(id, movedTo: QueueFinger(queue: finger.queue, lastEventID: lastEventID))
    }
  }

  var description: String {
    switch self {
    case .look: "look"
    case .input(let input): input.description
    case .polled(let id, let lastEventID): "polled \(id), last event \(lastEventID)"
    }
  }
}

extension Simulate {
  static let conformCommand = Command(
    name: "conform",
    summary: "replay conversations with the machine, to the letter",
    help: """
      Usage: simulate conform [FILE…]

      Replays conversations of the machine, a JSON object a line: after each input the status, the
      effects and the freshness must be exactly those in the file. Without a file: the copy that
      ships with the project.

      Prints how many conversations and steps agree, and the first difference.
      Exit codes: 0 all agree, 1 one differs, 2 a file cannot be read.
      """,
    run: { words, console in
      let arguments = try Arguments(words, takesFiles: true)
      let files =
        arguments.files.isEmpty ? [Shipped.recording("machine.jsonl")] : arguments.files
      return try conform(files, console)
    })

  static func conform(_ files: [String], _ console: Console) throws(FileError) -> ExitCode {
    var conformance = Conformance()
    for file in files {
      let lines = try numberedLines(of: file)
      guard !lines.isEmpty else { throw FileError(message: "\(file): holds no conversation") }
      for (number, line) in lines {
        if Interrupt.wasAsked { break }
        let conversation: Conversation
        do {
          conversation = try JSONDecoder().decode(Conversation.self, from: line)
        } catch {
          throw FileError(message: "\(file):\(number): \(reason(error))")
        }
        conformance.add(conversation, at: "\(file):\(number)")
      }
    }
    if let difference = conformance.firstDifference { console.out(difference) }
    console.out(
      "conform: \(conformance.agreeing) of \(conformance.conversations) conversations agree, "
        + "\(conformance.agreeingSteps) of \(conformance.steps) steps")
    if Interrupt.wasAsked {
      console.out("Interrupted: this is what was done so far.")
      return .interrupted
    }
    return conformance.agreeing == conformance.conversations ? .success : .failure
  }
}
