internal import MessageSync
public import UpdateMachine

extension ZulipChange: Storable {
  private enum Kind: UInt8 {
    // 0 and 1 begin a message to a channel and to users.
    case edit = 2
    case delete, flag, react
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
      bytes.put(emoji.name)
      bytes.put(emoji.code)
      bytes.put(emoji.type)
      bytes.put(isSet)
    }
  }

  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    let first = try bytes.takeByte()
    guard let kind = Kind(rawValue: first) else {
      self = .send(try ZulipOutgoing(kind: first, from: &bytes))
      return
    }
    if kind == .flag {
      let ids: [Int64] = try bytes.takeArray()
      guard let flag = ZulipConnection.Flag(rawValue: try bytes.takeString()) else {
        throw StoredFormError(expected: "a flag")
      }
      self = .flag(ids.map { MessageID($0) }, flag, isSet: try bytes.takeBool())
      return
    }
    let id = MessageID(try bytes.takeInt64())
    switch kind {
    case .edit: self = .edit(id, try ZulipConnection.Edit(from: &bytes))
    case .delete: self = .delete(id)
    case .react:
      let emoji = ZulipConnection.Emoji(
        try bytes.takeString(), code: try bytes.takeOptional(String.self),
        type: try bytes.takeOptional(String.self))
      self = .react(id, emoji, isSet: try bytes.takeBool())
    case .flag: preconditionFailure("flags are read above")
    }
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
