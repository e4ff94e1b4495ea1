import Foundation
import MessageSync
import UpdateMachine
import ZulipSync

/// A narrow as typed: "channel:general/topic:lunch/-sender:7".
struct NarrowText {
  private var terms: [(name: String, value: String, isNegated: Bool)] = []

  private static let names = [
    "channel", "stream", "topic", "dm", "dm-including", "sender", "is", "has",
  ]
  /// The values that some terms can have.
  private static let values = [
    "is": [
      "unread", "starred", "mentioned", "dm", "read", "alerted", "followed", "resolved",
    ],
    "has": ["link", "image", "attachment", "reaction"],
  ]

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
      if let known = NarrowText.values[String(words[0])], !known.contains(String(words[1])) {
        throw Misuse(
          "--narrow: unknown value '\(words[1])' of '\(words[0])'. "
            + "Known are \(known.joined(separator: ", "))")
      }
      terms.append((String(words[0]), String(words[1]), isNegated))
    }
  }

  /// Refuses terms of which no event tells what is in them, where messages are to be followed.
  func check(for command: Options.Command) throws(Misuse) {
    guard command == .follow else { return }
    for term in terms
    where term.name == "has" || term.name == "dm-including"
      || term.name == "is" && ["followed", "resolved"].contains(term.value)
    {
      throw Misuse(
        "--narrow: only the server can tell what is in \(term.name):\(term.value), and no event "
          + "does: use 'follow search'")
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
    let lookup = NameLookup(state: state)
    switch name {
    case "channel", "stream": return .number(try lookup.channel(value).number)
    case "sender", "dm-including": return .number(try lookup.user(value).number)
    case "dm":
      var users: [Int64] = []
      for one in value.split(separator: ",") {
        users.append(try lookup.user(one.trimmingCharacters(in: .whitespaces)).number)
      }
      return .numbers(users)
    default: return .text(value)
    }
  }
}
