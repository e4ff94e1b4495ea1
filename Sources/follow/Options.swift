import Foundation

/// The command line after `follow`.
struct Options: Equatable {
  /// What to do with the account.
  enum Command: Equatable {
    /// Print messages.
    case follow
    /// Print how many messages are unread in each conversation.
    case unread
    /// Print the newest messages that the server finds with these words, or in the narrow.
    case search(String)
    /// Send a message.
    case send(String)
  }

  var command = Command.follow
  var site: String?
  var email: String?
  var zuliprc: String?
  var state: String?
  var narrow: String?
  /// The number of older messages to print at a first start.
  var count: Int64 = 10
  var isOnce = false
  /// The number of seconds that `--once` waits until everything is there.
  var wait: Int64 = 60
  var isJSON = false
  var color = Palette.Choice.auto
  var logsOut = false
  var wantsHelp = false

  /// Whether the run ends as soon as everything is printed.
  var endsByItself: Bool { isOnce || command != .follow }

  static let help = """
    follow: a Zulip account in the terminal. Without a command it prints messages as they come.

        swift run follow --site https://chat.example.org --email me@example.org
        swift run follow --zuliprc ~/.zuliprc --narrow channel:general/topic:lunch
        swift run follow unread --zuliprc ~/.zuliprc
        swift run follow search "lunch on friday" --zuliprc ~/.zuliprc
        swift run follow send "At noon?" --narrow channel:general/topic:lunch --zuliprc ~/.zuliprc

    Commands
      unread            prints how many messages are unread in each topic and direct conversation, and
                        exits: direct conversations first, then channels by name, in each the newest
                        first. What is muted is not listed, except with --json
      search [WORDS]    prints the newest messages that the server finds with these words, in --narrow
                        if that is given, and exits. They are not kept up to date, and may be printed
                        again. After -- a word may begin with a minus
      send TEXT         sends a message to the channel and topic of --narrow, or to its dm, and exits
                        once it is there. Without a connection it is kept, and leaves when follow runs
                        next. It is never sent twice: if nobody knows whether it arrived, this says so

    Whose account
      --site URL        the server: https, or http to this computer itself
      --email ADDRESS   the user's
      --zuliprc FILE    a file with both, and the key, as Zulip's web app gives it
      The API key is read from that file, for the file's own site, or else from the environment,
      ZULIP_API_KEY; never from the command line, which others can see.

    What
      --narrow TERMS    only those messages: terms with a slash between them, a minus before one for its
                        opposite: channel:general  topic:lunch  dm:7,12  sender:7  is:unread  is:starred
                        is:mentioned  is:dm; with search also what only the server can tell: has:link
                        has:image  has:attachment  has:reaction  is:followed  is:resolved
                        dm-including:7. Channels go by their names, people by full name, e-mail or ID,
                        in any case; "\\/" is a slash in a value. By default everything.
      --count N         at a first start, N that were there before; with search, the most that are
                        printed (0 to 1,000; 10)
      --once            prints what has come since the last start, and exits
      --wait SECONDS    how long --once or a command waits, at most (1 to 86,400; 60)
      --json            a JSON object for each message, one a line. With unread: for each conversation,
                        and a last one, of type total
      --color WHEN      always, never, or auto: where standard output is a terminal, unless NO_COLOR is
                        set or TERM is dumb (auto). Never with --json
      Each message is printed once, as first seen. Edits are not printed, nor are much older messages
      that match the narrow only later.

    Storage
      --state FILE      an SQLite database; by default one for each account in
                        ~/.local/state/follow, or on Linux in $XDG_STATE_HOME/follow if that is set.
                        A restart goes on from there. One at a time may use it.
      --log-out         tells the server to forget this client, erases the account's local data, and ends

    The connection's status goes to standard error. Ctrl-C ends it; the server keeps new events for
    some minutes. Exit codes: 0 success; 1 failure (the key is refused, the server is too old, it
    refuses or hides the list, --once or a command has waited in vain); 2 bad usage; 130 Ctrl-C, 143 a
    request to end (SIGTERM).
    """

  /// Parses the arguments after the program's name.
  init(_ words: [String]) throws(Misuse) {
    var words = words[...]
    var given: [String] = []
    var sought: [String] = []
    func next(_ option: String) throws(Misuse) -> String {
      guard let word = words.popFirst(), !word.isEmpty else {
        throw Misuse("\(option) needs a value")
      }
      return word
    }
    while let word = words.popFirst() {
      given.append(word)
      switch word {
      case "--site": site = try next(word)
      case "--email": email = try next(word)
      case "--zuliprc": zuliprc = try next(word)
      case "--state": state = try next(word)
      case "--narrow": narrow = try next(word)
      case "--count":
        count = try Options.number(try next(word), of: word, in: 0...1000)
      case "--wait": wait = try Options.number(try next(word), of: word, in: 1...86_400)
      case "--color":
        let choice = try next(word)
        guard let color = Palette.Choice(rawValue: choice) else {
          throw Misuse("--color needs auto, always or never, and not '\(choice)'")
        }
        self.color = color
      case "--once": isOnce = true
      case "--json": isJSON = true
      case "--log-out": logsOut = true
      case "--help", "-h", "help": wantsHelp = true
      case "--key", "--api-key", "-k":
        throw Misuse("others can see a key in the arguments. Put it into ZULIP_API_KEY")
      case "unread" where command == .follow: command = .unread
      case "search" where command == .follow: command = .search("")
      case "send" where command == .follow: command = .send("")
      case "--" where command.takesWords:
        sought += words
        words = []
      case _ where command.takesWords && !word.hasPrefix("-"): sought.append(word)
      default: throw Misuse("unknown argument '\(word)'")
      }
    }
    if command.takesWords {
      let text = sought.joined(separator: " ")
      let hasWords = text.contains { !$0.isWhitespace }
      guard hasWords || command == .search("") && narrow != nil else {
        let instead = command == .search("") ? ", or --narrow" : ""
        throw Misuse("\(command.name) needs words to \(command.name)\(instead)")
      }
      command = command == .send("") ? .send(text) : .search(text)
      if case .send = command, narrow == nil {
        throw Misuse("send needs --narrow: channel:NAME/topic:TOPIC, or dm:NAME")
      }
    }
    if let useless = given.first(where: command.useless.contains) {
      throw Misuse("\(useless) has no meaning with '\(command.name)'")
    }
  }

  private static func number(
    _ text: String, of option: String, in range: ClosedRange<Int64>
  ) throws(Misuse) -> Int64 {
    guard let number = Int64(text), range.contains(number) else {
      throw Misuse(
        "\(option) needs a number from \(range.lowerBound) to \(range.upperBound), and not '\(text)'"
      )
    }
    return number
  }
}

extension Options.Command {
  fileprivate var name: String {
    switch self {
    case .follow: "follow"
    case .unread: "unread"
    case .search: "search"
    case .send: "send"
    }
  }

  /// Whether words follow it, and are not there yet.
  fileprivate var takesWords: Bool { self == .search("") || self == .send("") }

  /// The options that mean nothing with it.
  fileprivate var useless: [String] {
    switch self {
    case .follow: []
    case .unread: ["--narrow", "--count", "--log-out"]
    case .search: ["--log-out"]
    case .send: ["--count", "--json", "--log-out"]
    }
  }
}

/// A usage error: what is wrong, and what to do. Exit code 2.
struct Misuse: Error, Equatable {
  var words: String

  init(_ words: String) { self.words = words }
}
