import Foundation

/// A trace in a form in which a test can look for a story's trigger.
struct ToldRun {
  struct Line {
    var moment: Double
    /// `nil` for the server, the world or a fault.
    var client: Int?
    var text: String
  }

  var lines: [Line] = []

  /// Reads lines like "  0:04.875  client 2  failed 3 serverFault → …".
  init(_ lines: [String]) {
    for line in lines {
      let parts = line.split(separator: "  ", omittingEmptySubsequences: true)
        .map { $0.trimmingCharacters(in: .whitespaces) }
      guard parts.count >= 3 else { continue }
      var seconds = 0.0
      for part in parts[0].split(separator: ":") { seconds = seconds * 60 + (Double(part) ?? 0) }
      let client = parts[1].hasPrefix("client ") ? Int(parts[1].dropFirst(7)) : nil
      self.lines.append(
        Line(moment: seconds, client: client, text: parts[2...].joined(separator: "  ")))
    }
  }

  /// Whether a push was refused on its way after an earlier push of the same client had ended
  /// without an answer, and that earlier push then still arrived at the server.
  var refusesAPushOfWhichACopyIsUnderWay: Bool {
    func push(_ line: Line, _ verb: String) -> Int? {
      let words = line.text.split(separator: " ")
      guard words.count >= 3, words[0] == "push", words[2] == verb else { return nil }
      return Int(words[1])
    }
    for (index, refusal) in lines.enumerated() where refusal.text.hasSuffix(" fails, rejected") {
      guard let number = push(refusal, "fails,") else { continue }
      for (start, line) in lines[..<index].enumerated() where line.client == refusal.client {
        guard let earlier = push(line, "fails,"), earlier < number,
          !line.text.hasSuffix(" rejected")
        else { continue }
        if lines[start...].contains(where: { push($0, "arrives") == earlier }) { return true }
      }
    }
    return false
  }

  /// The first thing that each sleeping device was told when it woke.
  var firstWordsAfterSleep: [String] {
    var asleep: Set<Int> = []
    var words: [String] = []
    for line in lines {
      if line.client == nil, let client = number(after: "suspension, client ", in: line.text) {
        asleep.insert(client)
      } else if let client = line.client, asleep.remove(client) != nil {
        words.append(line.text)
      }
    }
    return words
  }

  /// Whether a client gives up a request while another client's request with the same number is
  /// out, and that other request is answered later.
  var givesUpWhatAnotherIsAnswered: Bool {
    var out: [Int: Int] = [:]
    var keeping: [Int: Int] = [:]
    for line in lines {
      guard let client = line.client else { continue }
      if line.text.contains("begins incarnation") { out[client] = nil }
      for word in ["snapshotArrived ", "batchArrived "] where line.text.hasPrefix(word) {
        guard let request = number(after: word, in: line.text) else { continue }
        if keeping[client] == request, out[client] == request { return true }
      }
      if let given = number(after: "cancel ", in: line.text), out[client] == given {
        out[client] = nil
        for (other, request) in out where request == given { keeping[other] = request }
      }
      let done = line.text.components(separatedBy: " → ").last ?? ""
      for word in [" register ", " poll "] {
        if let request = number(after: word, in: done) { out[client] = request }
      }
    }
    return false
  }

  /// Whether a client comes to the foreground between two slow failures, of which the second comes
  /// more than a minute after the first, but no later than a minute plus its wait.
  var isSeenBetweenSlowFailures: Bool {
    // These are the slow waits. The others are 0.1, 0.2, 0.4 … s.
    let waits = ["1", "2", "4", "8", "16", "32", "60"]
    var last: [Int: Line] = [:]
    var seen: Set<Int> = []
    for line in lines {
      guard let client = line.client else { continue }
      if line.text.contains("begins incarnation") { last[client] = nil }
      if line.text.hasPrefix("foregrounded"),
        line.text.contains("→ registering") || line.text.contains("→ live.polling")
      {
        seen.insert(client)
      }
      guard let wait = waits.first(where: { line.text.hasSuffix("in (0, \($0) s]") }) else {
        continue
      }
      if let earlier = last[client], seen.contains(client) {
        let pause = line.moment - earlier.moment
        if pause > 60, pause <= 60 + (Double(wait) ?? 0) { return true }
      }
      last[client] = line
      seen.remove(client)
    }
    return false
  }

  /// Whether a push arrives at the server before its client registers, and is answered after the
  /// register has left.
  var hasPushAroundRegister: Bool {
    var owners: [Int: Int] = [:]
    var arrived: Set<Int> = []
    var overtaken: Set<Int> = []
    for line in lines {
      if let push = number(after: "push ", in: line.text), line.text.hasSuffix("arrives") {
        arrived.insert(push)
      }
      guard let client = line.client else { continue }
      if let push = Int(line.text.prefix { $0.isNumber }), line.text.contains(" is push ") {
        owners[push] = client
      }
      if line.text.contains("→ registering"), line.text.contains(" register ") {
        for push in arrived where owners[push] == client { overtaken.insert(push) }
      }
      if let push = number(after: "push ", in: line.text), line.text.hasSuffix("is answered"),
        owners[push] == client
      {
        if overtaken.contains(push) { return true }
        arrived.remove(push)
      }
      if line.text.contains("begins incarnation") {
        for (push, owner) in owners where owner == client { arrived.remove(push) }
      }
    }
    return false
  }

  private func number(after word: String, in text: String) -> Int? {
    guard let range = text.range(of: word) else { return nil }
    return Int(text[range.upperBound...].prefix { $0.isNumber })
  }
}
