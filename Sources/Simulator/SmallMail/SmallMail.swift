internal import MessageSync
internal import UpdateMachine

// SmallMail: the room that explores partial knowledge completely: one list of messages, a window on
// it, and an open page while events happen. The store is the real one; its surroundings are a
// ``MessageRace``.
//
// SmallMail may use: Explorer, Mail, Mailbox, Oracles, Run.

/// A world of three messages, a window on a list, and one page, small enough to visit all its
/// states.
///
/// On the server a message is deleted, moved out of the list and back in, moved out of sight,
/// edited, or sent. Polls and pages are lost, or return the server's state at any moment since they
/// left; a page reads its IDs and its rows at two moments. The client's log may expire, also while
/// the page is open; then everything is forgotten.
///
/// After every step the interval oracle judges what is held and what is claimed to be known. From
/// every state, once nothing more happens, the window shows what the server has.
///
/// A state is too large for a few bits. States are identified by a digest of everything that
/// matters, and each is kept once. So the explorer's figure for memory is meaningless here.
package struct SmallMail: ExplorableModel {
  /// The allowed numbers of changes on the server.
  package static let changesAllowed = 0...4

  /// The number of changes on the server.
  package let changes: Int
  /// Whether a rule is broken: a page is taken as if it had been read at the finger.
  let forgetsEvents: Bool
  private let shelf = Shelf()

  package init(changes: Int = 2) { self.init(changes: changes, forgetsEvents: false) }

  init(changes: Int, forgetsEvents: Bool) {
    precondition(SmallMail.changesAllowed.contains(changes), "up to four changes")
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
  struct Life {
    var race: MessageRace
    var changesLeft: Int
  }

  /// All states so far, each once.
  private final class Shelf {
    var lives: [Life] = []
    var places: [UInt64: UInt32] = [:]
  }

  // MARK: The mailbox

  static let channel = ChannelID(1)
  static let list = MessagePlace.channel(channel, topic: "a")
  static let elsewhere = MessagePlace.channel(channel, topic: "b")
  static let hidden = MessagePlace.channel(ChannelID(2), topic: "a")
  static let narrow = Mailbox.Narrow([.channel(channel), .topic("a")])
  static let window = ListWindow<MessageID>.newest(2)

  /// The start: three messages in the list.
  static func life(changes: Int) -> Life {
    var race = MessageRace(Mailbox(following: [channel], hidden: [ChannelID(2)]))
    for number in 1...3 as ClosedRange<Int64> {
      race.commit(.sent(MessageID(number), by: UserID(1), to: list, UInt32(number), []))
    }
    race.register()
    race.open(narrow)
    return Life(race: race, changesLeft: changes)
  }

  // MARK: Steps

  package var initialStates: [State] { [kept(SmallMail.life(changes: changes))] }

  private func kept(_ life: Life) -> State {
    var (low, high) = (Digest(), Digest())
    high.fold(1 as UInt64)
    for isHigh in [false, true] {
      var digest = isHigh ? high : low
      digest.fold(UInt64(life.changesLeft))
      life.race.fold(into: &digest)
      if isHigh { high = digest } else { low = digest }
    }
    if let place = shelf.places[low.value] {
      return State(low: low.value, high: high.value, place: place)
    }
    let place = UInt32(shelf.lives.count)
    shelf.lives.append(life)
    shelf.places[low.value] = place
    return State(low: low.value, high: high.value, place: place)
  }

  func life(of state: State) -> Life { shelf.lives[Int(state.place)] }

  package func forEachSuccessor(of state: State, _ visit: (Step, State) -> Void) {
    let life = life(of: state)
    func happens(_ step: Step, _ change: (inout Life) -> Void) {
      var copy = life
      change(&copy)
      visit(step, kept(copy))
    }
    if life.changesLeft > 0 {
      for change in SmallMail.changes(of: life.race.truth) {
        happens(.commits("\(change)")) {
          $0.changesLeft -= 1
          $0.race.commit(change)
        }
      }
    }
    happens(.expires) { $0.race.register() }
    forEachPoll(life, happens)
    forEachPage(life, happens)
  }

  private func forEachPoll(_ life: Life, _ happens: (Step, (inout Life) -> Void) -> Void) {
    guard life.race.isPolling else { return happens(.pollLeaves) { $0.race.poll() } }
    happens(.pollIsLost) { $0.race.losePoll() }
    for end in max(life.race.sinceWhen.poll, life.race.finger)...life.race.position {
      happens(.polled(through: end)) { $0.race.answerPoll(through: end) }
    }
  }

  private func forEachPage(_ life: Life, _ happens: (Step, (inout Life) -> Void) -> Void) {
    guard let number = life.race.openFetches.first else {
      guard let request = SmallMail.wanted(by: life.race) else { return }
      return happens(.fetchLeaves) { $0.race.fetch(request) }
    }
    happens(.pageIsLost) { $0.race.abandon(number) }
    for ids in life.race.sinceWhen.fetch...life.race.position {
      for rows in ids...life.race.position {
        happens(.pageArrives(idsAt: ids, rowsAt: rows)) {
          $0.race.read(number, at: ids, rowsAt: rows)
          if self.forgetsEvents { $0.race.forgetWhatHasHappened() }
          $0.race.answer(number)
        }
      }
    }
  }

  /// The changes that can happen on the server.
  private static func changes(of truth: Mailbox) -> [Mailbox.Change] {
    var changes: [Mailbox.Change] = []
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

  /// The page that the window needs; `nil`: none.
  private static func wanted(
    by race: MessageRace
  ) -> PageRequest<Mailbox.Narrow, MessageID>? {
    var race = race
    switch race.look(at: window, of: narrow).wants.first {
    case .about(let anchor, let before, let after):
      return PageRequest(narrow, anchor, before: before, after: after)
    case .item(let id): return PageRequest(id)
    case nil: return race.store.doubtful.first.map { PageRequest($0) }
    }
  }

  // MARK: Without faults

  /// Whether the client is level and the window shows the newest two messages of the list.
  package func isSettled(_ state: State) -> Bool {
    let life = life(of: state)
    guard life.race.objection == nil else { return true }
    guard life.race.finger == life.race.position, life.race.openFetches.isEmpty,
      SmallMail.wanted(by: life.race) == nil
    else { return false }
    var race = life.race
    let truth = race.truth.messages.filter { race.truth.contains($0.id, in: SmallMail.narrow) }
    let rows = race.look(at: SmallMail.window, of: SmallMail.narrow).rows
    return rows == truth.suffix(2).map { .item($0.id) }
  }

  package func forEachCalmSuccessor(of state: State, _ visit: (Step, State) -> Void) {
    var life = life(of: state)
    let position = life.race.position
    if life.race.isPolling {
      life.race.answerPoll(through: position)
      return visit(.polled(through: position), kept(life))
    }
    if let number = life.race.openFetches.first {
      life.race.read(number, at: position, rowsAt: position)
      life.race.answer(number)
      return visit(.pageArrives(idsAt: position, rowsAt: position), kept(life))
    }
    if life.race.finger < position {
      life.race.poll()
      return visit(.pollLeaves, kept(life))
    }
    guard let request = SmallMail.wanted(by: life.race) else { return }
    life.race.fetch(request)
    visit(.fetchLeaves, kept(life))
  }

  // MARK: Texts

  package func violation(of state: State) -> String? {
    life(of: state).race.objection.map {
      "\(Oracle.interval.rawValue): expected \($0.expected), found \($0.found)"
    }
  }

  package func description(of state: State) -> String {
    let race = life(of: state).race
    var text = "server"
    for message in race.truth.messages { text += " \(message.id) in \(message.place)," }
    text += " at \(race.position); client at \(race.finger), holds"
    for message in race.store.messages { text += " \(message.id) in \(message.place)," }
    if let list = race.store.list(of: SmallMail.narrow) { text += " list \(list)" }
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
