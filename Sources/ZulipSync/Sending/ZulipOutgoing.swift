// Sending: messages on their way to the server, as the library's outbox keeps them.
//
// Sending may use: HTTP, JSON, State.

public import MessageSync
internal import UpdateMachine

/// A message that the user sends.
///
///     let message = ZulipOutgoing(.channel(general, topic: "lunch"), "At noon?")
///     let sent = try await machine.mutate(.send(message))
///
/// It does not change the realm's state: until its event comes, it is an echo
/// (``ZulipEcho``). A Zulip server cannot tell a second copy from the first. So a
/// message is sent only when the server has the one before it. A message that may have arrived is
/// not sent again by itself: it is looked for in its conversation and, if it is not there,
/// *uncertain* until its event comes or the user decides.
public struct ZulipOutgoing: Hashable, Sendable {
  /// The destination.
  public var recipient: ZulipConnection.Recipient
  /// The text as typed, in Markdown.
  public var content: String

  /// Creates a message, and checks nothing: it is checked when it is applied.
  public init(_ recipient: ZulipConnection.Recipient, _ content: String) {
    self.recipient = recipient
    self.content = content
  }

  /// The reason why it cannot be sent as things are now.
  public enum Refusal: Error, Hashable, Sendable {
    /// The content is only whitespace.
    case empty
    /// The content has more characters (Unicode scalars) than the server takes.
    case tooLong(limit: Int64)
    /// The topic has more characters (Unicode scalars) than the server takes.
    case topicTooLong(limit: Int64)
    /// The user cannot see this channel, or can no longer see it.
    case noChannel
    /// The channel is archived, and takes no messages.
    case archivedChannel
    /// It goes to nobody. A note to oneself names the user.
    case noRecipients
    /// A recipient is deactivated.
    case deactivated(UserID)
    /// There is no draft that says what it should, and none of its ID: it was deleted, or changed
    /// on another device.
    case draftGone
    /// There is such a draft already.
    case draftExists
    /// The user has told the server to keep no drafts.
    case draftsOff
  }
}

extension ZulipOutgoing {
  /// The size in bytes.
  var size: Int64 { Int64(content.utf8.count) + ZulipOutgoing.sizeOfPlace }

  /// An allowance for the place: a topic has at most some hundred bytes.
  private static var sizeOfPlace: Int64 { 128 }

  /// Checks whether it can be sent. A limit or an object that the server did not give is not
  /// checked.
  func check(in state: ZulipState) throws(Refusal) {
    try ZulipOutgoing.check(content: content, in: state)
    switch recipient {
    case .channel(let id, let topic):
      try ZulipOutgoing.check(id, topic: topic, in: state)
    case .direct(let users):
      if users.isEmpty { throw .noRecipients }
      for user in users {
        if let known = state.user(user), !known.isActive { throw .deactivated(user) }
      }
    }
  }
}

extension ZulipOutgoing {
  /// Checks the content of a message that is sent or edited.
  static func check(content: String, in state: ZulipState) throws(Refusal) {
    guard content.unicodeScalars.contains(where: { !$0.properties.isWhitespace }) else {
      throw .empty
    }
    if let limit = state["max_message_length"]?.number, content.unicodeScalars.count > limit {
      throw .tooLong(limit: limit)
    }
  }

  /// Checks the place to which a message is sent or moved, or that a user wants to follow. `nil`:
  /// the topic stays, or there is none.
  static func check(_ id: ChannelID, topic: String?, in state: ZulipState) throws(Refusal) {
    if let topic, let limit = state["max_topic_length"]?.number, topic.unicodeScalars.count > limit
    {
      throw .topicTooLong(limit: limit)
    }
    guard state.holds("subscriptions") else { return }
    guard let channel = state.channel(id) else { throw .noChannel }
    if channel.isArchived { throw .archivedChannel }
  }
}

extension ZulipOutgoing: CustomStringConvertible, CustomReflectable {
  /// The size only, no content.
  public var description: String { "a message of \(content.utf8.count) bytes" }
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

// MARK: Rows

extension ZulipOutgoing {
  func put(into bytes: inout ByteWriter) {
    switch recipient {
    case .channel(let channel, let topic):
      bytes.put(UInt8(0))
      bytes.put(channel.number)
      bytes.put(topic)
    case .direct(let users):
      bytes.put(UInt8(1))
      bytes.put(users)
    }
    bytes.put(content)
  }

  /// - Parameter kind: the first byte, which says where it goes.
  init(kind: UInt8, from bytes: inout ByteReader) throws(StoredFormError) {
    switch kind {
    case 0:
      let channel = ChannelID(try bytes.takeInt64())
      recipient = .channel(channel, topic: try bytes.takeString())
    case 1: recipient = .direct(try bytes.takeArray())
    default: throw StoredFormError(expected: "a change of messages")
    }
    content = try bytes.takeString()
  }
}
