// The simplest way to read a Zulip server's answers: plain types with synthesised decoding.
// Everything else is skipped.

struct PlainRegister: Decodable {
  var queueID: String
  var lastEventID: Int64
  var zulipFeatureLevel: Int64
  var realmUsers: [PlainUser]
  var realmNonActiveUsers: [PlainUser]
  var streams: [PlainChannel]
  var subscriptions: [PlainChannel]
  var neverSubscribed: [PlainChannel]
  var realmUserGroups: [PlainGroup]

  enum CodingKeys: String, CodingKey {
    case streams, subscriptions
    case queueID = "queue_id"
    case lastEventID = "last_event_id"
    case zulipFeatureLevel = "zulip_feature_level"
    case realmUsers = "realm_users"
    case realmNonActiveUsers = "realm_non_active_users"
    case neverSubscribed = "never_subscribed"
    case realmUserGroups = "realm_user_groups"
  }
}

struct PlainUser: Decodable {
  var userID: Int64
  var email: String
  var deliveryEmail: String?
  var fullName: String
  var role: Int64
  var isBot: Bool
  var timezone: String
  var dateJoined: String
  var avatarURL: String?

  enum CodingKeys: String, CodingKey {
    case email, role, timezone
    case userID = "user_id"
    case deliveryEmail = "delivery_email"
    case fullName = "full_name"
    case isBot = "is_bot"
    case dateJoined = "date_joined"
    case avatarURL = "avatar_url"
  }
}

struct PlainChannel: Decodable {
  var streamID: Int64
  var name: String
  var description: String
  var renderedDescription: String
  var inviteOnly: Bool
  var historyPublicToSubscribers: Bool
  var color: String?
  var isMuted: Bool?
  var pinToTop: Bool?

  enum CodingKeys: String, CodingKey {
    case name, description, color
    case streamID = "stream_id"
    case renderedDescription = "rendered_description"
    case inviteOnly = "invite_only"
    case historyPublicToSubscribers = "history_public_to_subscribers"
    case isMuted = "is_muted"
    case pinToTop = "pin_to_top"
  }
}

struct PlainGroup: Decodable {
  var id: Int64
  var name: String
  var description: String
  var members: [Int64]
  var directSubgroupIDs: [Int64]

  enum CodingKeys: String, CodingKey {
    case id, name, description, members
    case directSubgroupIDs = "direct_subgroup_ids"
  }
}

struct PlainEvents: Decodable {
  var events: [PlainEvent]
}

/// An event of which only messages are read in full. Of the others only the type is read.
struct PlainEvent: Decodable {
  var id: Int64
  var type: String
  var op: String?
  var flags: [String]?
  var message: PlainMessage?
  var messageID: Int64?
  var messageIDs: [Int64]?
  var messages: [Int64]?
  var subject: String?
  var renderedContent: String?
  var emojiCode: String?
  var reactionType: String?

  enum CodingKeys: String, CodingKey {
    case id, type, op, flags, message, messages, subject
    case messageID = "message_id"
    case messageIDs = "message_ids"
    case renderedContent = "rendered_content"
    case emojiCode = "emoji_code"
    case reactionType = "reaction_type"
  }
}

struct PlainMessage: Decodable {
  var id: Int64
  var senderID: Int64
  var type: String
  var streamID: Int64?
  var subject: String
  var content: String
  var reactions: [PlainReaction]

  enum CodingKeys: String, CodingKey {
    case id, type, subject, content, reactions
    case senderID = "sender_id"
    case streamID = "stream_id"
  }
}

struct PlainReaction: Decodable {
  var userID: Int64
  var emojiCode: String
  var reactionType: String

  enum CodingKeys: String, CodingKey {
    case userID = "user_id"
    case emojiCode = "emoji_code"
    case reactionType = "reaction_type"
  }
}
