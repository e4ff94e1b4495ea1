import MessageSync
import UpdateMachine
import ZulipSync

/// A narrow as typed: "channel:general/topic:lunch/-sender:7".
struct NarrowText {
  private var terms: [(name: String, value: String, isNegated: Bool)] = []

  private static let names = ["channel", "stream", "topic", "dm", "sender", "is"]
  private static let states = ["unread", "starred", "mentioned", "dm", "read", "alerted"]

  /// Parses terms separated by slashes; no terms means everything. After a backslash, a slash is
  /// part of a value.
  init(_ text: String?) throws(Misuse) {
    for part in NarrowText.parts(of: text ?? "") {
      let isNegated = part.hasPrefix("-")
      let words = part.dropFirst(isNegated ? 1 : 0)
        .split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      // A topic may be empty.
      guard words.count == 2, NarrowText.names.contains(String(words[0])),
        !words[1].isEmpty || words[0] == "topic"
      else {
        throw Misuse(
          "--narrow: '\(part)' is not a term. "
            + "Known are \(NarrowText.names.joined(separator: ", ")), each with a colon and a value"
        )
      }
      if words[0] == "is", !NarrowText.states.contains(String(words[1])) {
        throw Misuse(
          "--narrow: unknown state '\(words[1])'. "
            + "Known are \(NarrowText.states.joined(separator: ", "))")
      }
      terms.append((String(words[0]), String(words[1]), isNegated))
    }
  }

  /// "channel:general -topic:lunch".
  var words: String {
    terms.map { "\($0.isNegated ? "-" : "")\($0.name):\($0.value)" }.joined(separator: " ")
  }

  private static func parts(of text: String) -> [String] {
    var parts = [""]
    var isBehindBackslash = false
    for character in text {
      switch (isBehindBackslash, character) {
      case (false, "\\"): isBehindBackslash = true
      case (false, "/"): parts.append("")
      case (true, "/"), (true, "\\"), (false, _):
        parts[parts.count - 1].append(character)
        isBehindBackslash = false
      case (true, _):
        parts[parts.count - 1] += ["\\", character]
        isBehindBackslash = false
      }
    }
    return parts.filter { !$0.isEmpty }
  }

  /// Returns the narrow for the server. Names are looked up in the realm's state.
  func narrow(in state: ZulipState) throws(Misuse) -> ZulipNarrow {
    var narrow = ZulipNarrow([])
    for term in terms {
      narrow.terms.append(
        ZulipNarrow.Term(
          term.name == "stream" ? "channel" : term.name, try operand(term.name, term.value, state),
          isNegated: term.isNegated))
    }
    return narrow
  }

  private func operand(
    _ name: String, _ value: String, _ state: ZulipState
  ) throws(Misuse) -> ZulipNarrow.Operand {
    switch name {
    case "channel", "stream":
      if let channel = state.channels.first(where: { $0.name == value }) {
        return .number(channel.id.number)
      }
      let names = state.subscriptions.map { Printer.plain($0.name) }.sorted()
        .joined(separator: ", ")
      throw Misuse("--narrow: no channel is called '\(value)'. You are subscribed to: \(names)")
    case "sender": return .number(try user(value, state))
    case "dm":
      var users: [Int64] = []
      for one in value.split(separator: ",") { users.append(try user(String(one), state)) }
      return .numbers(users)
    default: return .text(value)
    }
  }

  /// Finds a user by number or e-mail address.
  private func user(_ text: String, _ state: ZulipState) throws(Misuse) -> Int64 {
    if let number = Int64(text) { return number }
    let user = state.users.first { $0.email == text || $0.deliveryEmail == text }
    guard let user else { throw Misuse("--narrow: no user here has the e-mail '\(text)'") }
    return user.id.number
  }
}
