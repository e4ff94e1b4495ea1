/// What is between a client and the server, in 20 bytes: at most one message is on its way, in
/// either direction, because a client has at most one request out and hears no answer to others.
struct HerdPost: BitwiseCopyable, Sendable {
  /// What the message is.
  enum Kind: UInt32, Sendable {
    case none
    /// The client's request is on its way.
    case request
    /// The request waits in the server's backlog.
    case queued
    /// The poll is held open until it is answered at the message's moment.
    case held
    /// Answers on their way: with news, without; a snapshot of the log that the detail names.
    case news
    case nothing
    case snapshot
    /// Refusals on their way. The detail of `limited` is the retry-after.
    case unreachable
    case fault
    case limited
    case expired
    /// The user looks at the app.
    case foregrounded
  }

  static let never = UInt32.max

  /// When the machine's timer fires.
  var timerDue = never
  /// When the message comes.
  var messageDue = never
  /// The message: its kind (4 bits) and a detail.
  private var message: UInt32 = 0
  /// When the server last heard of the client's log.
  var lastSeen: UInt32 = 0

  var due: UInt32 { min(timerDue, messageDue) }
  var kind: Kind { Kind(rawValue: message & 15) ?? .none }
  var detail: UInt32 { message >> 4 }

  mutating func set(_ kind: Kind, detail: UInt32 = 0, due: UInt32 = never) {
    message = kind.rawValue | min(detail, UInt32.max >> 4) << 4
    messageDue = due
  }
}
