extension MessageStore {
  /// The events applied since the oldest open fetch left (R3). They are kept whole, in order, each
  /// once, and whether or not their messages are held. A page may be older than any of them. The
  /// journal is also the only memory of a deletion (R9).
  @usableFromInline
  struct Journal: Sendable {
    @usableFromInline
    enum Entry: Sendable {
      case event(Event)
      /// From here on, flags of these messages are in doubt.
      case doubt([MessageID], MessageFlags)
    }

    /// The most entries that are kept. Beyond that, the oldest fetch is abandoned and asked again.
    /// A page takes seconds; if a server sends more events than this meanwhile, a new fetch is
    /// cheaper.
    @inlinable
    static var limit: Int { 10_000 }

    @usableFromInline var entries: [Entry] = []
    /// The position of the first entry.
    @usableFromInline var beginning: UInt64 = 0
    /// The number of entries ever applied.
    @usableFromInline var position: UInt64 = 0

    @inlinable
    init() {}

    @inlinable
    var count: Int { entries.count }

    /// Counts an applied entry, and keeps it if an open fetch may bring an older page.
    @inlinable
    mutating func append(_ entry: Entry, isNeeded: Bool) {
      if isNeeded { entries.append(entry) }
      position += 1
      if !isNeeded { beginning = position }
    }

    /// Drops the entries before the position of the oldest open fetch, or all entries if it is
    /// `nil`.
    @inlinable
    mutating func trim(to position: UInt64?) {
      let oldest = position ?? self.position
      guard oldest > beginning else { return }
      entries.removeFirst(Int(oldest - beginning))
      beginning = oldest
    }

    /// The entries applied since a position, in order.
    @inlinable
    func since(_ position: UInt64) -> ArraySlice<Entry> {
      entries[Int(position - beginning)...]
    }
  }

  /// What an event says about one message.
  @usableFromInline
  enum Touch {
    case replaced(ChatMessage<Content>)
    /// The message no longer exists for this user, or is in a place that is not followed, if that
    /// is known.
    case gone(to: MessagePlace?)
    /// The message moved here from a place that is not followed. Only its place is known.
    case arrived(MessagePlace)
    /// `isOther`: into another channel.
    case moved(MessagePlace, isOther: Bool, version: Int64?)
    case edited(MessageUpdate<Content>.Edit, version: Int64?)
    case flagged(MessageFlags, isSet: Bool)
    /// `isOwn`: by the user.
    case reacted(MessageReaction, isSet: Bool, isOwn: Bool)
    case doubted(MessageFlags)

    /// The fields that it assigns.
    @inlinable
    var fields: MessageFields {
      switch self {
      case .replaced, .gone, .arrived: .all
      case .moved: MessageFields(place: true)
      case .edited(let edit, _): MessageFields(content: true, flags: edit.flagsRead)
      case .flagged(let flags, _):
        MessageFields(flags: bringsIntoFeed ? flags.union(.outsideFeed) : flags)
      case .doubted(let flags): MessageFields(flags: flags)
      case .reacted:
        MessageFields(reactions: true, flags: bringsIntoFeed ? .outsideFeed : [])
      }
    }

    /// Whether the user has done something with the message, so that it is in the feed from now on,
    /// even if it was not before (R14).
    @inlinable
    var bringsIntoFeed: Bool {
      switch self {
      case .replaced: true
      case .flagged(let flags, let isSet):
        !flags.isDisjoint(with: isSet ? [.starred, .collapsed] : .read)
      case .reacted(_, let isSet, let isOwn): isSet && isOwn
      case .gone, .arrived, .moved, .edited, .doubted: false
      }
    }

    /// Whether it may have brought the message into the feed, without a word: into some channels
    /// the server moves it for all followers.
    @inlinable
    var mayBringIntoFeed: Bool {
      if case .moved(_, let isOther, _) = self { isOther } else { false }
    }

    /// Whether it may be why a page that was read ahead of it lacked the message. Then the page
    /// does not say that the message is outside of the feed.
    @inlinable
    var mayExplainLack: Bool {
      switch self {
      case .moved, .edited: true
      case .replaced, .gone, .arrived, .flagged, .reacted, .doubted: false
      }
    }

    /// Changes the flags of a message, and those in doubt, by what this means for the feed. Every
    /// flag that an event changes is one that the server keeps for the user.
    @inlinable
    func settleFeed(_ flags: inout MessageFlags, _ doubt: inout MessageFlags) {
      guard flags.contains(.outsideFeed) else { return }
      switch self {
      case .moved where mayBringIntoFeed: doubt.formUnion(.feedFlags)
      case .flagged, .replaced:
        flags.remove(.outsideFeed)
        doubt.remove(.outsideFeed)
      case .reacted where bringsIntoFeed:
        flags.remove(.outsideFeed)
        doubt.remove(.outsideFeed)
      case .gone, .arrived, .moved, .edited, .reacted, .doubted: break
      }
    }

    /// What it tells about a message that is not held.
    @inlinable
    func partialMessage(of id: MessageID) -> PartialMessage<Content> {
      var partialMessage = PartialMessage<Content>(id)
      switch self {
      case .replaced(let message): return PartialMessage(message)
      case .gone, .doubted, .reacted: break
      case .arrived(let place), .moved(let place, _, _):
        partialMessage.place = place
        partialMessage.channel = place.channel
      case .edited(let edit, _):
        partialMessage.content = edit.content
        partialMessage.flags = edit.flags.intersection(edit.flagsRead)
        partialMessage.flagsShown = edit.flagsRead
      case .flagged(let flags, let isSet):
        partialMessage.flags = isSet ? flags : []
        partialMessage.flagsShown = flags
      }
      if bringsIntoFeed { partialMessage.flagsShown.insert(.outsideFeed) }
      return partialMessage
    }
  }

  /// What an event means for each message that it names, in order. If an event edits and moves, the
  /// edit comes first.
  @inlinable
  func touches(of event: Event) -> [(id: MessageID, touch: Touch)] {
    switch event {
    case .new(let message):
      return [(message.id, follows(message.place) ? .replaced(message) : .gone(to: message.place))]
    case .updated(let update):
      var touches: [(id: MessageID, touch: Touch)] = []
      if let edit = update.edit { touches = [(edit.id, .edited(edit, version: update.version))] }
      guard let move = update.move else { return touches }
      for id in update.moved { touches.append((id, touch(by: move, version: update.version))) }
      return touches
    case .deleted(let ids): return ids.map { ($0, .gone(to: nil)) }
    case .flagged(let ids, let flags, let isSet):
      return ids.map { ($0, .flagged(flags, isSet: isSet)) }
    case .reacted(let id, let reaction, let isSet):
      let isOwn = reaction.user == reader
      return [(id, .reacted(reaction, isSet: isSet, isOwn: isOwn))]
    case .flaggedAll, .covered: return []
    }
  }

  @inlinable
  func touch(by move: MessageUpdate<Content>.Move, version: Int64?) -> Touch {
    // A move to a place that is not followed counts as a deletion, whatever the server calls it.
    if !follows(move.target) { return .gone(to: move.target) }
    guard follows(move.origin) else { return .arrived(move.target) }
    let isOther = move.origin.channel != move.target.channel
    return .moved(move.target, isOther: isOther, version: version)
  }
}

extension MessageStore.Held {
  @inlinable
  init(_ message: ChatMessage<MessageStore.Content>) { self.message = message }

  /// Applies an event to the message. Fields are assigned, whatever their old values (R4).
  @inlinable
  mutating func take(_ touch: MessageStore.Touch) {
    switch touch {
    case .replaced(let message):
      self.message = message
      contentEvent = message.version
      placeEvent = message.version
      named = []
    case .gone, .arrived, .doubted: break
    case .moved(let place, _, let version):
      message.place = place
      if let version { message.version = version }
      placeEvent = message.version
    case .edited(let edit, let version):
      message.content = edit.content
      message.flags.subtract(edit.flagsRead)
      message.flags.formUnion(edit.flags.intersection(edit.flagsRead))
      if let version { message.version = version }
      contentEvent = message.version
    case .flagged(let flags, let isSet): message.flags.assign(flags, isSet)
    case .reacted(let reaction, let isSet, _):
      message.reactions.assign(reaction, isSet)
      named.assign(reaction, true)
    }
  }
}
