import MessageSync
import UpdateMachine

/// The names that servers have for one field: they have renamed some, and may say the old name, the new
/// one or both. Events, pages and registers are read by this list.
struct ZulipSpelling: Sendable {
  /// The first that is there counts. If none is, it is the first that is missed.
  let names: [String]

  private init(_ names: String...) { self.names = names }

  /// The topic of a message, and the new one of a message that moves.
  static let topic = ZulipSpelling("subject", "topic")
  /// The one from which it moves.
  static let oldTopic = ZulipSpelling("orig_subject", "orig_topic")
  /// What is done with a flag.
  static let op = ZulipSpelling("op", "operation")
  static let subgroups = ZulipSpelling("direct_subgroup_ids", "subgroup_ids")
  /// With whom a direct conversation is, where unread messages are told.
  static let other = ZulipSpelling("other_user_id", "sender_id")

  /// One of these in an `update_message` makes it a move. A `topic` alone does not: it may be where the
  /// message is.
  static let ofMoves = ["orig_subject", "orig_topic", "subject", "new_stream_id"]

  /// Numbers under one name, or a single one under another, as older servers have it and those that do
  /// not know what a client can take.
  struct Numbers: Sendable {
    let many: String
    let one: String

    static let messages = Numbers(many: "message_ids", one: "message_id")
    static let users = Numbers(many: "user_ids", one: "user_id")
    static let channels = Numbers(many: "stream_ids", one: "stream_id")
  }
}

/// Where a message is, by the old names and the new ones.
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
  /// Under which of its names a field is there.
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
