// Sending: the room of what the user sends: messages on their way to the server, as the library's
// outbox keeps them.
//
// Sending may use: HTTP, JSON, State.

public import MessageSync
public import UpdateMachine

/// A message that the user sends.
///
///     let sent = try await machine.mutate(ZulipOutgoing(.channel(general, topic: "lunch"), "At noon?"))
///
/// It changes nothing of the realm's state: until its event comes it is an echo
/// (``ZulipAccount/echoes(_:in:)``). A Zulip server cannot tell a second copy from the first. So of two
/// messages the second leaves when the server has the first, and one of which nobody knows whether it
/// has arrived is not sent again by itself: it is *uncertain* until its event comes, or the user says.
public struct ZulipOutgoing: Hashable, Sendable {
  public var recipient: ZulipConnection.Recipient
  /// As it is typed, in Markdown.
  public var content: String

  public init(_ recipient: ZulipConnection.Recipient, _ content: String) {
    self.recipient = recipient
    self.content = content
  }

  /// Why it cannot be sent as things are.
  public enum Refusal: Error, Hashable, Sendable {
    /// There is nothing in it but spaces.
    case empty
    /// The server takes so many characters, Unicode scalars, and no more.
    case tooLong(limit: Int64)
    case topicTooLong(limit: Int64)
    /// The user sees no such channel, or no more.
    case noChannel
    case archivedChannel
    /// One of those whom it is for cannot log in any more.
    case deactivated(UserID)
  }
}

extension ZulipOutgoing: Mutation {
  public var name: String { "send" }

  /// In bytes.
  public var size: Int64 { Int64(content.utf8.count) + ZulipOutgoing.sizeOfPlace }

  /// A topic has at most some hundred bytes.
  private static var sizeOfPlace: Int64 { 128 }

  /// Whether it can be sent. What the server did not tell speaks against nothing.
  public func apply(to state: inout ZulipState) throws(Refusal) {
    guard content.unicodeScalars.contains(where: { !$0.properties.isWhitespace }) else {
      throw .empty
    }
    if let limit = state["max_message_length"]?.number, content.unicodeScalars.count > limit {
      throw .tooLong(limit: limit)
    }
    switch recipient {
    case .channel(let id, let topic):
      if let limit = state["max_topic_length"]?.number, topic.unicodeScalars.count > limit {
        throw .topicTooLong(limit: limit)
      }
      guard state.holds("subscriptions") else { return }
      guard let channel = state.channel(id) else { throw .noChannel }
      if channel.isArchived { throw .archivedChannel }
    case .direct(let users):
      for user in users {
        if let known = state.user(user), !known.isActive { throw .deactivated(user) }
      }
    }
  }
}

extension ZulipOutgoing: CustomStringConvertible, CustomReflectable {
  /// How long it is, and nothing of it.
  public var description: String { "a message of \(content.utf8.count) bytes" }
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

// MARK: As rows

extension ZulipOutgoing: Storable {
  public func put(into bytes: inout ByteWriter) {
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

  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    switch try bytes.takeByte() {
    case 0:
      let channel = ChannelID(try bytes.takeInt64())
      recipient = .channel(channel, topic: try bytes.takeString())
    case 1: recipient = .direct(try bytes.takeArray())
    default: throw StoredFormError(expected: "a recipient")
    }
    content = try bytes.takeString()
  }
}
