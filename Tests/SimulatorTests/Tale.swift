import MessageSync
import Simulator
import Testing
import UpdateMachine

/// A history of one client and one server, told step by step, as in PartialKnowledge. After each
/// step everything that the client claims must be true.
struct Tale {
  typealias Narrow = ServerMessages.Narrow
  typealias Store = MessageRace.Store

  private(set) var race = MessageRace(
    ServerMessages(following: [ChannelID(1), ChannelID(2)], hidden: [ChannelID(3)]))
  /// Whether the server of this tale keeps its contract. If not, the client may be wrong for a
  /// while.
  private var isHonest = true

  // Topics "a", "b" and "c" of a followed channel, and one place of every other kind.
  static let a = MessagePlace.channel(ChannelID(1), topic: "a")
  static let b = MessagePlace.channel(ChannelID(1), topic: "b")
  static let c = MessagePlace.channel(ChannelID(1), topic: "c")
  static let otherChannel = MessagePlace.channel(ChannelID(2), topic: "a")
  static let hidden = MessagePlace.channel(ChannelID(3), topic: "a")
  static let open = MessagePlace.channel(ChannelID(4), topic: "a")

  static let inA = Narrow([.channel(ChannelID(1)), .topic("a")])
  static let inB = Narrow([.channel(ChannelID(1)), .topic("b")])
  static let inC = Narrow([.channel(ChannelID(1)), .topic("c")])
  static let inOtherChannel = Narrow([.channel(ChannelID(2))])
  static let all = Narrow()
  static let starred = Narrow([.starred])
  static let unread = Narrow([.unread])

  /// Begins a tale. These messages are there before the client registers.
  init(_ messages: (Int64, MessagePlace, MessageFlags)..., lists: [Narrow]) {
    for (number, place, flags) in messages { race.commit(.sent(number, to: place, flags)) }
    race.register()
    for narrow in lists { race.open(narrow) }
  }

  // MARK: Steps

  /// Takes any step, and judges the client's claims.
  @discardableResult
  mutating func step<Result>(
    _ where: SourceLocation = #_sourceLocation, _ body: (inout MessageRace) -> Result
  ) -> Result {
    let result = body(&race)
    if isHonest { #expect(race.objection == nil, sourceLocation: `where`) }
    return result
  }

  mutating func commit(
    _ change: ServerMessages.Change, _ where: SourceLocation = #_sourceLocation
  ) { step(`where`) { $0.commit(change) } }

  /// Commits a change that nobody is ever told of. From here on the server is not honest.
  mutating func commitUnannounced(_ change: ServerMessages.Change) {
    isHonest = false
    race.commitUnannounced(change)
  }

  /// From here on the server keeps its contract, and everything that it did wrong must have been
  /// mended.
  mutating func expectTrue(_ where: SourceLocation = #_sourceLocation) {
    isHonest = true
    #expect(race.objection == nil, sourceLocation: `where`)
  }

  mutating func mayBeWrong() { isHonest = false }

  /// A poll leaves.
  mutating func poll() { race.poll() }

  /// The answer to the poll comes. If none is out, a poll leaves now. The answer has everything up
  /// to a position, and at least what there was when the poll left; without a position, everything
  /// there is.
  mutating func hear(
    through last: Int64? = nil, isMerged: Bool = false,
    _ where: SourceLocation = #_sourceLocation
  ) {
    step(`where`) {
      $0.poll()
      $0.answerPoll(through: last, isMerged: isMerged)
    }
  }

  /// A fetch around an anchor leaves. By default it is for the whole list.
  mutating func fetch(
    _ narrow: Narrow, _ anchor: PageAnchor<MessageID> = .newest, before: Int64 = 100,
    after: Int64 = 0,
    _ where: SourceLocation = #_sourceLocation
  ) -> UInt64 {
    let request = PageRequest(narrow, anchor, before: before, after: after)
    return step(`where`) { $0.fetch(request) }
  }

  /// A fetch of one message by its ID leaves.
  mutating func fetch(
    _ number: Int64, isAudit: Bool = false, _ where: SourceLocation = #_sourceLocation
  ) -> UInt64 {
    step(`where`) { $0.fetch(PageRequest(MessageID(number)), isAudit: isAudit) }
  }

  /// The server reads the page now.
  mutating func read(_ fetch: UInt64) { race.read(fetch) }

  mutating func readOldCache(_ fetch: UInt64, of position: Int64) {
    isHonest = false
    race.readOldCache(fetch, of: position)
  }

  /// The server answers with this page.
  mutating func read(_ fetch: UInt64, as page: MessagePage<UInt32>) { race.read(fetch, as: page) }

  /// The page of a fetch comes. If it was not read before, it is read now.
  @discardableResult
  mutating func answer(
    _ fetch: UInt64, _ where: SourceLocation = #_sourceLocation
  ) -> PageOutcome { step(`where`) { $0.answer(fetch) } }

  /// A list is fetched and comes, with nothing in between.
  mutating func look(_ narrow: Narrow, _ where: SourceLocation = #_sourceLocation) {
    let fetch = fetch(narrow, .newest, before: 100, after: 0, `where`)
    answer(fetch, `where`)
  }

  /// Every suspect is read once more.
  mutating func readSuspects(_ where: SourceLocation = #_sourceLocation) {
    for id in race.store.suspects { answer(fetch(id.number, isAudit: true, `where`), `where`) }
  }

  // MARK: What the client holds

  var store: Store { race.store }
  var position: Int64 { race.position }

  func message(_ number: Int64) -> ChatMessage<UInt32>? { store[MessageID(number)] }

  /// The list, and where it is known, like "1 3 of [begin…end]".
  func list(_ narrow: Narrow) -> String {
    guard let list = store.list(of: narrow) else { return "not open" }
    var text = ""
    for (id, _) in list.ids { text += "\(id) " }
    return text + "of \(list.knowledge)"
  }

  func knows(_ number: Int64, _ narrow: Narrow) -> Bool {
    store.list(of: narrow)?.knowledge.contains(MessageID(number)) ?? false
  }

  /// The number of suspects and repairs so far.
  var audit: String {
    "\(store.auditCounts.suspects) suspects, \(store.auditCounts.repairs) repairs"
  }
}

extension ServerMessages.Change {
  static func sent(_ number: Int64, to place: MessagePlace, _ flags: MessageFlags = []) -> Self {
    .sent(MessageID(number), by: UserID(1), to: place, UInt32(number), flags)
  }

  static func moved(_ number: Int64, to place: MessagePlace, isAnnounced: Bool = true) -> Self {
    .moved([MessageID(number)], to: place, isAnnounced: isAnnounced)
  }

  static func edited(_ number: Int64, _ content: UInt32) -> Self {
    .edited(MessageID(number), content, isMention: false)
  }

  static func deleted(_ number: Int64) -> Self { .deleted([MessageID(number)]) }

  static func starred(_ numbers: Int64...) -> Self {
    .flagged(numbers.map { MessageID($0) }, .starred, isSet: true)
  }

  static func unstarred(_ numbers: Int64...) -> Self {
    .flagged(numbers.map { MessageID($0) }, .starred, isSet: false)
  }

  static func reacted(_ number: Int64, by user: Int64 = 1, isSet: Bool = true) -> Self {
    .reacted(MessageID(number), MessageReaction(user: UserID(user), emoji: "+1"), isSet: isSet)
  }
}
