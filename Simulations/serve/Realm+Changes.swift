// Changes of the realm, as its server makes them. `APIServer` says first who may make them.

extension Realm {
  // MARK: Messages

  package func sending(
    _ text: String, from sender: Int64, to place: MessageLocation, isRead: Bool, at time: Int64
  ) -> RealmEvent {
    let message = newMessage(from: sender, to: place, text, at: time, isReadBySender: isRead)
    return RealmEvent(.message(message, echo: nil), to: message.rows.map(\.user))
  }

  package func editing(
    _ message: RealmMessage, _ text: String, by user: Int64, at time: Int64
  ) -> RealmEvent {
    var edit = edit(message, by: user, at: time)
    set(text, in: &edit, of: message)
    return RealmEvent(.edited(edit), to: audience(of: edit, message))
  }

  /// Moves a message of a channel, and perhaps others of its topic; `nil`: it is there already.
  ///
  /// - Parameters:
  ///   - mode: `change_one`, `change_later` or `change_all`.
  ///   - text: the message's new text, if the channel stays; `nil`: it keeps its text.
  ///   - tellsGainers: whether those are told who gain the messages. The real server tells some of
  ///     them.
  package func moving(
    _ message: RealmMessage, to channel: Int64, topic: String, _ mode: String,
    text: String? = nil, by user: Int64, at time: Int64, tellsGainers: Bool
  ) -> RealmEvent? {
    guard case .channel(let old, let oldTopic) = message.place,
      old != channel || oldTopic != topic
    else { return nil }
    var edit = edit(message, by: user, at: time)
    edit.move = RealmEvent.Edit.Move(
      channel: old, topic: oldTopic, newChannel: channel, newTopic: topic, mode: mode,
      ids: moved(with: message, mode))
    if let text, old == channel { set(text, in: &edit, of: message) }
    var audience = self.audience(of: edit, message)
    if tellsGainers, let target = self.channel(channel), target.isPrivate {
      audience += target.subscribers.filter { !audience.contains($0) }
    }
    return RealmEvent(.edited(edit), to: audience)
  }

  /// Deletes messages of one place.
  package func deleting(_ messages: [RealmMessage]) -> RealmEvent? {
    guard let first = messages.first else { return nil }
    let told = messages.reduce(into: [Int64]()) { all, message in
      all += audience(of: message).filter { !all.contains($0) }
    }
    return RealmEvent(.deleted(messages.map(\.id), first.place), to: told)
  }

  /// Sets or clears a flag on those messages where that changes something; `nil`: there are none.
  package func flagging(
    _ messages: [RealmMessage], _ flag: RowFlags, isSet: Bool, of user: Int64
  ) -> RealmEvent? {
    var flagging = RealmEvent.Flagging(user: user, flag: flag, isSet: isSet, ids: [])
    for message in messages {
      let flags = message.flags(of: user)
      // A star makes a row of its own, if the user can see the message. Without a row there is no
      // flag to clear, and whether the message is read is not kept.
      guard flags != nil || flag == .starred && isSet && isVisible(message, to: user),
        flags?.contains(flag) != isSet
      else { continue }
      flagging.ids.append(message.id)
      guard flag == .read, !isSet, let flags else { continue }
      flagging.unread.append(
        .init(
          id: message.id, place: message.place, isMention: flags.contains(.mentioned)))
    }
    return flagging.ids.isEmpty ? nil : RealmEvent(.flagged(flagging), to: [user])
  }

  package func reacting(
    to message: RealmMessage, _ reaction: RealmMessage.Reaction, isSet: Bool
  ) -> RealmEvent {
    RealmEvent(.reacted(message.id, reaction, isSet: isSet), to: audience(of: message))
  }

  // MARK: People and channels

  package func subscribing(_ user: Int64, to channel: Int64, isSet: Bool) -> RealmEvent {
    RealmEvent(.subscribed(user: user, channel: channel, isSet: isSet), to: everybody)
  }

  /// A change of users or channels, of which everybody is told.
  package func announcing(_ kind: RealmEvent.Kind) -> RealmEvent { RealmEvent(kind, to: everybody) }

  private var everybody: [Int64] { users.map(\.id) }

  // MARK: What a user is told

  /// The event as one user gets it; `nil`: the user is told nothing. A move into a private channel
  /// that the user does not follow is told as a deletion.
  package func told(_ event: RealmEvent, to user: Int64) -> RealmEvent? {
    guard event.audience.contains(user) else { return nil }
    guard case .edited(let edit) = event.kind, let move = edit.move,
      move.newChannel != move.channel, let target = channel(move.newChannel), target.isPrivate,
      !target.subscribers.contains(user)
    else { return event }
    return RealmEvent(.deleted(move.ids, edit.place), to: [user])
  }

  // MARK: Parts of an edit

  func edit(_ message: RealmMessage, by user: Int64, at time: Int64) -> RealmEvent.Edit {
    RealmEvent.Edit(
      message: message.id, user: user, place: message.place, time: time, rows: message.rows)
  }

  func set(_ text: String, in edit: inout RealmEvent.Edit, of message: RealmMessage) {
    edit.text = .init(old: message.text, new: text)
    for (index, row) in edit.rows.enumerated() {
      if mentions(row.user, in: text) {
        edit.rows[index].flags.insert(.mentioned)
      } else {
        edit.rows[index].flags.remove(.mentioned)
      }
    }
  }

  /// The messages that move along with one, itself included, ascending.
  func moved(with message: RealmMessage, _ mode: String) -> [Int64] {
    guard case .channel(let old, let topic) = message.place else { return [] }
    let key = topic.lowercased()
    return messages.filter { other in
      guard case .channel(old, let its) = other.place, its.lowercased() == key else { return false }
      switch mode {
      case "change_all": return true
      case "change_later": return other.id >= message.id
      default: return other.id == message.id
      }
    }.map(\.id)
  }

  /// The users who are told of an edit: they have one of the messages, or follow the old channel.
  func audience(of edit: RealmEvent.Edit, _ message: RealmMessage) -> [Int64] {
    var audience = self.audience(of: message)
    for id in edit.move?.ids ?? [] {
      guard let other = self.message(id) else { continue }
      audience += self.audience(of: other).filter { !audience.contains($0) }
    }
    return audience
  }
}
