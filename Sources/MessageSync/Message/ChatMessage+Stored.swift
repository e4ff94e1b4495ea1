public import UpdateMachine

// Messages as bytes.

extension UserID: Storable {
  @inlinable
  public func put(into bytes: inout ByteWriter) { bytes.put(number) }

  @inlinable
  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    self.init(try bytes.takeInt64())
  }
}

extension ChannelID: Storable {
  @inlinable
  public func put(into bytes: inout ByteWriter) { bytes.put(number) }

  @inlinable
  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    self.init(try bytes.takeInt64())
  }
}

extension ConversationID: Storable {
  @inlinable
  public func put(into bytes: inout ByteWriter) {
    bytes.put(number)
    bytes.put(members)
  }

  @inlinable
  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    self.init(try bytes.takeInt64(), members: try bytes.takeArray())
  }
}

extension MessageTopic: Storable {
  @inlinable
  public func put(into bytes: inout ByteWriter) {
    bytes.put(text)
    bytes.put(key == text ? nil : key)
  }

  @inlinable
  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    let text = try bytes.takeString()
    self.init(text, key: try bytes.takeOptional(String.self) ?? text)
  }
}

extension MessagePlace: Storable {
  @inlinable
  public func put(into bytes: inout ByteWriter) {
    switch self {
    case .channel(let channel, let topic):
      bytes.put(UInt8(0))
      bytes.put(channel)
      bytes.put(topic)
    case .direct(let conversation):
      bytes.put(UInt8(1))
      bytes.put(conversation)
    }
  }

  @inlinable
  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    switch try bytes.takeByte() {
    case 0: self = .channel(try bytes.take(), topic: try bytes.take())
    case 1: self = .direct(try bytes.take())
    default: throw StoredFormError(expected: "a place")
    }
  }
}

extension MessageFlags: Storable {
  @inlinable
  public func put(into bytes: inout ByteWriter) { bytes.put(UInt64(rawValue)) }

  @inlinable
  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    guard let flags = UInt16(exactly: try bytes.takeUInt64()) else {
      throw StoredFormError(expected: "flags")
    }
    self.init(rawValue: flags)
  }
}

extension MessageReaction: Storable {
  @inlinable
  public func put(into bytes: inout ByteWriter) {
    bytes.put(user)
    bytes.put(emoji)
  }

  @inlinable
  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    self.init(user: try bytes.take(), emoji: try bytes.takeString())
  }
}

extension ChatMessage: Storable where Content: Storable {
  @inlinable
  public func put(into bytes: inout ByteWriter) {
    bytes.put(id)
    bytes.put(sender)
    bytes.put(sentAt)
    bytes.put(place)
    bytes.put(content)
    bytes.put(version)
    bytes.put(flags)
    bytes.put(reactions)
  }

  @inlinable
  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    self.init(
      id: try bytes.take(), sender: try bytes.take(), sentAt: try bytes.takeInt64(),
      place: try bytes.take(), content: try bytes.take(), version: try bytes.takeInt64(),
      flags: try bytes.take(),
      reactions: try bytes.takeReactions())
  }
}

extension ByteReader {
  /// Reads reactions that must be ascending, each once.
  @inlinable
  mutating func takeReactions() throws(StoredFormError) -> [MessageReaction] {
    let reactions: [MessageReaction] = try takeArray()
    for index in reactions.indices.dropFirst() where reactions[index - 1] >= reactions[index] {
      throw StoredFormError(expected: "reactions in their order")
    }
    return reactions
  }
}

extension MessageFilter: Storable {
  @inlinable
  public func put(into bytes: inout ByteWriter) { bytes.put(terms) }

  @inlinable
  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    self.init(try bytes.takeArray())
  }
}

extension MessageFilter.Term: Storable {
  @inlinable
  public func put(into bytes: inout ByteWriter) {
    bytes.put(isNegated)
    switch subject {
    case .channel(let channel):
      bytes.put(UInt8(0))
      bytes.put(channel)
    case .topic(let topic):
      bytes.put(UInt8(1))
      bytes.put(topic)
    case .direct(let conversation):
      bytes.put(UInt8(2))
      bytes.put(conversation)
    case .anyDirect: bytes.put(UInt8(3))
    case .sender(let sender):
      bytes.put(UInt8(4))
      bytes.put(sender)
    case .flags(let flags):
      bytes.put(UInt8(5))
      bytes.put(flags)
    case .text(let text):
      bytes.put(UInt8(6))
      bytes.put(text)
    }
  }

  @inlinable
  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    isNegated = try bytes.takeBool()
    switch try bytes.takeByte() {
    case 0: subject = .channel(try bytes.take())
    case 1: subject = .topic(try bytes.take())
    case 2: subject = .direct(try bytes.take())
    case 3: subject = .anyDirect
    case 4: subject = .sender(try bytes.take())
    case 5: subject = .flags(try bytes.take())
    case 6: subject = .text(try bytes.takeString())
    default: throw StoredFormError(expected: "a term")
    }
  }
}
