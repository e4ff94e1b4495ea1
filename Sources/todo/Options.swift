import EtcdSync
import Foundation
import UpdateMachine

/// What the user wants of the list.
enum Command: Equatable {
  case list
  case add(String)
  case done(String)
  case reopen(String)
  case remove(String)
  case undo
  case redo
  /// Print the list whenever it changes.
  case watch
  /// The same, and read commands from the input.
  case prompt

  /// Reads a command's words.
  init(_ words: [String]) throws(Misuse) {
    let rest = words.dropFirst().joined(separator: " ").trimmingCharacters(in: .whitespaces)
    let name = words.first ?? ""
    switch name {
    case "list", "watch", "undo", "redo":
      guard rest.isEmpty else { throw Misuse("\(name) takes no words") }
    case "add", "done", "reopen", "remove":
      guard !rest.isEmpty else { throw Misuse("\(name) needs words: \(name) milk") }
    default: throw Misuse("there is no command '\(name)'")
    }
    switch name {
    case "list": self = .list
    case "watch": self = .watch
    case "undo": self = .undo
    case "redo": self = .redo
    case "add": self = .add(rest)
    case "done": self = .done(rest)
    case "reopen": self = .reopen(rest)
    default: self = .remove(rest)
    }
  }
}

/// The command line after `todo`.
struct Options: Equatable {
  var command = Command.prompt
  var cluster: [String] = []
  var user: String?
  var list = "shared"
  var state: String?
  /// The name by which others see this user; `nil`: they do not.
  var name: String?
  /// How many seconds a command waits for the cluster.
  var wait: Int64 = 5
  var wantsHelp = false

  static let help = """
    todo: a shared to-do list in the terminal, kept in an etcd cluster. It works without a
    connection, too: changes are kept, shown at once, and sent later, each exactly once.

        swift run todo --cluster http://127.0.0.1:2379
        swift run todo --cluster http://127.0.0.1:2379 add milk
        swift run todo --cluster http://127.0.0.1:2379,http://127.0.0.1:22379 watch

    Commands. Without one it shows the list whenever it changes, and reads commands line by line.
      list              prints the list
      add WORDS         adds an item
      done ITEM         ticks an item off: its number in the list, or the first letters of its title
      reopen ITEM       the opposite
      remove ITEM       removes an item
      undo, redo        takes back your last change, also one of an earlier run; makes it again. What
                        others have changed since stays as it is
      watch             prints the list whenever it changes

    Options, before the command. After -- all are words of the command
      --cluster URLS    the members' addresses, with commas between them: https, or http to this
                        computer. If one does not answer, the next is asked
      --user NAME       a user of the cluster. The password is read from the environment,
                        ETCD_PASSWORD; never from the command line, which others can see
      --list NAME       which list: the keys todo/NAME/… (shared)
      --name NAME       shows the others that you are here, under this name, while you watch the list
                        or type into it; without it they do not see you
      --state FILE      an SQLite database; by default one for each list in ~/.local/state/todo, or
                        on Linux in $XDG_STATE_HOME/todo if that is set. One at a time may use it
      --wait SECONDS    how long a command waits for the cluster (0 to 3,600; 5)

    How fresh the list is goes to standard error, with what is not sent yet. Exit codes: 0 done, or
    kept for later, which is said; 1 failure; 2 bad usage; 130 Ctrl-C, 143 a request to end. Of
    commands that are typed, or come from a file, the last one counts.
    """

  /// The options that take a value.
  private static let names = ["--cluster", "--user", "--list", "--name", "--state", "--wait"]

  /// Parses the arguments after the program's name.
  init(_ words: [String]) throws(Misuse) {
    var rest = words[...]
    while let word = rest.first, word.hasPrefix("-"), word != "--" {
      rest.removeFirst()
      if word == "--help" || word == "-h" {
        wantsHelp = true
        return
      }
      guard Options.names.contains(word) else { throw Misuse("there is no option \(word)") }
      guard let value = rest.popFirst(), !value.isEmpty else {
        throw Misuse("\(word) needs a value")
      }
      try take(word, value)
    }
    if rest.first == "--" {
      rest.removeFirst()
    } else if let late = rest.first(where: Options.names.contains) {
      throw Misuse("options come before the command: \(late). After -- all are words")
    }
    guard !cluster.isEmpty else {
      throw Misuse("no cluster given: use --cluster http://127.0.0.1:2379")
    }
    if !rest.isEmpty { command = try Command(Array(rest)) }
  }

  private mutating func take(_ option: String, _ value: String) throws(Misuse) {
    switch option {
    case "--cluster": cluster = value.split(separator: ",").map(String.init)
    case "--user": user = value
    case "--list":
      let isName = value.utf8.allSatisfy {
        (0x30...0x39).contains($0) || (0x61...0x7A).contains($0 | 0x20)
          || [UInt8(ascii: "-"), UInt8(ascii: "_")].contains($0)
      }
      guard isName else { throw Misuse("--list takes letters, digits, - and _") }
      list = value
    case "--name":
      name = Company.name(value)
      guard name != nil else { throw Misuse("--name takes 1 to 40 characters") }
    case "--state": state = value
    default:
      guard let number = Int64(value), (0...3600).contains(number) else {
        throw Misuse("--wait needs a number from 0 to 3600, and not '\(value)'")
      }
      wait = number
    }
  }

  /// Connects to the cluster, and sends nothing.
  func connect(_ environment: [String: String]) throws(Misuse) -> EtcdConnection {
    var login: EtcdLogin?
    if let user {
      guard let password = environment["ETCD_PASSWORD"], !password.isEmpty else {
        throw Misuse("no password given: set ETCD_PASSWORD")
      }
      login = EtcdLogin(user: user, password: password)
    }
    var settings = EtcdSettings()
    settings.silence = .seconds(20)
    do throws(EtcdConnectionError) {
      return try EtcdConnection(to: cluster, login: login, settings: settings)
    } catch {
      switch error {
      case .insecureAddress: throw Misuse("--cluster: http goes to this computer only; use https")
      case .unsupportedAddress: throw Misuse("--cluster: on Linux only http to this computer works")
      case .noAddress, .malformedAddress, .malformedPrefix:
        throw Misuse("--cluster needs addresses such as http://127.0.0.1:2379")
      }
    }
  }
}

/// A usage error: what is wrong, and what to do. Exit code 2.
struct Misuse: Error, Equatable {
  var words: String

  init(_ words: String) { self.words = words }
}
