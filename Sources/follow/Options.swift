import Foundation

/// What was typed after `follow`.
struct Options: Equatable {
  var site: String?
  var email: String?
  var zuliprc: String?
  var state: String?
  var narrow: String?
  /// So many messages that were there before are printed at a first start.
  var count: Int64 = 10
  var isOnce = false
  var isJSON = false
  var logsOut = false
  var wantsHelp = false

  static let help = """
    follow: prints the messages of a Zulip account as they come.

        swift run follow --site https://chat.example.org --email me@example.org
        swift run follow --zuliprc ~/.zuliprc --narrow channel:general/topic:lunch

    Whose account
      --site URL        the server: https, or http to this computer itself
      --email ADDRESS   the user's
      --zuliprc FILE    a file with both, and the key, as Zulip's web app gives it
      The API key is read from the environment, ZULIP_API_KEY, or from that file; never from the
      command line, which others can see.

    What
      --narrow TERMS    only those messages: terms with a slash between them, a minus before one for its
                        opposite: channel:general  topic:lunch  dm:7,12  sender:7  is:unread  is:starred
                        is:mentioned  is:dm. Channels go by their names. By default everything.
      --count N         at a first start, N that were there before (0 to 1,000; 10)
      --once            prints what is there and what has come since the last start, and ends
      --json            a JSON object for each message, one a line

    Where it is kept
      --state FILE      an SQLite database; by default one for each account in
                        ~/.local/state/follow. A restart goes on from there. One at a time may use it.
      --log-out         tells the server to forget this client, erases what is kept, and ends

    What the connection is up to is told on standard error. Ctrl-C ends it; the server keeps what comes
    for some minutes. Exit codes: 0 well; 1 it cannot go on (the key is refused, the server is too old);
    2 bad usage; 130 Ctrl-C.
    """

  /// Reads the words behind the program's name.
  init(_ words: [String]) throws(Misuse) {
    var words = words[...]
    func next(_ option: String) throws(Misuse) -> String {
      guard let word = words.popFirst(), !word.isEmpty else {
        throw Misuse("\(option) needs a value behind it")
      }
      return word
    }
    while let word = words.popFirst() {
      switch word {
      case "--site": site = try next(word)
      case "--email": email = try next(word)
      case "--zuliprc": zuliprc = try next(word)
      case "--state": state = try next(word)
      case "--narrow": narrow = try next(word)
      case "--count":
        let number = try next(word)
        guard let count = Int64(number), (0...1000).contains(count) else {
          throw Misuse("--count needs a number from 0 to 1000, and not '\(number)'")
        }
        self.count = count
      case "--once": isOnce = true
      case "--json": isJSON = true
      case "--log-out": logsOut = true
      case "--help", "-h", "help": wantsHelp = true
      case "--key", "--api-key", "-k":
        throw Misuse("the key is no argument: others can see those. Put it into ZULIP_API_KEY")
      default: throw Misuse("'\(word)' is not known")
      }
    }
  }
}

/// What was typed makes no sense: what, and what to do. Exit code 2.
struct Misuse: Error, Equatable {
  var words: String

  init(_ words: String) { self.words = words }
}

/// Whose account it is.
struct Credentials {
  var site: String
  var email: String
  var key: String

  /// From the options, the environment and the file, in this order.
  init(_ options: Options, _ environment: [String: String]) throws(Misuse) {
    var file: [String: String] = [:]
    if let path = options.zuliprc { file = try Credentials.read(path) }
    guard let site = options.site ?? file["site"] else {
      throw Misuse("which server? --site https://…, or --zuliprc FILE")
    }
    guard let email = options.email ?? file["email"] else {
      throw Misuse("who are you? --email ADDRESS, or --zuliprc FILE")
    }
    // A key of the file goes to the server of the file and to no other.
    let fileKey = options.site == nil || options.site == file["site"] ? file["key"] : nil
    guard let key = environment["ZULIP_API_KEY"].flatMap({ $0.isEmpty ? nil : $0 }) ?? fileKey
    else {
      throw Misuse(
        file["key"] == nil
          ? "where is the key? In the environment, ZULIP_API_KEY, or --zuliprc FILE"
          : "the key in the file is for \(file["site"] ?? "no site"), and goes nowhere else")
    }
    self.site = site
    self.email = email
    self.key = key
  }

  /// `key=value` lines of the section `[api]`.
  static func read(_ path: String) throws(Misuse) -> [String: String] {
    let path = NSString(string: path).expandingTildeInPath
    guard let bytes = FileManager.default.contents(atPath: path) else {
      throw Misuse("'\(path)' cannot be read")
    }
    var values: [String: String] = [:]
    for line in String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline) {
      let line = line.trimmingCharacters(in: .whitespaces)
      guard !line.hasPrefix("#"), !line.hasPrefix(";"), let sign = line.firstIndex(of: "=") else {
        continue
      }
      let name = line[..<sign].trimmingCharacters(in: .whitespaces)
      values[name] = line[line.index(after: sign)...].trimmingCharacters(in: .whitespaces)
    }
    guard values["key"] != nil || values["site"] != nil else {
      throw Misuse("'\(path)' has neither a site nor a key in it")
    }
    return values
  }
}
