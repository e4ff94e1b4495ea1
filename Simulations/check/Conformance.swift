import Foundation
import SyncProtocols
import UpdateMachine

/// The command `simulate conform`. It checks that the machine answers recorded conversations to the
/// letter.
package struct Conformance {
  private var counts = Counts()
  private var firstDifference: String?
  package private(set) var agrees = true
  /// Whether the user has interrupted.
  private let isInterrupted: () -> Bool

  package init(isInterrupted: @escaping () -> Bool) { self.isInterrupted = isInterrupted }

  /// The counts of one file.
  private struct Counts {
    var conversations = 0
    var steps = 0
    /// How many conversations agree. `agreeingSteps` counts the steps that do.
    var agreeing = 0
    var agreeingSteps = 0
  }

  /// Replays a file. Returns its first difference, if there is one, and the counts of what agrees.
  ///
  /// - Parameter name: the file's name in the last line.
  package mutating func add(file: String, name: String) throws(RecordingError) -> [String] {
    (counts, firstDifference) = (Counts(), nil)
    let lines = try numberedLines(of: file)
    guard !lines.isEmpty else {
      throw RecordingError(message: "\(file): has no conversation in it")
    }
    for (number, line) in lines {
      if isInterrupted() { break }
      let conversation: Conversation
      do {
        conversation = try JSONDecoder().decode(Conversation.self, from: line)
      } catch {
        throw RecordingError(message: "\(file):\(number): \(reason(error))")
      }
      add(conversation, at: "\(file):\(number)")
    }
    if counts.agreeing < counts.conversations { agrees = false }
    let count =
      "\(name): \(counts.agreeing) of \(counts.conversations) conversations agree, "
      + "\(counts.agreeingSteps) of \(counts.steps) steps"
    return (firstDifference.map { [$0] } ?? []) + [count]
  }

  private mutating func add(_ conversation: Conversation, at place: String) {
    counts.conversations += 1
    counts.steps += conversation.steps.count
    var machine = Machine<QueueFinger>(
      incarnation: conversationIncarnation, settings: conversation.settings)
    if let restored = conversation.restored {
      machine = Machine(
        restoring: restored.finger, terms: restored.terms, age: restored.age,
        at: Moment(milliseconds: 0), incarnation: conversationIncarnation,
        settings: conversation.settings)
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
      counts.agreeingSteps += 1
    }
    counts.agreeing += 1
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
  /// The input for a machine in this state; `nil` if it gets none.
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
