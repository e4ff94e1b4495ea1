public import UpdateMachine

// KnowledgeRules: the room of what may be held and claimed of messages, for checkers of a store. No
// store uses it.
//
// KnowledgeRules may use: Message, MessageStore.

/// What a client may hold of a message and claim in its lists (PartialKnowledge, "the allowance").
/// A wider rule would miss bugs, and a narrower one is false. The rule is written only here.
///
/// It has two callers, and each passes in the truth that it knows. The simulator's `IntervalOracle`
/// has the true state at every position of the log. `simulate check` has what a recording shows.
@usableFromInline
package enum KnowledgeRules {
  /// A field of a message. Each is judged separately, because a page may be read ahead of the
  /// events.
  @usableFromInline
  package enum Field: String {
    case place, content, flags, reactions, sender
  }

  /// The fields of a message that are not judged.
  @usableFromInline
  package struct Excuse: Sendable {
    @usableFromInline package var content = false
    @usableFromInline package var place = false
    /// The message's existence.
    @usableFromInline package var isThere = false
    @usableFromInline package var flags: MessageFlags
    @usableFromInline package var reactions: [MessageReaction] = []

    @usableFromInline
    package init(flags: MessageFlags = []) { self.flags = flags }
  }

  /// Returns the fields of a held message that match none of these true copies, in the order of
  /// ``Field``.
  @inlinable
  package static func wrongFields<Content>(
    of held: ChatMessage<Content>, among truths: [ChatMessage<Content>], _ excuse: Excuse
  ) -> [Field] {
    var wrong: [Field] = []
    if !excuse.place, !truths.contains(where: { $0.place == held.place }) { wrong.append(.place) }
    if !excuse.content, !truths.contains(where: { $0.content == held.content }) {
      wrong.append(.content)
    }
    // Each flag and each reaction is a field of its own.
    var flags = excuse.flags
    for truth in truths {
      flags.formUnion(MessageFlags.all.subtracting(held.flags.symmetricDifference(truth.flags)))
    }
    if flags != .all { wrong.append(.flags) }
    let isWrong = { (reaction: MessageReaction) in
      let isThere = held.reactions.contains(reaction)
      return !excuse.reactions.contains(reaction)
        && !truths.contains { $0.reactions.contains(reaction) == isThere }
    }
    let isInOrder = zip(held.reactions, held.reactions.dropFirst()).allSatisfy { $0 < $1 }
    if !isInOrder || held.reactions.contains(where: isWrong)
      || truths.contains(where: { $0.reactions.contains(where: isWrong) })
    {
      wrong.append(.reactions)
    }
    if !truths.contains(where: { $0.sender == held.sender }) { wrong.append(.sender) }
    return wrong
  }

  // MARK: Lists

  /// The interval of IDs about which a page is complete (R5); `nil`: none.
  @inlinable
  package static func interval<Narrow: MessageNarrow>(
    of page: MessagePage<Narrow.Content>, for request: PageRequest<Narrow, MessageID>
  ) -> IDInterval<MessageID>? {
    guard page.isInOrder else { return nil }
    return page.interval(for: request.want)
  }

  /// Whether a list contains a message; `nil`: the list does not know.
  @inlinable
  package static func word(of list: PartialList<MessageID>, on id: MessageID) -> Bool? {
    list.knowledge.contains(id) ? list.ids.contains(id) : nil
  }

  /// A wrong claim of a list.
  @usableFromInline
  package struct Objection {
    @usableFromInline package var expected: String
    @usableFromInline package var found: String

    @usableFromInline
    package init(expected: String, found: String) {
      self.expected = expected
      self.found = found
    }
  }

  /// Returns a claim of a list that contradicts the messages held; `nil`: there is none. A list
  /// contains the held messages that belong to it (R1), and claims nothing about messages in doubt
  /// (R10).
  @inlinable
  package static func objection<Narrow>(
    to list: PartialList<MessageID>, of narrow: Narrow, in store: MessageStore<Narrow>
  ) -> Objection? {
    guard store.canBeKnown(narrow) else {
      guard !list.knowledge.isEmpty else { return nil }
      return .init(expected: "\(narrow) can never be known", found: "\(list)")
    }
    var count = 0
    var objection: Objection?
    let channel = narrow.channel
    // Each message is looked at in place, because a copy takes longer than the look.
    _ = store.held.hasValue { held in
      let id = held.message.id
      let isListed = list.ids.contains(id)
      if isListed { count += 1 }
      if !isListed, let channel, held.message.place.channel != channel { return false }
      let doubt = store.doubts.isEmpty ? [] : store.doubt(about: id)
      if !doubt.isEmpty, list.knowledge.contains(id),
        narrow.verdict(on: PartialMessage(held.message, doubt: doubt)) == .unknown
      {
        objection = .init(
          expected: "\(narrow) does not know of \(id), for its flags are in doubt",
          found: "knows \(list.knowledge)")
        return true
      }
      let belongs = narrow.verdict(on: PartialMessage(held.message)) == .yes
      guard belongs != isListed else { return false }
      objection = .init(
        expected: "\(id) is \(belongs ? "" : "not ")in the list of \(narrow)",
        found: isListed ? "it is" : "it is not")
      return true
    }
    if let objection { return objection }
    guard list.ids.count != count else { return nil }
    return .init(expected: "\(narrow) lists \(count) held messages", found: "\(list)")
  }
}
