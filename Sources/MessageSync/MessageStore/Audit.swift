public import UpdateMachine

// A server sometimes breaks its contract: an event never comes, or a page is from an old cache. So
// every page is also used to check what is held (PartialKnowledge R13). With a server that keeps
// its contract there is nothing to find.

extension MessageStore {
  /// Held messages that a page has contradicted, and counts of how earlier cases ended.
  @usableFromInline
  struct Audit: Sendable {
    /// The most open cases. A page that contradicts more is more likely wrong itself.
    @inlinable
    static var limit: Int { 64 }

    @usableFromInline
    enum Evidence: Hashable, Sendable {
      /// The page brought this copy. No event has been applied to it.
      case copy(ChatMessage<Content>)
      /// Pages of these narrows lacked the message, though it is held and belongs to them, or
      /// listed it, though it does not.
      case lists([Narrow])
    }

    @usableFromInline
    struct Case: Sendable {
      @usableFromInline var id: MessageID
      @usableFromInline var evidence: Evidence
      /// How many polls had left when the case was opened.
      @usableFromInline var asked: UInt64
      /// A poll that left later was answered and did not explain the contradiction.
      @usableFromInline var isSuspect = false
      /// The open fetch of the second reading.
      @usableFromInline var reading: RequestID?

      @inlinable
      init(id: MessageID, evidence: Evidence, asked: UInt64) {
        self.id = id
        self.evidence = evidence
        self.asked = asked
      }
    }

    @usableFromInline var cases: [Case] = []
    @usableFromInline var polls: UInt64 = 0
    @usableFromInline var suspectCount: Int64 = 0
    @usableFromInline var readingCount: Int64 = 0
    @usableFromInline var repairCount: Int64 = 0

    @inlinable
    init() {}

    /// Starts a new generation with the counts of the old one.
    @inlinable
    init(counting other: Audit) {
      suspectCount = other.suspectCount
      readingCount = other.readingCount
      repairCount = other.repairCount
    }

    /// Opens a case. There is one for each message: a copy replaces what lists said, and that of
    /// several lists is joined.
    @inlinable
    mutating func open(_ id: MessageID, _ evidence: Evidence) {
      if let index = cases.firstIndex(where: { $0.id == id }) {
        guard cases[index].reading == nil, case .lists(let narrows) = cases[index].evidence else {
          return
        }
        switch evidence {
        case .copy:
          cases[index] = Case(id: id, evidence: evidence, asked: polls)
        case .lists(let more):
          let new = more.filter { !narrows.contains($0) }
          cases[index].evidence = .lists(narrows + new)
        }
      } else if cases.count < Audit.limit {
        cases.append(Case(id: id, evidence: evidence, asked: polls))
      }
    }

    @inlinable
    mutating func end(_ id: MessageID) { cases.removeAll { $0.id == id } }

    @inlinable
    mutating func endAll() { cases = [] }

    @inlinable
    mutating func asked() { polls += 1 }

    /// Notes that a poll was answered. A case becomes suspect if the poll left after the page had
    /// arrived and its answer did not explain the contradiction.
    @inlinable
    mutating func answered() {
      for index in cases.indices where !cases[index].isSuspect && cases[index].asked < polls {
        cases[index].isSuspect = true
        suspectCount += 1
      }
    }

    /// Notes that the request for the second reading of a suspect leaves.
    @inlinable
    mutating func begin(_ id: MessageID, _ reading: RequestID) {
      let index = cases.firstIndex { $0.id == id && $0.isSuspect && $0.reading == nil }
      guard let index else { return }
      cases[index].reading = reading
      readingCount += 1
    }

    /// Ends the case of a second reading that arrived or was abandoned.
    @inlinable
    mutating func end(reading: RequestID) { cases.removeAll { $0.reading == reading } }

    /// The evidence of the first reading.
    @inlinable
    func evidence(for reading: RequestID) -> Evidence? {
      cases.first { $0.reading == reading }?.evidence
    }

    /// Drops what pages of a narrow said, because the narrow has changed its meaning.
    @inlinable
    mutating func forgetEvidence(of narrow: Narrow) {
      cases.removeAll { one in
        if case .lists(let narrows) = one.evidence { narrows.contains(narrow) } else { false }
      }
    }
  }

  /// Held messages to be fetched once more after a pause, each by its ID alone, in the order in
  /// which they were found. A page has contradicted them, and no event has explained it.
  @inlinable
  public var suspects: [MessageID] {
    audit.cases.filter { $0.isSuspect && $0.reading == nil }.map { $0.id }
  }

  /// How many messages were ever suspect, and how many of them were wrong and have been mended.
  /// With a server that keeps its contract, both grow only through messages that became visible
  /// again without an event.
  @inlinable
  public var auditCounts: (suspects: Int64, repairs: Int64) {
    (audit.suspectCount, audit.repairCount)
  }

  /// How many requests for second readings have left: at most one for each suspect.
  package var secondReadings: Int64 { audit.readingCount }

  /// How many held messages are contradicted by a page, with the cause still open.
  package var openAudits: Int { audit.cases.count }

  // MARK: First reading

  /// Compares a page, as it came, with the held messages, and opens cases.
  @inlinable
  mutating func examine(
    _ page: Page, _ fetch: Fetch, _ interval: IDInterval<MessageID>?, _ replay: Replay
  ) {
    for message in page.messages {
      let id = message.id
      if !self.held.contains(id), follows(message.place), let narrow = fetch.request.narrow,
        replay.contradictsItself(about: id)
      {
        // It will be held soon, perhaps from the same old cache. Where it is not followed, it will
        // not be: and no event says what has changed there.
        audit.open(id, .lists([narrow]))
      }
      guard replay.isUnnamed(id), let held = held[id] else { continue }
      let doubt = doubt(about: id).union(MessageStore.doubt(of: message, on: fetch.request))
      if MessageStore.counts(message, against: held, doubt: doubt) {
        audit.open(id, .copy(message))
      } else if let narrow = fetch.request.narrow, replay.contradictsItself(about: id) {
        audit.open(id, .lists([narrow]))
      }
    }
    guard let interval else { return }
    if let narrow = fetch.request.narrow {
      examineLacks(of: narrow, page, interval, replay)
    } else if case .item(let id) = fetch.request.want, page.messages.isEmpty,
      held.contains(id), replay.isUnnamed(id)
    {
      audit.open(id, .lists([]))
    }
  }

  @inlinable
  mutating func examineLacks(
    of narrow: Narrow, _ page: Page, _ interval: IDInterval<MessageID>, _ replay: Replay
  ) {
    guard let listKey = listKey(of: narrow), let ids = lists[listKey]?.list.ids else { return }
    var next = page.messages.startIndex
    for (id, _) in ids.ascending(from: interval.lowerEnd.id ?? MessageID(.min)) {
      guard interval.contains(id) else { return }
      while next < page.messages.endIndex, page.messages[next].id < id { next += 1 }
      if next < page.messages.endIndex, page.messages[next].id == id { continue }
      guard let held = held[id], replay.isUnnamed(id) else { continue }
      let certain = PartialMessage(held.message, doubt: doubt(about: id))
      if narrow.verdict(on: certain) == .yes { audit.open(id, .lists([narrow])) }
    }
  }

  // MARK: Second reading

  /// Handles the second reading of a suspect. What both readings say is taken over. That is one
  /// repair.
  @inlinable
  mutating func repair(
    _ id: MessageID, _ copy: ChatMessage<Content>?, by reading: RequestID, isUnnamed: Bool
  ) {
    guard isUnnamed, let evidence = audit.evidence(for: reading), let held = held[id] else {
      return
    }
    var doubt = doubt(about: id)
    switch evidence {
    case .copy(let first):
      guard let copy else { return }
      // The first reading, a list, did not say whether it is in the feed.
      doubt.formUnion(first.flags.intersection(.outsideFeed))
      let fields = MessageStore.differences(first, held, doubt)
      guard !fields.isEmpty, fields == MessageStore.differences(copy, held, doubt),
        MessageStore.agree(first, copy, in: fields)
      else { return }
      accept(MessageStore.mended(held, copy, fields))
    case .lists(let narrows):
      guard let copy else {
        audit.repairCount += 1
        self.mended.append(id)
        return drop(id)
      }
      let mended = MessageStore.mended(held, copy, MessageStore.differences(copy, held, doubt))
      let (old, new) = (
        PartialMessage(held.message, doubt: doubt), PartialMessage(mended.message, doubt: doubt)
      )
      let isExplained =
        !follows(mended.message.place)
        || narrows.contains { narrow in
          let verdict = narrow.verdict(on: new)
          return verdict != .unknown && verdict == !narrow.verdict(on: old)
        }
      if isExplained { accept(mended) }
    }
  }

  /// Takes the values that both readings agree on.
  @inlinable
  mutating func accept(_ mended: Held) {
    audit.repairCount += 1
    let id = mended.message.id
    self.mended.append(id)
    ahead[id] = audit.polls
    if follows(mended.message.place) { hold(mended, doubt: doubt(about: id)) } else { drop(id) }
  }

  /// Returns a held message with some fields taken from a copy.
  @inlinable
  static func mended(
    _ held: Held, _ copy: ChatMessage<Content>, _ fields: Differences
  ) -> Held {
    var mended = held
    if fields.content {
      mended.message.content = copy.content
      mended.contentEvent = nil
    }
    if fields.place {
      mended.message.place = copy.place
      mended.placeEvent = nil
    }
    if fields.content || fields.place { mended.message.version = copy.version }
    mended.message.flags.subtract(fields.flags)
    mended.message.flags.formUnion(copy.flags.intersection(fields.flags))
    for reaction in fields.reactions {
      mended.message.reactions.assign(reaction, copy.reactions.contains(reaction))
    }
    return mended
  }

  // MARK: Differences that count

  /// The fields in which a copy differs from the held message and that count.
  @usableFromInline
  struct Differences: Hashable, Sendable {
    @usableFromInline var content = false
    @usableFromInline var place = false
    @usableFromInline var flags: MessageFlags = []
    @usableFromInline var reactions: [MessageReaction] = []

    @inlinable
    init() {}

    @inlinable
    var isEmpty: Bool { !content && !place && flags.isEmpty && reactions.isEmpty }
  }

  @inlinable
  static func counts(
    _ copy: ChatMessage<Content>, against held: Held, doubt: MessageFlags
  ) -> Bool { !differences(copy, held, doubt).isEmpty }

  /// Returns the differences that count. In a copy of an older version only flags count. A field
  /// that an event assigned yields only to a version greater than that event's; a field that a page
  /// brought also yields to an equal version. A reaction that an event has named never counts.
  @inlinable
  static func differences(
    _ copy: ChatMessage<Content>, _ held: Held, _ doubt: MessageFlags
  ) -> Differences {
    var differences = Differences()
    let message = held.message
    differences.flags = copy.flags.symmetricDifference(message.flags).subtracting(doubt)
    guard copy.version >= message.version else { return differences }
    differences.content =
      copy.content != message.content && copy.version > (held.contentEvent ?? .min)
    differences.place = copy.place != message.place && copy.version > (held.placeEvent ?? .min)
    for reaction in copy.reactions
    where !message.reactions.contains(reaction) && !held.named.contains(reaction) {
      differences.reactions.append(reaction)
    }
    for reaction in message.reactions
    where !copy.reactions.contains(reaction) && !held.named.contains(reaction) {
      differences.reactions.append(reaction)
    }
    return differences
  }

  @inlinable
  static func agree(
    _ one: ChatMessage<Content>, _ other: ChatMessage<Content>, in fields: Differences
  ) -> Bool {
    if fields.content, one.content != other.content { return false }
    if fields.place, one.place != other.place { return false }
    return one.flags.intersection(fields.flags) == other.flags.intersection(fields.flags)
  }
}
