import MessageSync
import Simulator
import Testing
import UpdateMachine

/// Tests the rules of partial knowledge in many orders in which events and pages can meet. Here the
/// orders are random; `KnowledgeRule…Tests` tell them one by one.
struct MessageRaceTests {
  /// The outcome of one race: what was done, and what was wrong at the end.
  struct Outcome {
    var story: [String] = []
    var objection: IntervalOracle.Objection?
    var suspects: Int64 = 0
    var repairs: Int64 = 0
    var pages = 0
    var hasSilentReturn = false
  }

  @Test(arguments: 0..<8)
  func `every claim is true in every race of pages and events`(share: Int) throws {
    for seed in 0..<400 {
      let outcome = try MessageRaceTests.race(seed: UInt64(share * 400 + seed))
      guard let objection = outcome.objection else {
        // If a server keeps its contract, nothing is ever repaired. A message may be suspect only
        // if it came back unannounced and an older page lacks it.
        #expect(outcome.repairs == 0, "seed \(share * 400 + seed)")
        #expect(outcome.suspects == 0 || outcome.hasSilentReturn, "seed \(share * 400 + seed)")
        continue
      }
      Issue.record(
        "seed \(share * 400 + seed): \(objection)\n\(outcome.story.joined(separator: "\n"))")
      return
    }
  }

  @Test(arguments: 0..<4)
  func `every claim is true while a server hides more and more messages`(share: Int) throws {
    for seed in 0..<400 {
      let seed = UInt64(share * 400 + seed)
      let outcome = try MessageRaceTests.race(seed: seed, hidesHistory: true) {
        (race, choices) throws in
        if choices.happens(.disks, 1, in: 6) { race.save() }
        if choices.happens(.disks, 1, in: 20) { try race.restart(leaving: seed % 2 == 0) }
      }
      #expect(outcome.repairs == 0, "seed \(seed)")
      guard let objection = outcome.objection else { continue }
      Issue.record("seed \(seed): \(objection)\n\(outcome.story.joined(separator: "\n"))")
      return
    }
  }

  /// The breaches here are changes that can be mended: the change must have a greater version than
  /// what was announced, or be about a flag or the message's existence.
  @Test(arguments: 0..<4)
  func `unannounced changes are repaired by looking at everything`(share: Int) {
    for seed in 0..<100 {
      var choices = Choices(seed: UInt64(share * 100 + seed))
      var race = MessageRace(ServerMessages.beginning)
      race.register()
      race.open(ServerMessages.Narrow())
      for _ in 0..<3 { race.open(choices.pick(.users, ServerMessages.narrows)) }
      var pages = 0
      var breaches = 0
      for _ in 0..<80 {
        if choices.happens(.network, 1, in: 12) {
          breaches += MessageRaceTests.breach(&race, &choices)
        } else {
          _ = MessageRaceTests.step(&race, &choices, isMerged: seed % 2 == 0, &pages)
        }
      }
      for number in race.openFetches { race.abandon(number) }
      race.open(ServerMessages.Narrow())
      for _ in 0..<3 {
        race.poll()
        race.answerPoll()
        race.answer(
          race.fetch(PageRequest(ServerMessages.Narrow(), .newest, before: 100, after: 0)))
        race.poll()
        race.answerPoll()
        for id in race.store.suspects {
          race.answer(race.fetch(PageRequest(id), isAudit: true))
        }
      }
      #expect(race.objection == nil, "seed \(share * 100 + seed), \(breaches) breaches")
      let truth = race.truth.messages.filter { race.truth.follows($0.place) }.map(\.id)
      #expect(race.store.messages.map(\.id) == truth, "seed \(share * 100 + seed)")
    }
  }

  private static func breach(_ race: inout MessageRace, _ choices: inout Choices) -> Int {
    let change = race.truth.nextChange(&choices)
    switch change {
    case .sent, .edited, .moved, .deleted, .flagged, .flaggedAll: break
    case .reacted, .covered, .limited, .untold, .aged, .renewed: return 0
    }
    // Nothing that is announced has the same version.
    let nothing = ServerMessages.Change.deleted([])
    for _ in 0..<3 { race.commit(nothing) }
    race.commitUnannounced(change)
    for _ in 0..<3 { race.commit(nothing) }
    return 1
  }

  /// The store is now and then saved, step by step, and read again. What it claims then must be
  /// just as true.
  @Test(arguments: 0..<4)
  func `a store that is saved and read again claims nothing more`(share: Int) throws {
    for seed in 0..<300 {
      let seed = UInt64(share * 300 + seed)
      let outcome = try MessageRaceTests.race(seed: seed) { (race, choices) throws in
        if choices.happens(.disks, 1, in: 4) { race.save() }
        if choices.happens(.disks, 1, in: 12) { try race.restart() }
      }
      #expect(outcome.repairs == 0, "seed \(seed)")
      guard let objection = outcome.objection else { continue }
      Issue.record("seed \(seed): \(objection)\n\(outcome.story.joined(separator: "\n"))")
      return
    }
  }

  /// A store with unloaded messages, which are read when needed, must at every step equal one that
  /// reads everything at the start. The same goes for what it shows.
  @Test(arguments: 0..<4)
  func `unloaded rows behave like loaded ones`(share: Int) throws {
    var (unloaded, loaded, looks, ahead) = (0, 0, 0, 0)
    for seed in 0..<60 {
      let seed = UInt64(share * 60 + seed)
      var (steps, views): ([[StoredRow]], [ListExcerpt<MessageID>]) = ([], [])
      for leaves in [false, true] {
        var (step, look) = (0, 0)
        _ = try MessageRaceTests.race(seed: seed) { (race, choices) throws in
          if choices.happens(.disks, 1, in: 3) { race.save() }
          if choices.happens(.disks, 1, in: 10) { try race.restart(leaving: leaves) }
          if choices.happens(.disks, 1, in: 4), !race.store.narrows.isEmpty {
            let narrow = choices.pick(.disks, race.store.narrows)
            let before = race.store.count
            let view = race.look(at: MessageRaceTests.window(&choices), of: narrow)
            loaded += race.store.count - before
            if !leaves { views.append(view) }
            if !MessageRaceTests.agree(view, views[look]) {
              // A page ahead of the events may already know that an unloaded message is gone.
              #expect(MessageRaceTests.lacks(view, views[look], race.store), "seed \(seed)")
              ahead += 1
            }
            look += 1
          }
          var whole = RowWriter()
          race.whole.store(since: nil, into: &whole, from: .firstOfModel)
          if !leaves { steps.append(whole.rows) }
          #expect(whole.rows == steps[step], "seed \(seed), step \(step)")
          if race.store.hasUnloaded { unloaded += 1 }
          step += 1
        }
        looks += look
      }
    }
    #expect(unloaded > 200 && loaded > 20 && looks > 200 && ahead < 3)
  }

  /// Whether two views are equal except for former rows, which are shown only as far as they were
  /// loaded.
  private static func agree(_ view: ListExcerpt<MessageID>, _ other: ListExcerpt<MessageID>) -> Bool
  {
    known(view) == known(other) && view.wants == other.wants && view.unloaded.isEmpty
      && view.reachesBeginning == other.reachesBeginning && view.reachesEnd == other.reachesEnd
  }

  private static func lacks(
    _ view: ListExcerpt<MessageID>, _ other: ListExcerpt<MessageID>, _ store: MessageRace.Store
  ) -> Bool {
    let rows = known(other).filter { row in
      if case .item(let id) = row { store[id] != nil } else { true }
    }
    return view.unloaded.isEmpty && known(view) == rows
  }

  private static func known(_ view: ListExcerpt<MessageID>) -> [ListExcerpt<MessageID>.Row] {
    view.rows.filter { if case .former = $0 { false } else { true } }
  }

  /// A client that cannot load the rows that events name knows less, but nothing wrong.
  @Test(arguments: 0..<4)
  func `a store that gives up unloaded rows claims nothing wrong`(share: Int) throws {
    for seed in 0..<60 {
      let seed = UInt64(share * 60 + seed)
      let outcome = try MessageRaceTests.race(seed: seed) { (race, choices) throws in
        race.loads = false
        if choices.happens(.disks, 1, in: 3) { race.save() }
        if choices.happens(.disks, 1, in: 10) { try race.restart(leaving: true) }
      }
      guard let objection = outcome.objection else { continue }
      Issue.record("seed \(seed): \(objection)\n\(outcome.story.joined(separator: "\n"))")
      return
    }
  }

  private static func window(_ choices: inout Choices) -> ListWindow<MessageID> {
    let anchors: [PageAnchor<MessageID>] = [
      .newest, .oldest, .id(MessageID(choices.draw(.disks, in: 1...14))),
    ]
    let anchor = choices.pick(.disks, anchors)
    return ListWindow(
      anchor, before: choices.draw(.disks, in: 0...8), after: choices.draw(.disks, in: 0...8))
  }

  static func race(
    seed: UInt64, steps: Int = 120, hidesHistory: Bool = false,
    _ more: (inout MessageRace, inout Choices) throws -> Void = { _, _ in }
  ) rethrows -> Outcome {
    var choices = Choices(seed: seed)
    var messages = ServerMessages.beginning
    if hidesHistory { messages.beginHiding(&choices) }
    var race = MessageRace(messages)
    var outcome = Outcome()
    for _ in 0..<choices.draw(.swarm, below: 6) { race.commit(race.truth.nextChange(&choices)) }
    race.register()
    for _ in 0..<3 { race.open(choices.pick(.users, ServerMessages.narrows)) }
    let isMerged = choices.happens(.swarm, 1, in: 2)
    for _ in 0..<steps {
      outcome.story.append(step(&race, &choices, isMerged: isMerged, &outcome.pages))
      try more(&race, &choices)
      if let objection = race.objection {
        outcome.objection = objection
        break
      }
    }
    outcome.hasSilentReturn = race.silentReturnCount > 0
    (outcome.suspects, outcome.repairs) = race.store.auditCounts
    return outcome
  }

  private static func step(
    _ race: inout MessageRace, _ choices: inout Choices, isMerged: Bool, _ pages: inout Int
  ) -> String {
    switch choices.draw(.network, below: 20) {
    case 0, 1, 2, 3, 4:
      let change = race.truth.nextChange(&choices)
      race.commit(change)
      return "\(race.position): \(change)"
    case 5, 6:
      race.poll()
      return "poll"
    case 7, 8, 9:
      let last = choices.draw(.network, in: race.finger...race.position)
      race.answerPoll(through: last, isMerged: isMerged)
      return "answered up to \(race.finger)"
    case 10, 11, 12:
      let request = anyRequest(race, &choices)
      return "fetch \(race.fetch(request)): \(request)"
    case 13, 14, 15, 16:
      guard let number = anyFetch(race, &choices) else { return "–" }
      if choices.happens(.network, 1, in: 2) {
        let first = choices.draw(.network, in: 0...race.position)
        race.read(number, at: first, rowsAt: choices.draw(.network, in: first...race.position))
        return "page \(number) is read"
      }
      if race.answer(number) == .taken { pages += 1 }
      return "page \(number) comes"
    case 17: return seldom(&race, &choices)
    case 18:
      for id in race.store.suspects { race.fetch(PageRequest(id), isAudit: true) }
      return "second readings"
    default:
      race.open(choices.pick(.users, ServerMessages.narrows))
      return "open a list"
    }
  }

  private static func seldom(_ race: inout MessageRace, _ choices: inout Choices) -> String {
    switch choices.draw(.users, below: 8) {
    case 0:
      race.register()
      return "register"
    case 1, 2:
      guard let number = anyFetch(race, &choices) else { return "–" }
      race.abandon(number)
      return "give \(number) up"
    case 3:
      race.close(choices.pick(.users, ServerMessages.narrows))
      return "close a list"
    default:
      let id = MessageID(choices.draw(.users, in: 1...12))
      race.drop(id)
      return "drop \(id)"
    }
  }

  private static func anyFetch(_ race: MessageRace, _ choices: inout Choices) -> UInt64? {
    race.openFetches.isEmpty ? nil : choices.pick(.network, race.openFetches)
  }

  private static func anyRequest(
    _ race: MessageRace, _ choices: inout Choices
  ) -> PageRequest<ServerMessages.Narrow, MessageID> {
    let id = MessageID(choices.draw(.users, in: 1...12))
    if race.store.narrows.isEmpty || choices.happens(.users, 1, in: 4) { return PageRequest(id) }
    let anchor: PageAnchor<MessageID> = choices.pick(
      .users, [.newest, .oldest, .firstUnread, .id(id), .id(id)])
    return PageRequest(
      choices.pick(.users, race.store.narrows), anchor,
      before: choices.draw(.users, in: 0...3), after: choices.draw(.users, in: 0...3))
  }
}
