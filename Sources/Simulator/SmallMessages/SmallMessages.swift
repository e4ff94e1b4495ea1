internal import MessageSync
internal import UpdateMachine

// SmallMessages: the room that explores partial knowledge completely. It has one list of messages,
// a window on it, and an open page while events happen. The store is the real one; its surroundings
// are a ``MessageRace``.
//
// SmallMessages may use: Explorer, Messages, Oracles, Run, ServerMessages.

/// A world of three messages, a window on a list, and one page, small enough to visit all its
/// states.
///
/// On the server a message is deleted, moved out of the list and back in, moved out of sight,
/// edited, or sent. Polls and pages are lost, or return the server's state at any moment since they
/// left; a page reads its IDs and its rows at two moments. The client's log may expire, even while
/// the page is open; then the client forgets everything.
///
/// After every step the interval oracle judges what the client holds and what it claims to know.
/// From every state, once nothing more happens, the window shows what the server has.
///
/// A state does not fit into a few bits. A digest of everything that matters identifies it, and
/// each state is kept once, outside the explorer. So the explorer's figure for memory is
/// meaningless here.
package struct SmallMessages: ExplorableModel {
  /// The allowed numbers of changes on the server.
  package static let changesAllowed = 0...4

  /// The number of changes on the server.
  package let changes: Int
  /// Whether to break a rule on purpose: a page is taken as if it had been read at the finger.
  let forgetsEvents: Bool
  private let shelf = Shelf()

  package init(changes: Int = 2) { self.init(changes: changes, forgetsEvents: false) }

  init(changes: Int, forgetsEvents: Bool) {
    precondition(SmallMessages.changesAllowed.contains(changes), "up to four changes")
    self.changes = changes
    self.forgetsEvents = forgetsEvents
  }

  /// A digest of a state, and the index at which it is kept.
  package struct State: PackedState {
    var low: UInt64
    var high: UInt64
    var place: UInt32

    package static func == (one: State, other: State) -> Bool {
      one.low == other.low && one.high == other.high
    }

    package var fingerprint: UInt64 { low }
    package static var hasExactFingerprint: Bool { false }
  }

  /// One event.
  package enum Step: Sendable {
    case commits(String)
    case pollLeaves
    case pollIsLost
    case polled(through: Int64)
    case fetchLeaves
    case pageIsLost
    case pageArrives(idsAt: Int64, rowsAt: Int64)
    case expires
  }

  /// One whole state.
  struct Unpacked {
    var race: MessageRace
    var changesLeft: Int
  }

  /// All states reached so far, each once.
  private final class Shelf {
    var states: [Unpacked] = []
    var places: [UInt64: UInt32] = [:]
  }

  // MARK: The server's messages

  static let channel = ChannelID(1)
  static let list = MessagePlace.channel(channel, topic: "a")
  static let elsewhere = MessagePlace.channel(channel, topic: "b")
  static let hidden = MessagePlace.channel(ChannelID(2), topic: "a")
  static let narrow = ServerMessages.Narrow([.channel(channel), .topic("a")])
  static let window = ListWindow<MessageID>.newest(2)

  /// The first state: three messages in the list.
  static func unpacked(changes: Int) -> Unpacked {
    var race = MessageRace(ServerMessages(following: [channel], hidden: [ChannelID(2)]))
    for number in 1...3 as ClosedRange<Int64> {
      race.commit(.sent(MessageID(number), by: UserID(1), to: list, UInt32(number), []))
    }
    race.register()
    race.open(narrow)
    return Unpacked(race: race, changesLeft: changes)
  }

  // MARK: Steps

  package var initialStates: [State] { [kept(SmallMessages.unpacked(changes: changes))] }

  private func kept(_ unpacked: Unpacked) -> State {
    var (low, high) = (StateDigest(), StateDigest())
    high.fold(1 as UInt64)
    for isHigh in [false, true] {
      var digest = isHigh ? high : low
      digest.fold(UInt64(unpacked.changesLeft))
      unpacked.race.fold(into: &digest)
      if isHigh { high = digest } else { low = digest }
    }
    if let place = shelf.places[low.value] {
      return State(low: low.value, high: high.value, place: place)
    }
    let place = UInt32(shelf.states.count)
    shelf.states.append(unpacked)
    shelf.places[low.value] = place
    return State(low: low.value, high: high.value, place: place)
  }

  func unpacked(of state: State) -> Unpacked { shelf.states[Int(state.place)] }

  package func forEachSuccessor(of state: State, _ visit: (Step, State) -> Void) {
    let unpacked = unpacked(of: state)
    func happens(_ step: Step, _ change: (inout Unpacked) -> Void) {
      var copy = unpacked
      change(&copy)
      visit(step, kept(copy))
    }
    if unpacked.changesLeft > 0 {
      for change in SmallMessages.changes(of: unpacked.race.truth) {
        happens(.commits("\(change)")) {
          $0.changesLeft -= 1
          $0.race.commit(change)
        }
      }
    }
    happens(.expires) { $0.race.register() }
    forEachPoll(unpacked, happens)
    forEachPage(unpacked, happens)
  }

  private func forEachPoll(
    _ unpacked: Unpacked, _ happens: (Step, (inout Unpacked) -> Void) -> Void
  ) {
    guard unpacked.race.isPolling else { return happens(.pollLeaves) { $0.race.poll() } }
    happens(.pollIsLost) { $0.race.losePoll() }
    for end in max(
      unpacked.race.sinceWhen.poll, unpacked.race.finger)...unpacked.race.position
    {
      happens(.polled(through: end)) { $0.race.answerPoll(through: end) }
    }
  }

  private func forEachPage(
    _ unpacked: Unpacked, _ happens: (Step, (inout Unpacked) -> Void) -> Void
  ) {
    guard let number = unpacked.race.openFetches.first else {
      guard let request = SmallMessages.wanted(by: unpacked.race) else { return }
      return happens(.fetchLeaves) { $0.race.fetch(request) }
    }
    happens(.pageIsLost) { $0.race.abandon(number) }
    for ids in unpacked.race.sinceWhen.fetch...unpacked.race.position {
      for rows in ids...unpacked.race.position {
        happens(.pageArrives(idsAt: ids, rowsAt: rows)) {
          $0.race.read(number, at: ids, rowsAt: rows)
          if self.forgetsEvents { $0.race.forgetWhatHasHappened() }
          $0.race.answer(number)
        }
      }
    }
  }

  /// The changes that can happen on the server.
  private static func changes(of truth: ServerMessages) -> [ServerMessages.Change] {
    var changes: [ServerMessages.Change] = []
    for message in truth.messages where truth.follows(message.place) {
      changes.append(.deleted([message.id]))
      changes.append(.edited(message.id, 9, isMention: false))
      let target = message.place == list ? elsewhere : list
      changes.append(.moved([message.id], to: target, isAnnounced: true))
      changes.append(.moved([message.id], to: hidden, isAnnounced: true))
    }
    if truth.newest.number < 4 {
      changes.append(.sent(MessageID(4), by: UserID(1), to: list, 4, []))
    }
    return changes
  }

  /// The page that the window needs; `nil` if it needs none.
  private static func wanted(
    by race: MessageRace
  ) -> PageRequest<ServerMessages.Narrow, MessageID>? {
    var race = race
    switch race.look(at: window, of: narrow).wants.first {
    case .about(let anchor, let before, let after):
      return PageRequest(narrow, anchor, before: before, after: after)
    case .item(let id): return PageRequest(id)
    case nil: return race.store.doubtful.first.map { PageRequest($0) }
    }
  }

  // MARK: Without faults

  /// Whether the client is up to date and the window shows the newest two messages of the list.
  package func isSettled(_ state: State) -> Bool {
    let unpacked = unpacked(of: state)
    guard unpacked.race.objection == nil else { return true }
    guard unpacked.race.finger == unpacked.race.position,
      unpacked.race.openFetches.isEmpty,
      SmallMessages.wanted(by: unpacked.race) == nil
    else { return false }
    var race = unpacked.race
    let truth = race.truth.messages.filter { race.truth.contains($0.id, in: SmallMessages.narrow) }
    let rows = race.look(at: SmallMessages.window, of: SmallMessages.narrow).rows
    return rows == truth.suffix(2).map { .item($0.id) }
  }

  package func forEachCalmSuccessor(of state: State, _ visit: (Step, State) -> Void) {
    var unpacked = unpacked(of: state)
    let position = unpacked.race.position
    if unpacked.race.isPolling {
      unpacked.race.answerPoll(through: position)
      return visit(.polled(through: position), kept(unpacked))
    }
    if let number = unpacked.race.openFetches.first {
      unpacked.race.read(number, at: position, rowsAt: position)
      unpacked.race.answer(number)
      return visit(.pageArrives(idsAt: position, rowsAt: position), kept(unpacked))
    }
    if unpacked.race.finger < position {
      unpacked.race.poll()
      return visit(.pollLeaves, kept(unpacked))
    }
    guard let request = SmallMessages.wanted(by: unpacked.race) else { return }
    unpacked.race.fetch(request)
    visit(.fetchLeaves, kept(unpacked))
  }

  // MARK: Texts

  package func violation(of state: State) -> String? {
    unpacked(of: state).race.objection.map {
      "\(Oracle.interval.rawValue): expected \($0.expected), found \($0.found)"
    }
  }

  package func description(of state: State) -> String {
    let race = unpacked(of: state).race
    var text = "server"
    for message in race.truth.messages { text += " \(message.id) in \(message.place)," }
    text += " at \(race.position); client at \(race.finger), holds"
    for message in race.store.messages { text += " \(message.id) in \(message.place)," }
    if let list = race.store.list(of: SmallMessages.narrow) { text += " list \(list)" }
    if race.isPolling { text += ", polls" }
    if !race.openFetches.isEmpty { text += ", a page is out" }
    return text
  }

  package func description(ofStep step: Step) -> String {
    switch step {
    case .commits(let change): "the server: \(change)"
    case .pollLeaves: "a poll leaves"
    case .pollIsLost: "the poll is lost"
    case .polled(let end): "the poll is answered, up to \(end)"
    case .fetchLeaves: "a page is asked for"
    case .pageIsLost: "the page is lost"
    case .pageArrives(let ids, let rows):
      "the page comes, of IDs as at \(ids) and rows as at \(rows)"
    case .expires: "the log expires"
    }
  }
}
