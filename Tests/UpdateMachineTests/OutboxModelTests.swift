import TestSupport
import Testing
import UpdateMachine

/// Long random runs of an outbox against a tiny server that keeps the rules, over a network that
/// loses, repeats and delays, with a disk that is written now and then. Each mutation must take
/// effect exactly once and in order, or be visibly set aside or uncertain.
@Suite struct OutboxModelTests {
  /// Runs a world among faults, and then without, until everything is confirmed.
  private func live(_ world: OutboxWorld) {
    var world = world
    for _ in 0..<400 where world.wrong == nil { world.step() }
    world.settle()
    #expect(world.wrong == nil, "\(world.story.suffix(40).joined(separator: "\n"))")
  }

  @Test(arguments: 0..<30 as Range<UInt64>)
  func `each mutation takes effect once and in order`(seed: UInt64) {
    live(OutboxWorld(seed: seed, delivery: .exactlyOnce))
  }

  @Test(arguments: 0..<40 as Range<UInt64>)
  func `each mutation takes effect once on a server that runs accepted ones late`(seed: UInt64) {
    live(OutboxWorld(seed: seed, delivery: .exactlyOnce, runsLate: true))
  }

  @Test(arguments: 0..<30 as Range<UInt64>)
  func `a mutation without idempotency is sent twice only if the app says so`(seed: UInt64) {
    live(OutboxWorld(seed: seed, delivery: .atMostOnce))
  }

  @Test(arguments: 0..<40 as Range<UInt64>)
  func `what may be sent again takes effect once though no ID is counted`(seed: UInt64) {
    live(OutboxWorld(seed: seed, delivery: .atLeastOnce))
  }

  @Test(arguments: 0..<40 as Range<UInt64>)
  func `a server may take some mutations of a push, or ask for a pull first`(seed: UInt64) {
    live(OutboxWorld(seed: seed, delivery: .atLeastOnce, takesSome: true))
  }

  @Test(arguments: [false, true])
  func `pushes that may be sent again come twice and are refused in some runs`(takesSome: Bool) {
    var (notes, refused, repeated) = (0, 0, 0)
    for seed in 0..<40 as Range<UInt64> {
      var world = OutboxWorld(seed: seed, delivery: .atLeastOnce, takesSome: takesSome)
      for _ in 0..<400 { world.step() }
      world.settle()
      notes += world.server.book.notes.count
      refused += world.server.refusals
      repeated += world.server.repeated
    }
    #expect(notes > 1000)
    #expect(refused > 100)
    #expect(repeated > 100)
  }

  @Test func `the random runs are not idle`() {
    var (notes, refused, threw, restarts, ignored, moved) = (0, 0, 0, 0, 0, 0)
    for seed in 0..<40 as Range<UInt64> {
      var world = OutboxWorld(seed: seed, delivery: .exactlyOnce)
      for _ in 0..<400 { world.step() }
      world.settle()
      notes += world.server.book.notes.count
      refused += world.server.refusals
      ignored += world.server.ignored
      threw += world.timesThrew
      restarts += world.restarts
      let written = world.server.book.notes.compactMap { world.ledger[$0] ?? nil }
      moved += written.count { world.moved.contains($0) }
    }
    #expect(notes > 1000)
    #expect(refused > 100)
    #expect(ignored > 100)
    #expect(threw > 100)
    #expect(restarts > 100)
    #expect(moved > 100, "those that threw are made later")
  }
}

/// One client, one server, and everything between them.
struct OutboxWorld {
  typealias Box = Outbox<Note>

  /// What the server says about one moment.
  struct Pull {
    var book: Book
    var last: MutationID
    var refusal: MutationRefusal?
    var echoes: Int
  }

  /// What is on disk, with the client's state in memory when it was saved.
  struct Saved {
    var box: Box
    var rows = RowDisk()
    var confirmed: Book
    var heard: Int
    var ledger: [UInt64: MutationTicket?] = [:]
    var doubtful: Set<UInt64> = []
  }

  var chance: SplitMix
  let delivery: MutationDelivery
  /// Whether the server accepts some pushes, and runs or loses them later.
  let runsLate: Bool
  /// Whether the server takes only some mutations of a push, or none before the next pull.
  let takesSome: Bool
  var server = TinyServer()
  var accepted: [PushRequest<Note>] = []
  var box: Box
  var view: LocalView<Note>
  /// How many echoes are in the confirmed state.
  var heard = 0
  var now = Moment(milliseconds: 0)
  var incarnation: UInt64 = 1
  var disk: Saved
  var writing: Saved?
  var isDirty = false
  var pushes: [PushRequest<Note>] = []
  var answers: [(RequestID, PushAnswer)] = []
  var pulls: [Pull] = []
  var timer: TimerArm?

  /// Every number so far, and its ticket; `nil` if the number was given up, or lost before it was
  /// stored.
  var ledger: [UInt64: MutationTicket?] = [:]
  /// Numbers that may be at the server more than once, because the app retried a mutation in doubt.
  var doubled: Set<UInt64> = []
  /// Numbers of uncertain mutations that the app discarded. They may or may not be at the server.
  var doubtful: Set<UInt64> = []
  /// Mutations that threw in a replay. Later ones may have gone ahead of them.
  var moved: Set<MutationTicket> = []
  var nextNumber: UInt64 = 1
  var wrong: String?
  var story: [String] = []
  var delivered: Set<RequestID> = []
  var timesThrew = 0
  var restarts = 0

  init(
    seed: UInt64, delivery: MutationDelivery, runsLate: Bool = false, takesSome: Bool = false
  ) {
    chance = SplitMix(seed)
    self.delivery = delivery
    self.runsLate = runsLate
    self.takesSome = takesSome
    var settings = OutboxSettings()
    settings.pendingMaximum = 30
    settings.batchMaximum = 4
    box = Box(
      client: ClientID(1), delivery: delivery, settings: settings,
      incarnation: Incarnation(1))
    view = LocalView(of: Book())
    _ = box.replay(&view, at: now)
    disk = Saved(box: box, confirmed: Book(), heard: 0)
    disk.rows.write(box.rows(since: nil))
    feed(.started(foreground: true))
  }

  mutating func draw(_ count: Int) -> Int { chance.below(count) }

  // MARK: One step

  mutating func step() {
    switch draw(24) {
    case 0...4: makeOne()
    case 5...7: deliver(isKept: delivery != .atMostOnce && draw(4) == 0)
    case 8...9: deliverAnswer()
    case 10: lose()
    case 11...12: fire()
    case 13...15: write()
    case 16: if draw(5) == 0 { crash() } else { runAccepted() }
    case 17: pull()
    case 18...19: if !pulls.isEmpty { hear(pulls.remove(at: draw(pulls.count))) }
    case 20: decide()
    case 21: signal()
    case 22: if draw(3) == 0 { server.book.isClosed.toggle() }
    default: now = now + .milliseconds(Int64(draw(3000)))
    }
    check()
  }

  mutating func makeOne() {
    let number = nextNumber
    nextNumber += 1
    let change: Note =
      switch draw(8) {
      case 0: .forbidden(number)
      case 1...3: .writeIfOpen(number)
      default: .write([number])
      }
    do throws(MutationError<Note.Refusal>) {
      let mutated = try box.mutate(change, &view, at: now)
      story.append("made \(number) as \(mutated.ticket)")
      ledger[number] = mutated.ticket
      perform(mutated.effects)
    } catch {
      if error == .refused(.closed) { timesThrew += 1 }
    }
  }

  mutating func feed(_ input: Box.Input) {
    story.append("\(input)")
    perform(box.handle(input, at: now))
    perform(box.replay(&view, at: now))
  }

  mutating func perform(_ effects: Box.Effects) {
    for pending in box.pending where pending.refusal != nil {
      for number in pending.change.numbers {
        if let ticket = ledger[number] ?? nil { moved.insert(ticket) }
      }
    }
    for text in effects.texts(at: now) { story.append("  \(text)") }
    if let timer, effects.disarm == timer.timer { self.timer = nil }
    if effects.persist != nil { isDirty = true }
    if let push = effects.push { pushes.append(push) }
    if let arm = effects.arm {
      if timer != nil { wrong = "two timers at once" }
      timer = arm
    }
  }

  mutating func deliver(isKept: Bool) {
    guard !pushes.isEmpty else { return }
    let index = draw(pushes.count)
    let push = isKept ? pushes[index] : pushes.remove(at: index)
    guard !runsLate || draw(2) == 0 else {
      accepted.append(push)
      delivered.insert(push.id)
      return answers.append((push.id, .accepted))
    }
    let answer =
      switch delivery {
      case .exactlyOnce: server.take(push)
      case .atLeastOnce: takesSome ? takeSome(push) : server.takeAgain(push)
      case .atMostOnce: server.takeUnnamed(push)
      }
    delivered.insert(push.id)
    story.append("server: \(push.id) \(answer), last \(server.last)")
    answers.append((push.id, answer))
  }

  /// The server takes a part of a push, all of it, or wants the client to pull first.
  mutating func takeSome(_ push: PushRequest<Note>) -> PushAnswer {
    let answer: PushAnswer
    switch server.answered[push.id] == nil ? draw(4) : 2 {
    case 0: answer = .behind
    case 1:
      var part = push
      part.mutations.removeAll { _ in draw(2) == 0 }
      answer = server.takePart(part)
    default: return server.takeAgain(push)
    }
    server.answered[push.id] = answer  // For each copy of it, too.
    return answer
  }

  mutating func runAccepted() {
    guard !accepted.isEmpty else { return }
    let push = accepted.removeFirst()
    guard draw(8) > 0 else { return }  // The push is lost.
    story.append("server: late \(push.id) \(server.take(push)), last \(server.last)")
  }

  mutating func deliverAnswer() {
    guard !answers.isEmpty else { return }
    let (id, answer) = answers.remove(at: draw(answers.count))
    feed(.answered(id, answer))
  }

  /// A push ends without its answer, whether or not the server has it or will get it.
  mutating func lose() {
    guard case .pushing(let push) = box.status else { return }
    let index = pushes.firstIndex { $0.id == push.id }
    let failures: [SyncFailure] = [.unreachable, .timedOut, .serverFault, .malformed]
    switch runsLate && draw(2) == 0 ? 1 : draw(4) {
    case 0:
      guard let index, !answers.contains(where: { $0.0 == push.id }) else { return }
      // It never left. So no copy may have arrived, and none may arrive later.
      if delivery != .atMostOnce, wasDelivered(push.id) { return }
      pushes.remove(at: index)
      feed(.failed(push.id, .unreachable, hasLeft: false))
    case 1:
      // It is refused on its way. That may be said only if no copy of its first mutation can still
      // arrive.
      guard let index, !wasDelivered(push.id) else { return }
      pushes.remove(at: index)
      let mayCome = (pushes + accepted).contains { $0.mutations.contains { $0.id == push.first } }
      guard !mayCome, server.last < push.first else {
        return feed(.failed(push.id, .unreachable, hasLeft: true))
      }
      feed(.failed(push.id, .rejected(RejectionCode("GATE")), hasLeft: true))
    default:
      feed(.failed(push.id, failures[draw(4)], hasLeft: true))
    }
  }

  func wasDelivered(_ id: RequestID) -> Bool { delivered.contains(id) }

  mutating func fire() {
    guard let timer else { return }
    self.timer = nil
    now = max(now, timer.range.latest)
    if draw(6) == 0 { now = now + .seconds(60) }
    feed(.fired(timer.timer))
  }

  // MARK: Disk

  mutating func write() {
    if let writing {
      disk = writing
      self.writing = nil
      feed(.stored(upTo: disk.box.currentVersion))
    } else if isDirty {
      isDirty = false
      writing = Saved(
        box: box, rows: disk.rows, confirmed: view.confirmed, heard: heard, ledger: ledger,
        doubtful: doubtful)
      writing?.rows.write(box.rows(since: disk.box))
    }
  }

  /// Reads the rows that were written step by step. They must give what was saved.
  mutating func read() {
    guard let read = try? Box(stored: disk.rows.rows, settings: box.settings) else {
      wrong = "what was written cannot be read"
      return
    }
    var whole = RowDisk()
    whole.write(disk.box.rows(since: nil))
    if whole != disk.rows { wrong = "steps lead elsewhere than all at once" }
    if read.rows(since: nil) != disk.box.rows(since: nil) {
      wrong = "\(read) was read, and \(disk.box) written"
    }
    box = read
  }

  mutating func crash() {
    restarts += 1
    // A write under way may or may not have reached the disk.
    if let writing, draw(2) == 0 { disk = writing }
    writing = nil
    isDirty = false
    timer = nil
    incarnation += 1
    read()
    heard = disk.heard
    story.append("crash; what is on disk: \(box)")
    // What was never stored counts as never made, and what the app then decided as never said.
    for number in ledger.keys where disk.ledger[number] == nil {
      if server.book.notes.contains(number) { wrong = "\(number) left before it was stored" }
    }
    ledger = disk.ledger
    doubtful = disk.doubtful
    box.restored(in: Incarnation(incarnation))
    view = LocalView(of: disk.confirmed)
    perform(box.replay(&view, at: now))
    if delivery == .atLeastOnce { pulls = [] }
    feed(.started(foreground: true))
  }

  /// The numbers that are still in the outbox.
  var kept: Set<UInt64> {
    var kept: Set<UInt64> = []
    for pending in box.pending { kept.formUnion(pending.change.numbers) }
    for aside in box.setAside { kept.formUnion(aside.change.numbers) }
    return kept
  }

  // MARK: What the server says

  mutating func pull() {
    if delivery == .atLeastOnce {
      guard pulls.isEmpty else { return }  // A client has one poll out.
      box.pollLeft()
    }
    pulls.append(
      Pull(
        book: server.book, last: server.last, refusal: server.lastRefusal,
        echoes: server.echoes.count))
  }

  mutating func hear(_ pull: Pull) {
    // A state older than ours is not taken. The protocol takes care of that.
    guard pull.last >= box.confirmedID, pull.echoes >= heard,
      pull.book.notes.count >= view.confirmed.notes.count
    else { return }
    story.append("pulled \(pull.last), refusal \(pull.refusal.map { "\($0)" } ?? "none")")
    view.confirm(pull.book)
    switch delivery {
    case .exactlyOnce: box.confirm(through: pull.last, refusal: pull.refusal)
    case .atLeastOnce: box.pollWasAnswered()
    case .atMostOnce:
      for ticket in server.echoes[heard..<pull.echoes] { box.echo(of: ticket) }
      heard = pull.echoes
    }
    isDirty = true
    perform(box.replay(&view, at: now))
    if box.isHeldBack { feed(.heldBack(false)) }
  }

  // MARK: The app

  mutating func decide() {
    if let pending = box.uncertain.first {
      switch draw(6) {
      case 0:
        doubled.formUnion(pending.change.numbers)
        feed(.retried(pending.ticket))
      case 1:
        doubtful.formUnion(pending.change.numbers)
        feed(.discarded(pending.ticket))
      default: break
      }
    }
    guard let aside = box.setAside.first, box.canDiscard(aside.ticket) else { return }
    switch draw(3) {
    case 0:
      // It may be at the server, too.
      if delivery != .exactlyOnce { doubled.formUnion(aside.change.numbers) }
      feed(.retried(aside.ticket))
    case 1 where box.canEdit(aside.ticket): edit(aside.ticket, aside.change)
    default: discard(aside.ticket, aside.change)
    }
  }

  /// Discards a mutation. If it may not be edited, a copy may be at the server.
  mutating func discard(_ ticket: MutationTicket, _ change: Note) {
    if box.canEdit(ticket) { giveUp(change) } else { doubtful.formUnion(change.numbers) }
    feed(.discarded(ticket))
  }

  mutating func edit(_ ticket: MutationTicket, _ change: Note) {
    giveUp(change)
    ledger[nextNumber] = ticket
    story.append("\(change.numbers) becomes \(nextNumber)")
    feed(.edited(ticket, .write([nextNumber])))
    nextNumber += 1
  }

  /// Notes that a change is given up. It is not sent again if that decision becomes durable.
  mutating func giveUp(_ change: Note) {
    for number in change.numbers { ledger[number] = .some(nil) }
  }

  mutating func signal() {
    switch draw(7) {
    case 0: feed(.backgrounded)
    case 1, 2: feed(.foregrounded)
    case 3: feed(.networkChanged)
    case 4: feed(.retryRequested)
    case 5: feed(.stopped)
    default: feed(.started(foreground: true))
    }
  }

  // MARK: What must hold

  mutating func check() {
    if let violation = box.violation() { wrong = wrong ?? "\(violation.rule): \(violation.found)" }
    if let violation = violationOfEffects() { wrong = wrong ?? violation }
    if let wrong, story.last != wrong { story.append(wrong) }
  }

  func violationOfEffects() -> String? {
    var counts: [UInt64: Int] = [:]
    for number in server.book.notes { counts[number, default: 0] += 1 }
    for (number, count) in counts where count > 1 && !doubled.contains(number) {
      return "\(number) took effect \(count) times"
    }
    let kept = kept
    for (number, ticket) in ledger {
      guard let ticket, !kept.contains(number) else { continue }
      // It has left the outbox. If that is because it was acknowledged, it must be at the server.
      if counts[number] == nil, box.state(of: ticket) == .acknowledged {
        return "\(number) is acknowledged, and not at the server"
      }
      if box.state(of: ticket) != .acknowledged, box.state(of: ticket) != .discarded {
        return "\(number) has vanished"
      }
    }
    return violationOfOrder()
  }

  func violationOfOrder() -> String? {
    if takesSome { return nil }  // The server may run a mutation before an earlier one.
    var last = MutationTicket(0)
    for number in server.book.notes {
      guard let ticket = ledger[number] ?? nil, !doubled.contains(number),
        !doubtful.contains(number), !moved.contains(ticket)
      else { continue }
      if ticket < last { return "\(number) came after \(last)" }
      last = ticket
    }
    return nil
  }

  /// The faults stop, and the app makes every decision. Then everything must be acknowledged.
  mutating func settle() {
    server.book.isClosed = false
    feed(.started(foreground: true))
    feed(.foregrounded)
    for _ in 0..<2000 where wrong == nil && !box.isEmpty {
      if writing != nil || isDirty { write() }
      while !pushes.isEmpty, wrong == nil { deliver(isKept: false) }
      while !answers.isEmpty { deliverAnswer() }
      while !accepted.isEmpty { runAccepted() }
      pulls = []
      pull()
      hear(pulls.removeFirst())
      if let aside = box.setAside.first, box.canDiscard(aside.ticket) {
        if box.canEdit(aside.ticket) {
          edit(aside.ticket, aside.change)
        } else {
          discard(aside.ticket, aside.change)
        }
      }
      if let pending = box.uncertain.first {
        doubtful.formUnion(pending.change.numbers)
        feed(.discarded(pending.ticket))
      }
      if timer != nil, pushes.isEmpty, answers.isEmpty { fire() }
      check()
    }
    if wrong == nil, !box.isEmpty { wrong = "does not settle: \(box)" }
    if wrong == nil { wrong = violationAtRest() }
    if let wrong { story.append(wrong) }
  }

  func violationAtRest() -> String? {
    for (number, ticket) in ledger {
      let count = server.book.notes.count { $0 == number }
      if ticket != nil, count == 0, !doubtful.contains(number) { return "\(number) is lost" }
      if ticket == nil, count > 0, delivery != .atMostOnce {
        return "\(number) came, though given up"
      }
    }
    if view.state != server.book { return "the view is not the server's state" }
    return nil
  }
}
