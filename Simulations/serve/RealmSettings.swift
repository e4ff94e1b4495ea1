internal import SyncProtocols

/// What a user wants of a topic. Topics of one channel that differ in case only are one.
package struct TopicSetting: Hashable, Sendable {
  package var user: Int64
  package var channel: Int64
  package var topic: String
  /// 0 as the channel, 1 muted, 2 unmuted, 3 followed.
  package var policy: Int64
  /// In seconds of 1970.
  var time: Int64

  package init(user: Int64, channel: Int64, topic: String, policy: Int64, at time: Int64) {
    self.user = user
    self.channel = channel
    self.topic = topic
    self.policy = policy
    self.time = time
  }

  func isSameTopic(as other: TopicSetting) -> Bool {
    user == other.user && channel == other.channel
      && topic.lowercased() == other.topic.lowercased()
  }

  var json: JSONObject {
    [
      "stream_id": .integer(channel), "topic_name": .string(topic),
      "visibility_policy": .integer(policy), "last_updated": .integer(time),
    ]
  }
}

/// What a user says of himself: a text, an emoji, or both. What is empty is not there.
package struct UserStatus: Hashable, Sendable {
  package var text = ""
  package var emojiName = ""
  package var emojiCode = ""
  package var emojiType = ""

  package init(_ text: String, name: String, code: String, type: String) {
    self.text = text
    emojiName = name
    emojiCode = code
    emojiType = type
  }

  package var isEmpty: Bool { text.isEmpty && emojiName.isEmpty }

  /// - Parameter clears: whether what is empty is named, as in an event.
  func json(clears: Bool) -> JSONObject {
    var fields = JSONObject()
    for (name, value) in [
      ("status_text", text), ("emoji_name", emojiName), ("emoji_code", emojiCode),
      ("reaction_type", emojiType),
    ] where clears || !value.isEmpty {
      fields[name] = .string(value)
    }
    return fields
  }
}

/// A message that a user has begun and not sent.
package struct RealmDraft: Hashable, Sendable {
  package var id: Int64
  package var user: Int64
  /// `nil`: the user has not said where it is to go.
  package var place: MessageLocation?
  package var text: String
  /// When the user last edited it, in seconds of 1970, as the client said.
  package var time: Int64

  package init(id: Int64, user: Int64, place: MessageLocation?, text: String, at time: Int64) {
    self.id = id
    self.user = user
    self.place = place
    self.text = text
    self.time = time
  }

  var json: JSONObject {
    var fields: JSONObject = [
      "id": .integer(id), "type": "", "to": [], "topic": "", "content": .string(text),
      "timestamp": .integer(time),
    ]
    switch place {
    case .channel(let channel, let topic):
      fields["type"] = "stream"
      fields["to"] = .integers([channel])
      fields["topic"] = .string(topic)
    case .direct(let members):
      fields["type"] = "private"
      fields["to"] = .integers(members.count == 1 ? members : members.filter { $0 != user })
    case nil: break
    }
    return fields
  }
}

/// The settings of all users that a register tells, and their drafts.
package struct RealmSettings: Sendable {
  /// In the order in which they were made.
  package private(set) var topics: [TopicSetting] = []
  /// In ascending order of the users.
  package private(set) var ofUsers: [(user: Int64, status: UserStatus)] = []
  /// Ascending by ID.
  package private(set) var drafts: [RealmDraft] = []
  /// The ID of the newest draft that there ever was.
  package private(set) var lastDraftID: Int64 = 0

  /// The most topics that are set. Beyond it the oldest setting is forgotten.
  private static var topicMaximum: Int { 1000 }

  mutating func set(_ setting: TopicSetting) {
    topics.removeAll { $0.isSameTopic(as: setting) }
    if setting.policy == 0 { return }
    topics.append(setting)
    if topics.count > RealmSettings.topicMaximum { topics.removeFirst() }
  }

  mutating func set(_ status: UserStatus, of user: Int64) {
    ofUsers.removeAll { $0.user == user }
    if status.isEmpty { return }
    ofUsers.append((user, status))
    ofUsers.sort { $0.user < $1.user }
  }

  /// Puts a draft in the place of the one with its ID, or adds it.
  mutating func set(_ draft: RealmDraft) {
    if let index = drafts.firstIndex(where: { $0.id == draft.id }) {
      drafts[index] = draft
    } else {
      drafts.append(draft)
      lastDraftID = max(lastDraftID, draft.id)
    }
  }

  mutating func deleteDraft(_ id: Int64) { drafts.removeAll { $0.id == id } }

  /// A user's drafts, the one that was edited last first.
  package func drafts(of user: Int64) -> [RealmDraft] {
    drafts.filter { $0.user == user }.sorted { ($0.time, $0.id) > ($1.time, $1.id) }
  }

  func topics(of user: Int64) -> JSONValue {
    .array(topics.filter { $0.user == user }.map { .object($0.json) })
  }

  var statuses: JSONValue {
    var fields = JSONObject()
    for (user, status) in ofUsers { fields["\(user)"] = .object(status.json(clears: false)) }
    return .object(fields)
  }
}
