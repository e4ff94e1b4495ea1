import MessageSync
import Testing
import UpdateMachine

/// Tests that the revision goes up whenever a list or a message may have changed. A checker
/// compares stores without it.
@Suite struct RevisionTests {
  typealias Narrow = MessageFilter<Int>

  private static let narrow = Narrow([.channel(ChannelID(1))])

  private static func message(_ number: Int64) -> ChatMessage<Int> {
    ChatMessage(
      id: MessageID(number), sender: UserID(1), place: .channel(ChannelID(1), topic: "a"),
      content: 1)
  }

  /// A store with one open list that is completely known: messages 1 and 2.
  private static func store() -> MessageStore<Narrow> {
    var store = MessageStore<Narrow>(following: [ChannelID(1)])
    store.open(narrow)
    let fetch = RequestID(incarnation: Incarnation(1), part: .pages, number: 1)
    store.begin(fetch, PageRequest(narrow, .newest, before: 9, after: 0))
    let page = MessagePage(
      messages: [message(1), message(2)], foundOldest: true, foundNewest: true)
    #expect(store.take(page, for: fetch) == .taken)
    return store
  }

  @Test func `every event and every change of the lists raises the revision`() {
    let reaction = MessageReaction(user: UserID(2), emoji: "x")
    let changes: [(String, (inout MessageStore<Narrow>) -> Void)] = [
      ("event", { $0.apply(.new(Self.message(3))) }),
      ("reaction", { $0.apply(.reacted(MessageID(1), reaction, isSet: true)) }),
      ("deletion", { $0.apply(.deleted([MessageID(1)])) }),
      ("coverage", { $0.apply(.covered(ChannelID(1), follows: false)) }),
      ("open", { $0.open(Narrow()) }),
      ("close", { $0.close(Self.narrow) }),
      ("reconsider", { $0.reconsider(Self.narrow) }),
      ("drop", { $0.drop(MessageID(1)) }),
      ("restored", { $0.restored() }),
    ]
    for (name, change) in changes {
      var store = RevisionTests.store()
      let before = store
      change(&store)
      #expect(store.revision > before.revision, "\(name)")
      // A restored store forgets only what was under way in the previous incarnation.
      #expect(store.isSame(as: before) == (name == "restored"), "\(name)")
    }
  }

  @Test func `stores with equal contents are the same, whatever their history`() {
    let store = RevisionTests.store()
    #expect(store.isSame(as: RevisionTests.store()))
    var changed = store
    changed.apply(.new(Self.message(3)))
    #expect(!changed.isSame(as: store))
    changed.apply(.deleted([MessageID(3)]))
    #expect(changed.isSame(as: store))
  }

  @Test func `an awaited page raises the revision`() {
    var store = RevisionTests.store()
    let (one, other) = (
      RequestID(incarnation: Incarnation(1), part: .pages, number: 2),
      RequestID(incarnation: Incarnation(1), part: .pages, number: 3)
    )
    store.begin(one, PageRequest(MessageID(2)))
    let before = store.revision
    #expect(store.take(MessagePage(messages: []), for: other) == .absorbed)
    #expect(store.revision == before)
    #expect(store.take(MessagePage(messages: [RevisionTests.message(2)]), for: one) == .taken)
    #expect(store.revision > before)
  }

  @Test func `an empty poll does not raise the revision`() {
    var store = RevisionTests.store()
    let before = store.revision
    store.asked()
    store.answered()
    #expect(store.revision == before)
    #expect(store.isSame(as: RevisionTests.store()))
  }

  @Test func `a new generation continues the revision`() {
    let old = RevisionTests.store()
    let new = MessageStore<Narrow>(following: [ChannelID(1)], after: old)
    #expect(new.revision > old.revision)
    #expect(!new.isSame(as: old))
  }
}
