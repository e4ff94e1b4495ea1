internal import MessageSync
internal import Simulator
package import SyncProtocols
package import UpdateMachine
internal import ZulipServer
package import ZulipSync

// What the server makes of a client's changes, written from the realm alone. This world's clients
// send no messages: the world `posts` is about that.

extension ZulipApp {
  package static func request(
    _ push: PushRequest<ZulipChange>, at finger: QueueFinger?
  ) -> MutationPush {
    MutationPush(
      client: push.client, knownRefusal: push.knownRefusal,
      mutations: push.mutations.map { item in
        let bytes = item.change.storedBytes.map { JSONValue(integerLiteral: Int64($0)) }
        return NamedMutation(id: item.id, name: item.change.name, arguments: .array(bytes))
      })
  }
}

extension ZulipTruth {
  package func change(
    by mutation: NamedMutation, of client: ClientID
  ) throws(ChangeRefusal) -> Change? {
    let bytes = mutation.arguments.array?.compactMap { $0.int64.map { UInt8($0) } } ?? []
    var reader = ByteReader(bytes)
    let change: ZulipChange
    do throws(StoredFormError) {
      change = try ZulipChange(from: &reader)
    } catch {
      preconditionFailure("\(error) in what this world's client has written")
    }
    guard let event = try event(by: change) else { return .unchanged }
    // It takes no changes of which the user's clients would not be told.
    guard announcement(of: .made(event)) != nil else { throw ChangeRefusal("out of sight") }
    return .made(event)
  }

  /// The event of a change; `nil` if everything is as the change wants it.
  private func event(by change: ZulipChange) throws(ChangeRefusal) -> RealmEvent? {
    switch change {
    case .send: throw ChangeRefusal("nobody sends here")
    case .flag(let ids, let flag, let isSet):
      let messages = ids.compactMap { realm.message($0.number) }
        .filter { realm.isVisible($0, to: ZulipTruth.me) }
      let row: RowFlags =
        switch flag {
        case .read: .read
        case .starred: .starred
        case .collapsed: .collapsed
        }
      return realm.flagging(messages, row, isSet: isSet, of: ZulipTruth.me)
    case .react(let id, let emoji, let isSet):
      let message = try visible(id)
      guard emoji == ZulipTruth.wave else { throw ChangeRefusal("no such emoji") }
      let reaction = RealmMessage.Reaction(user: ZulipTruth.me, emoji: Emoji.known[0])
      if message.reactions.contains(reaction) == isSet { return nil }
      return realm.reacting(to: message, reaction, isSet: isSet)
    case .delete(let id):
      guard let message = realm.message(id.number), realm.isVisible(message, to: ZulipTruth.me)
      else { return nil }
      guard message.sender == ZulipTruth.me else { throw ChangeRefusal("not yours") }
      return realm.deleting([message])
    case .edit(let id, let edit):
      let message = try visible(id)
      if let content = edit.content {
        guard message.sender == ZulipTruth.me else { throw ChangeRefusal("not yours") }
        return realm.editing(message, content, by: ZulipTruth.me, at: time)
      }
      guard case .channel(let channel, let topic) = message.place else {
        throw ChangeRefusal("direct messages cannot be moved")
      }
      return realm.moving(
        message, to: edit.channel?.number ?? channel, topic: edit.topic ?? topic,
        edit.moves.rawValue, by: ZulipTruth.me, at: time, tellsGainers: false)
    }
  }

  private func visible(_ id: MessageID) throws(ChangeRefusal) -> RealmMessage {
    guard let message = realm.message(id.number), realm.isVisible(message, to: ZulipTruth.me) else {
      throw ChangeRefusal("no such message")
    }
    return message
  }

  /// The emoji with which this world's user reacts.
  static var wave: ZulipConnection.Emoji {
    let emoji = Emoji.known[0]
    return ZulipConnection.Emoji(emoji.name, code: emoji.code, type: emoji.type)
  }
}
