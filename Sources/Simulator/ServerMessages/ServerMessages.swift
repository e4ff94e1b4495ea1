package import MessageSync
internal import SyncProtocols
internal import UpdateMachine

// ServerMessages: the room of a server's messages as one user may see them, the changes to them,
// and the pages that the server gives.
//
// ServerMessages may use: Choices, Run.

/// The true state of all messages at one position of the server's log.
///
/// The user follows some channels, and is told of every change there. The user can look into other
/// channels, but is told nothing about them. Private channels that the user does not follow are
/// invisible.
package struct ServerMessages: Hashable, Sendable {
  package typealias Narrow = MessageFilter<UInt32>
  package typealias Event = MessageEvent<UInt32>

  /// All messages, visible or not, in ascending order.
  package internal(set) var messages: [ChatMessage<UInt32>] = []
  /// The channels that the user follows, in ascending order.
  package internal(set) var followed: [ChannelID]
  /// The channels that only followers can see.
  package let hidden: [ChannelID]
  /// The number of changes so far. An edit's version is a third of it, so that several edits may
  /// share one version, as they do on real servers, which count in seconds.
  var changeCount: Int64 = 0
  /// The greatest ID so far. No ID is given twice.
  package internal(set) var newest = MessageID(0)
  /// An allocated ID whose message is not committed yet.
  var reserved: MessageID?
  /// The last flag change. The workload often reverses it soon after.
  var lastFlagged: Change?
  /// Rows before their last changes, oldest first.
  var former: [ChatMessage<UInt32>] = []
  /// Old rows that pages show in place of the true ones, except for flags, because the cache was
  /// filled while a change was being committed.
  var cached: [ChatMessage<UInt32>] = []
  /// Older messages are in no page. The user is still told of changes to them.
  package internal(set) var firstVisible = MessageID(0)
  /// Whether the server hides more and more old messages as time passes. It tells nobody.
  var hidesHistory = false

  package init(following followed: [ChannelID], hidden: [ChannelID]) {
    self.followed = followed.sorted()
    self.hidden = hidden
  }

  /// A change on the server.
  package enum Change: Hashable, Sendable {
    /// A new message. IDs are allocated before the commit: a smaller ID may be committed after a
    /// greater one.
    case sent(MessageID, by: UserID, to: MessagePlace, UInt32, MessageFlags)
    case edited(MessageID, UInt32, isMention: Bool)
    /// A move of messages that share a place. If the user could not see that place, there may be no
    /// event.
    case moved([MessageID], to: MessagePlace, isAnnounced: Bool)
    case deleted([MessageID])
    case flagged([MessageID], MessageFlags, isSet: Bool)
    case flaggedAll(MessageFlags, isSet: Bool)
    case reacted(MessageID, MessageReaction, isSet: Bool)
    case covered(ChannelID, follows: Bool)
    /// From now on pages hide the messages older than this ID. No client is told, and none needs to
    /// be: pages say it.
    case limited(to: MessageID)
    /// A change of which no client is told: the server breaks its contract.
    indirect case untold(Change)
    /// From now on pages show this old row, until the message changes again.
    case aged(ChatMessage<UInt32>)
    /// From now on pages show no old rows.
    case renewed
  }

  // MARK: Visibility

  package func follows(_ place: MessagePlace) -> Bool {
    place.channel.map(followed.contains) ?? true
  }

  package func sees(_ place: MessagePlace) -> Bool {
    guard let channel = place.channel else { return true }
    return followed.contains(channel) || !hidden.contains(channel)
  }

  package subscript(id: MessageID) -> ChatMessage<UInt32>? { index(of: id).map { messages[$0] } }

  /// The message, if the user is told of its changes.
  package func followed(_ id: MessageID) -> ChatMessage<UInt32>? {
    guard let message = self[id], follows(message.place) else { return nil }
    return message
  }

  /// Whether a followed message is in a narrow.
  package func contains(_ id: MessageID, in narrow: Narrow) -> Bool {
    guard let message = followed(id) else { return false }
    return narrow.verdict(on: PartialMessage(message)) == .yes
  }

  /// Whether pages hide the message.
  package func hides(_ id: MessageID) -> Bool { id < firstVisible }

  func index(of id: MessageID) -> Int? { messages.firstIndex { $0.id == id } }

  // MARK: Changes

  /// The version that a change would give a message now.
  package var version: Int64 { changeCount / 3 + 1 }

  /// What the user is told of a change that is not yet applied; `nil` for nothing.
  package func announcement(of change: Change) -> Event? {
    switch change {
    case .sent(let id, let sender, let place, let content, let flags):
      guard follows(place) else { return nil }
      return .new(
        ChatMessage(id: id, sender: sender, place: place, content: content, flags: flags))
    case .edited(let id, let content, let isMention):
      guard followed(id) != nil else { return nil }
      let edit = MessageUpdate<UInt32>.Edit(
        id, content: content, flags: isMention ? .mentioned : [], of: .mentioned)
      return .updated(MessageUpdate(edit, version: version))
    case .moved(let ids, let target, let isAnnounced):
      return announcement(ofMoving: ids, to: target, isAnnounced: isAnnounced)
    case .deleted(let ids):
      let seen = ids.filter { followed($0) != nil }
      return seen.isEmpty ? nil : .deleted(seen)
    case .flagged(let ids, let flags, let isSet):
      let seen = ids.filter { followed($0) != nil }
      return seen.isEmpty ? nil : .flagged(seen, flags, isSet: isSet)
    case .flaggedAll(let flags, let isSet): return .flaggedAll(flags, isSet: isSet)
    case .reacted(let id, let reaction, let isSet):
      return followed(id) == nil ? nil : .reacted(id, reaction, isSet: isSet)
    case .covered(let channel, let follows): return .covered(channel, follows: follows)
    case .limited, .untold, .aged, .renewed: return nil
    }
  }

  private func announcement(
    ofMoving ids: [MessageID], to target: MessagePlace, isAnnounced: Bool
  ) -> Event? {
    guard let origin = ids.lazy.compactMap({ self[$0]?.place }).first else { return nil }
    let there = ids.filter { self[$0]?.place == origin }
    let move = MessageUpdate<UInt32>(
      moving: there, MessageUpdate.Move(from: origin, to: target), version: version)
    if follows(origin) { return sees(target) ? .updated(move) : .deleted(there) }
    guard follows(target), sees(origin) || isAnnounced else { return nil }
    return .updated(move)
  }

  /// The messages that this change makes visible again without telling the user.
  package func returnsSilently(_ change: Change) -> [MessageID] {
    guard case .moved(let ids, let target, _) = change, follows(target),
      announcement(of: change) == nil
    else { return [] }
    return ids
  }

  /// Commits a change. Impossible parts are ignored.
  package mutating func apply(_ change: Change) {
    switch change {
    case .sent(let id, let sender, let place, let content, let flags):
      let message = ChatMessage(
        id: id, sender: sender, place: place, content: content, flags: flags)
      messages.insert(message, at: messages.firstIndex { $0.id > id } ?? messages.count)
      if id == reserved { reserved = nil }
      if id.number > newest.number + 1 { reserved = MessageID(newest.number + 1) }
      newest = max(newest, id)
    case .edited(let id, let content, let isMention):
      guard let index = index(of: id) else { break }
      remember(index)
      messages[index].content = content
      messages[index].version = version
      messages[index].flags.assign(.mentioned, isMention)
    case .moved(let ids, let target, _):
      let origin = ids.compactMap { self[$0]?.place }.first
      for index in messages.indices
      where ids.contains(messages[index].id) && messages[index].place == origin {
        remember(index)
        messages[index].place = target
        messages[index].version = version
      }
    case .deleted(let ids):
      messages.removeAll { ids.contains($0.id) }
      former.removeAll { ids.contains($0.id) }
      cached.removeAll { ids.contains($0.id) }
    case .flagged(let ids, let flags, let isSet):
      lastFlagged = change
      // The user can only flag visible messages.
      for id in ids {
        guard let index = index(of: id), sees(messages[index].place) else { continue }
        messages[index].flags.assign(flags, isSet)
      }
    case .flaggedAll(let flags, let isSet):
      for index in messages.indices { messages[index].flags.assign(flags, isSet) }
    case .reacted(let id, let reaction, let isSet):
      guard let index = index(of: id) else { break }
      remember(index)
      messages[index].react(reaction, isSet)
    case .covered(let channel, let follows):
      followed.removeAll { $0 == channel }
      if follows { followed = (followed + [channel]).sorted() }
    case .limited(let id): firstVisible = max(firstVisible, id)
    case .untold(let change): return apply(change)
    case .aged(let row): cached = cached.filter { $0.id != row.id } + [row]
    case .renewed: cached = []
    }
    changeCount += 1
  }

  /// Call this before a row changes. It refills the row's cache, and keeps the old row for a while.
  private mutating func remember(_ index: Int) {
    cached.removeAll { $0.id == messages[index].id }
    if former.count >= ServerMessages.formerMaximum { former.removeFirst() }
    former.append(messages[index])
  }

  private static var formerMaximum: Int { 12 }

  /// A message as pages show it. Flags come from the database; the rest may come from an old cache.
  func row(of id: MessageID) -> ChatMessage<UInt32>? {
    guard let message = self[id] else { return nil }
    guard var row = cached.first(where: { $0.id == id }) else { return message }
    row.flags = message.flags
    return row
  }
}

extension ChatMessage {
  /// Sets or clears a reaction, without using the library's own code.
  fileprivate mutating func react(_ reaction: MessageReaction, _ isSet: Bool) {
    reactions.removeAll { $0 == reaction }
    if isSet { reactions = (reactions + [reaction]).sorted() }
  }
}
