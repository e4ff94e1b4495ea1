import MessageSync
import UpdateMachine

/// A field's names. Servers have renamed some fields, and may send the old name, the new one or
/// both. Events, pages and registers are read with this list.
struct ZulipSpelling: Sendable {
  /// The first name that is present counts. If none is, errors name the first.
  let names: [String]

  private init(_ names: String...) { self.names = names }

  /// The topic of a message, and the new topic of a moved message.
  static let topic = ZulipSpelling("subject", "topic")
  /// The topic from which a message is moved.
  static let oldTopic = ZulipSpelling("orig_subject", "orig_topic")
  /// Whether a flag is set or cleared.
  static let op = ZulipSpelling("op", "operation")
  static let subgroups = ZulipSpelling("direct_subgroup_ids", "subgroup_ids")
  /// The other user of a direct conversation, in lists of unread messages.
  static let other = ZulipSpelling("other_user_id", "sender_id")

  /// An `update_message` with one of these is a move. A `topic` alone does not make it one: it may
  /// be where the message already is.
  static let ofMoves = ["orig_subject", "orig_topic", "subject", "new_stream_id"]

  /// Numbers under one name, or a single number under another. Older servers send the latter, and
  /// so do newer ones that do not know the client's capabilities.
  struct Numbers: Sendable {
    let many: String
    let one: String

    static let messages = Numbers(many: "message_ids", one: "message_id")
    static let users = Numbers(many: "user_ids", one: "user_id")
    static let channels = Numbers(many: "stream_ids", one: "stream_id")
  }
}

/// The type of a message's place, by old or new name.
enum ZulipMessageType: RawRepresentable {
  case channel, direct

  init?(rawValue: String) {
    switch rawValue {
    case "stream", "channel": self = .channel
    case "private", "direct": self = .direct
    default: return nil
    }
  }

  var rawValue: String {
    switch self {
    case .channel: "stream"
    case .direct: "private"
    }
  }
}

extension ZulipReading {
  /// Returns the name under which a field is present.
  func name(_ spelling: ZulipSpelling) -> String {
    spelling.names.first { fields[$0] != nil } ?? spelling.names[0]
  }

  func numbers(_ spelling: ZulipSpelling.Numbers) throws(ZulipError) -> [Int64] {
    if fields[spelling.many] == nil, fields[spelling.one] != nil {
      return [try number(spelling.one)]
    }
    return try numbers(spelling.many)
  }

  func messageIDs(_ spelling: ZulipSpelling.Numbers) throws(ZulipError) -> [MessageID] {
    try numbers(spelling).map { MessageID($0) }
  }
}
