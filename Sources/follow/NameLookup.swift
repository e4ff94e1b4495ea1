import MessageSync
import ZulipSync

/// Finds the channels and people whose names were typed after `--narrow`.
struct NameLookup {
  let state: ZulipState

  /// The most names in an error message.
  private static let namesMaximum = 20

  /// Finds a channel by its name. The exact spelling comes first, then any case.
  func channel(_ name: String) throws(Misuse) -> ChannelID {
    let channels = state.channels
    if let exact = channels.first(where: { $0.name == name }) { return exact.id }
    let found = channels.filter { Spelling.isSame($0.name, name) }
    if found.count > 1 {
      throw Misuse(
        "--narrow: '\(name)' may be any of these channels: "
          + NameLookup.list(found.map { $0.name }) + ". Type one of them exactly")
    }
    if let only = found.first { return only.id }
    let near = Spelling.nearest(to: name, among: channels.map { ($0.name, $0.name) })
    throw Misuse(
      "--narrow: no channel is called '\(name)'. "
        + (NameLookup.question(near)
          ?? "You are subscribed to: " + NameLookup.list(state.subscriptions.map { $0.name })))
  }

  /// Finds a user by ID, by e-mail address or by full name. The exact spelling comes first, then
  /// any case.
  func user(_ text: String) throws(Misuse) -> UserID {
    if let number = Int64(text) { return UserID(number) }
    let users = state.users
    let ways: [(ZulipUser) -> Bool] = [
      { $0.email == text || $0.deliveryEmail == text },
      { Spelling.isSame($0.email, text) || Spelling.isSame($0.deliveryEmail ?? "", text) },
      { $0.name == text }, { Spelling.isSame($0.name, text) },
    ]
    for way in ways {
      let found = users.filter(way)
      if found.count > 1 { throw NameLookup.ambiguous(text, found) }
      if let only = found.first { return only.id }
    }
    let names = users.map { ($0.name, NameLookup.shown($0)) }
    let addresses = users.map { (NameLookup.address($0), NameLookup.shown($0)) }
    let near = Spelling.nearest(to: text, among: names + addresses)
    throw Misuse(
      "--narrow: no active user here has the name or e-mail '\(text)'. "
        + (NameLookup.question(near) ?? "A number is understood as a user's ID"))
  }

  // MARK: Words

  private static func ambiguous(_ text: String, _ users: [ZulipUser]) -> Misuse {
    let addresses = users.map { "\(address($0)) (ID \($0.id.number))" }
    return Misuse(
      "--narrow: '\(text)' may be any of these users: \(list(addresses)). "
        + "Type an e-mail address or an ID")
  }

  private static func address(_ user: ZulipUser) -> String { user.deliveryEmail ?? user.email }

  private static func shown(_ user: ZulipUser) -> String {
    user.name.isEmpty ? address(user) : "\(user.name) <\(address(user))>"
  }

  /// Returns the names in order, and how many more there are.
  private static func list(_ names: [String]) -> String {
    let shown = names.map { Printer.plain($0) }.sorted().prefix(namesMaximum)
    let more = names.count - shown.count
    return shown.joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
  }

  /// "Did you mean 'general' or 'generic'?"; `nil` without names.
  private static func question(_ names: [String]) -> String? {
    let quoted = names.map { "'\(Printer.plain($0))'" }
    guard let last = quoted.last else { return nil }
    let others = quoted.dropLast().joined(separator: ", ")
    return "Did you mean \(others.isEmpty ? "" : "\(others) or ")\(last)?"
  }
}

/// Compares typed names with real ones.
enum Spelling {
  /// The most names to suggest.
  private static let suggestionsMaximum = 3
  /// The most differing letters. More would be another name, above all in an e-mail address.
  private static let distanceMaximum = 3
  /// The fewest typed letters that are looked for within longer names.
  private static let partMinimum = 3

  /// Whether two names differ in case only.
  static func isSame(_ one: String, _ other: String) -> Bool {
    one.lowercased() == other.lowercased()
  }

  /// Returns the names that are most like the typed one, the nearest first: those with few
  /// differing letters, and those that contain it.
  /// - Parameter names: each name to compare, and what to show for it.
  static func nearest(
    to typed: String, among names: [(name: String, shown: String)]
  ) -> [String] {
    let typed = typed.lowercased()
    var ranked: [(distance: Int, shown: String)] = []
    for (name, shown) in names where !name.isEmpty {
      let name = name.lowercased()
      let distance = distance(Array(typed), Array(name))
      let isPart = typed.count >= partMinimum && name.contains(typed)
      let most = min(max(1, typed.count / 3), distanceMaximum)
      if isPart || distance <= most { ranked.append((distance, shown)) }
    }
    ranked.sort { ($0.distance, $0.shown) < ($1.distance, $1.shown) }
    var nearest: [String] = []
    for (_, shown) in ranked where !nearest.contains(shown) { nearest.append(shown) }
    return Array(nearest.prefix(suggestionsMaximum))
  }

  /// The number of letters to insert, remove, replace or swap with their neighbour (the optimal
  /// string alignment distance).
  static func distance(_ one: [Character], _ other: [Character]) -> Int {
    var (before, last) = ([Int](), Array(0...other.count))
    for (i, letter) in one.enumerated() {
      var row = [i + 1]
      for (j, its) in other.enumerated() {
        var least = min(row[j] + 1, last[j + 1] + 1, last[j] + (letter == its ? 0 : 1))
        if i > 0, j > 0, letter == other[j - 1], one[i - 1] == its {
          least = min(least, before[j - 1] + 1)
        }
        row.append(least)
      }
      (before, last) = (last, row)
    }
    return last[other.count]
  }
}
