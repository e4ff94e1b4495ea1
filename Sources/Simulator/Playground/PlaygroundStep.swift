internal import SyncProtocols
package import UpdateMachine

/// One thing that a person does in a playground, as they may type it. The link to a session holds
/// its steps as text.
package enum PlaygroundStep: Sendable {
  /// The next thing that is due happens.
  case next
  /// Time passes, and all that is due in it happens.
  case wait(TimeSpan)
  /// A message arrives now, is lost, or is repeated. Messages are numbered from 1.
  case deliver(Int)
  case lose(Int)
  case `repeat`(Int)
  /// The user of a client makes a new item. Clients are numbered from 1, like items.
  case create(Int, title: String)
  /// Writes the title of an item.
  case set(Int, item: Int64, title: String)
  case delete(Int, item: Int64)
  /// The user decides about a change that is refused or uncertain.
  case retry(Int, MutationTicket)
  case discard(Int, MutationTicket)
  /// The app tells its client something.
  case tell(Int, AppSignal)
  case offline(Int)
  case online(Int)
  case crash(Int)
  case start(Int)
  /// The disk has no room, or has room again.
  case fill(Int)
  case free(Int)
  case sleep(Int, TimeSpan)
  /// The wall clock jumps forward.
  case clock(Int, TimeSpan)
  /// All logs expire.
  case expire
  /// The server restarts, with or without what it knows of its clients.
  case restart(keepingQueues: Bool)
  /// How long a message is on its way from now on.
  case latency(TimeSpan)

  /// The signals that can be told, with their words.
  package static let signals: [(word: String, signal: AppSignal)] = [
    ("foregrounded", .foregrounded), ("backgrounded", .backgrounded),
    ("network-changed", .networkChanged), ("retry", .retryRequested),
    ("credentials-changed", .credentialsChanged), ("stopped", .stopped),
    ("started", .started(foreground: true)), ("logged-out", .loggedOut),
  ]

  /// `nil`: it is no step.
  package init?(_ text: String) {
    var words = PlaygroundWords(text)
    guard let step = PlaygroundStep(taking: &words) else { return nil }
    self = step
  }

  private init?(taking words: inout PlaygroundWords) {
    guard let word = words.next() else { return nil }
    switch word {
    case "next": self = .next
    case "expire": self = .expire
    case "restart":
      guard let how = words.next(), how == "keep" || how == "clean" else { return nil }
      self = .restart(keepingQueues: how == "keep")
    case "wait", "latency":
      guard let span = words.span() else { return nil }
      self = word == "wait" ? .wait(span) : .latency(span)
    default:
      guard let number = words.number() else { return nil }
      self.init(word, number, &words)
    }
    guard words.isEmpty else { return nil }
  }

  private init?(_ word: String, _ number: Int, _ words: inout PlaygroundWords) {
    switch word {
    case "deliver": self = .deliver(number)
    case "lose": self = .lose(number)
    case "repeat": self = .repeat(number)
    case "offline": self = .offline(number)
    case "online": self = .online(number)
    case "crash": self = .crash(number)
    case "start": self = .start(number)
    case "fill": self = .fill(number)
    case "free": self = .free(number)
    case "create":
      guard let title = words.rest() else { return nil }
      self = .create(number, title: title)
    case "tell":
      let told = words.next()
      guard let known = PlaygroundStep.signals.first(where: { $0.word == told }) else { return nil }
      self = .tell(number, known.signal)
    case "sleep", "clock":
      guard let span = words.span() else { return nil }
      self = word == "sleep" ? .sleep(number, span) : .clock(number, span)
    case "set", "delete", "retry", "discard":
      guard let other = words.number() else { return nil }
      switch word {
      case "delete": self = .delete(number, item: Int64(other))
      case "retry": self = .retry(number, MutationTicket(UInt64(other)))
      case "discard": self = .discard(number, MutationTicket(UInt64(other)))
      default:
        guard let title = words.rest() else { return nil }
        self = .set(number, item: Int64(other), title: title)
      }
    default: return nil
    }
  }
}

/// The words of a step, taken one by one.
struct PlaygroundWords {
  private var left: Substring.UTF8View

  init(_ text: String) { left = text[...].utf8 }

  var isEmpty: Bool { !left.contains { $0 != UInt8(ascii: " ") } }

  mutating func next() -> String? {
    left = left.drop { $0 == UInt8(ascii: " ") }
    let word = left.prefix { $0 != UInt8(ascii: " ") }
    left = left.dropFirst(word.count)
    return word.isEmpty ? nil : String(Substring(word))
  }

  /// A number of at most nine digits.
  mutating func number() -> Int? {
    guard let word = next(), word.utf8.count < 10 else { return nil }
    return Int(word).flatMap { $0 < 0 ? nil : $0 }
  }

  /// Milliseconds.
  mutating func span() -> TimeSpan? { number().map { .milliseconds(Int64($0)) } }

  /// All that is left.
  mutating func rest() -> String? {
    left = left.drop { $0 == UInt8(ascii: " ") }
    defer { left = left.dropFirst(left.count) }
    return left.isEmpty ? nil : String(Substring(left))
  }
}
