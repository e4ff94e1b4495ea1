internal import MessageSync
public import UpdateMachine

extension ZulipChange: Storable {
  private enum Kind: UInt8 {
    // 0 and 1 begin a message to a channel and to users.
    case edit = 2
    case delete, flag, react, read, topic, subscribe, status, draft
  }

  /// A message that is sent is saved as by older versions, which could save nothing else.
  public func put(into bytes: inout ByteWriter) {
    switch self {
    case .send(let message): message.put(into: &bytes)
    case .edit(let id, let edit):
      bytes.put(Kind.edit.rawValue)
      bytes.put(id.number)
      bytes.put(edit.content)
      bytes.put(edit.topic)
      bytes.put(edit.channel?.number)
      bytes.put(edit.moves.rawValue)
      bytes.put(edit.notifiesOldTopic)
      bytes.put(edit.notifiesNewTopic)
    case .delete(let id):
      bytes.put(Kind.delete.rawValue)
      bytes.put(id.number)
    case .flag(let ids, let flag, let isSet):
      bytes.put(Kind.flag.rawValue)
      bytes.put(ids.map(\.number))
      bytes.put(flag.rawValue)
      bytes.put(isSet)
    case .react(let id, let emoji, let isSet):
      bytes.put(Kind.react.rawValue)
      bytes.put(id.number)
      emoji.put(into: &bytes)
      bytes.put(isSet)
    case .read(let narrow, let last):
      bytes.put(Kind.read.rawValue)
      bytes.put(narrow.terms)
      bytes.put(last.number)
    case .topic(let channel, let topic, let visibility):
      bytes.put(Kind.topic.rawValue)
      bytes.put(channel.number)
      bytes.put(topic)
      bytes.put(visibility.rawValue)
    case .subscribe(let channel, let isSet):
      bytes.put(Kind.subscribe.rawValue)
      bytes.put(channel.number)
      bytes.put(isSet)
    case .status(let text, let emoji):
      bytes.put(Kind.status.rawValue)
      bytes.put(text)
      bytes.put(emoji != nil)
      emoji?.put(into: &bytes)
    case .draft(let former, let draft):
      bytes.put(Kind.draft.rawValue)
      for draft in [former, draft] {
        bytes.put(draft != nil)
        draft?.put(into: &bytes)
      }
    }
  }

  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    let first = try bytes.takeByte()
    guard let kind = Kind(rawValue: first) else {
      self = .send(try ZulipOutgoing(kind: first, from: &bytes))
      return
    }
    switch kind {
    case .edit:
      let id = MessageID(try bytes.takeInt64())
      self = .edit(id, try ZulipConnection.Edit(from: &bytes))
    case .delete: self = .delete(MessageID(try bytes.takeInt64()))
    case .flag:
      let ids: [Int64] = try bytes.takeArray()
      guard let flag = ZulipConnection.Flag(rawValue: try bytes.takeString()) else {
        throw StoredFormError(expected: "a flag")
      }
      self = .flag(ids.map { MessageID($0) }, flag, isSet: try bytes.takeBool())
    case .react:
      let id = MessageID(try bytes.takeInt64())
      let emoji = try ZulipConnection.Emoji(from: &bytes)
      self = .react(id, emoji, isSet: try bytes.takeBool())
    case .read:
      let narrow = ZulipNarrow(try bytes.takeArray())
      self = .read(narrow, through: MessageID(try bytes.takeInt64()))
    case .topic:
      let channel = ChannelID(try bytes.takeInt64())
      let topic = try bytes.takeString()
      guard let visibility = ZulipVisibility(rawValue: try bytes.takeInt64()) else {
        throw StoredFormError(expected: "how a topic is set")
      }
      self = .topic(channel, topic, visibility)
    case .subscribe:
      let channel = ChannelID(try bytes.takeInt64())
      self = .subscribe(channel, isSet: try bytes.takeBool())
    case .status:
      let text = try bytes.takeString()
      let emoji = try bytes.takeBool() ? try ZulipConnection.Emoji(from: &bytes) : nil
      self = .status(text, emoji)
    case .draft:
      let former = try bytes.takeBool() ? try ZulipDraft(from: &bytes) : nil
      self = .draft(former, becomes: try bytes.takeBool() ? try ZulipDraft(from: &bytes) : nil)
    }
  }
}

extension ZulipConnection.Emoji {
  fileprivate func put(into bytes: inout ByteWriter) {
    bytes.put(name)
    bytes.put(code)
    bytes.put(type)
  }

  fileprivate init(from bytes: inout ByteReader) throws(StoredFormError) {
    self.init(
      try bytes.takeString(), code: try bytes.takeOptional(String.self),
      type: try bytes.takeOptional(String.self))
  }
}

extension ZulipConnection.Edit {
  fileprivate init(from bytes: inout ByteReader) throws(StoredFormError) {
    self.init(
      content: try bytes.takeOptional(String.self), topic: try bytes.takeOptional(String.self),
      channel: try bytes.takeOptional(Int64.self).map { ChannelID($0) })
    guard let moves = Moves(rawValue: try bytes.takeString()) else {
      throw StoredFormError(expected: "which messages move")
    }
    self.moves = moves
    notifiesOldTopic = try bytes.takeBool()
    notifiesNewTopic = try bytes.takeBool()
  }
}
