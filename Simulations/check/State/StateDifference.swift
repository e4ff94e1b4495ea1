import MessageSync
import UpdateMachine
import ZulipSync

/// One place where two states differ.
struct StateDifference: Equatable {
  var key: ZulipKey
  /// The names of the fields that lead to the place within the row.
  var path: [String]
  /// `nil` if nothing is there.
  var expected: ZulipValue?
  var found: ZulipValue?

  /// All differences, row by row, and field by field within rows that are in both states.
  ///
  /// A register leaves out the unread messages of channels that the user has left, so rows of those
  /// are not compared. It groups the others by topic in one of its spellings, so topics of unread
  /// messages are compared by their keys.
  static func all(from expected: ZulipState, to found: ZulipState) -> [StateDifference] {
    var differences: [StateDifference] = []
    for change in found.rows.difference(from: expected.rows).changes {
      let old = change.old.flatMap { expected.listed($0, at: change.key) }
      let new = change.new.flatMap { found.listed($0, at: change.key) }
      differ(change.key, [], old, new, &differences)
    }
    return differences
  }

  private static func differ(
    _ key: ZulipKey, _ path: [String], _ expected: ZulipValue?, _ found: ZulipValue?,
    _ differences: inout [StateDifference]
  ) {
    guard expected != found else { return }
    if key.field == "unread_msgs", path == ["topic"], let expected = expected?.text,
      let found = found?.text, MessageTopic(zulip: expected) == MessageTopic(zulip: found)
    {
      return
    }
    guard let old = expected?.fields, let new = found?.fields else {
      differences.append(
        StateDifference(key: key, path: path, expected: expected, found: found))
      return
    }
    for name in Set(old.entries.map(\.name) + new.entries.map(\.name)).sorted() {
      differ(key, path + [name], old[name], new[name], &differences)
    }
  }

  /// For example "realm_users[7].full_name".
  var place: String { ([key.description] + path).joined(separator: ".") }

  /// Both values as text, cut so that the first difference shows.
  var texts: (expected: String, found: String) {
    let secret = path.last.map { StateDifference.secrets.contains($0) } ?? false
    let one = StateDifference.text(of: expected, isSecret: secret)
    let other = StateDifference.text(of: found, isSecret: secret)
    let same = zip(one, other).prefix { $0 == $1 }.count
    let start = max(0, same - StateDifference.leadMaximum)
    return (StateDifference.cut(one, from: start), StateDifference.cut(other, from: start))
  }

  private static let textMaximum = 80
  private static let leadMaximum = 20
  /// The names of fields that must not be printed.
  private static let secrets: Set<String> = ["api_key", "token"]

  private static func cut(_ text: String, from start: Int) -> String {
    let head = start > 0 ? "…" : ""
    let rest = text.dropFirst(start)
    return head + rest.prefix(textMaximum) + (rest.count > textMaximum ? "…" : "")
  }

  private static func text(of value: ZulipValue?, isSecret: Bool) -> String {
    guard let value else { return "nothing" }
    return isSecret ? "a secret" : "\(hidden(value))"
  }

  private static func hidden(_ value: ZulipValue) -> ZulipValue {
    switch value {
    case .fields(var fields):
      for entry in fields.entries {
        fields[entry.name] = secrets.contains(entry.name) ? "a secret" : hidden(entry.value)
      }
      return .fields(fields)
    case .list(let list): return .list(list.map(hidden))
    case .null, .bool, .number, .fraction, .text: return value
    }
  }
}

extension ZulipState {
  /// Returns a row's value, but nothing for a message that does not count as unread.
  fileprivate func listed(_ value: ZulipValue, at key: ZulipKey) -> ZulipValue? {
    guard key.field == "unread_msgs", !key.isWhole else { return value }
    return isUnread(MessageID(key.number)) ? value : nil
  }
}
