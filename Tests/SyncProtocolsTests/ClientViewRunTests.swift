import SyncProtocols
import Testing
import UpdateMachine

/// Long random runs of several clients, with changes from outside, lag, flapping, lost histories,
/// late and repeated pushes, and answers that are lost or damaged.
struct ClientViewRunTests {
  @Test(arguments: 0..<8 as Range<UInt64>)
  func `every client holds a committed state, never goes back, and ends with the newest`(
    block: UInt64
  ) {
    var occasions = ViewRun.Occasions()
    for seed in block * 20..<(block + 1) * 20 {
      var run = ViewRun(seed: seed)
      run.run()
      #expect(run.violation == nil, "seed \(seed)")
      occasions.add(run.occasions)
    }
    // The test means something only if all of this happens.
    #expect(occasions.unbelieved > 20)
    #expect(occasions.fullAnswers > 20)
    #expect(occasions.registers > 20)
    #expect(occasions.refusals > 20)
    #expect(occasions.latePushes > 20)
  }

  @Test(arguments: ViewBreach.allCases)
  func `every breach is noticed in a random run`(breach: ViewBreach) {
    var found = 0
    for seed in 0..<30 as Range<UInt64> {
      var run = ViewRun(seed: seed, breach: breach)
      run.run()
      if run.violation != nil { found += 1 }
    }
    #expect(found > 5)
  }
}

/// One user's clients, data layer and diff server, and the network between them.
struct ViewRun {
  /// Counts of what happened.
  struct Occasions {
    var unbelieved = 0
    var fullAnswers = 0
    var registers = 0
    var refusals = 0
    var latePushes = 0

    mutating func add(_ other: Occasions) {
      unbelieved += other.unbelieved
      fullAnswers += other.fullAnswers
      registers += other.registers
      refusals += other.refusals
      latePushes += other.latePushes
    }
  }

  /// The first thing that went wrong.
  private(set) var violation: String?
  private(set) var occasions = Occasions()
  private var desk = ViewDesk()
  private var draws: Draws
  private var clients: [Client]
  /// Pushes that are under way. Some arrive more than once, or much later.
  private var pushes: [MutationPush] = []
  private var breach: ViewBreach?
  private let tellsCommits: Bool
  private var epoch: UInt64 = 1

  /// A client: its follower, and the simplest possible outbox.
  struct Client {
    let id: ClientID
    var follower = ViewFollower()
    /// The mutations that wait for confirmation. The first has the ID after the last confirmed one.
    var pending: [Int64] = []
    /// The token of each mutation that is confirmed or pending, by ID.
    var tokens: [UInt64: Int64] = [:]
    var refused: Set<UInt64> = []
    var confirmed = MutationID.none
    var knownRefusal = MutationID.none
    var commit: CommitNumber?
  }

  init(seed: UInt64, breach: ViewBreach? = nil) {
    draws = Draws(seed: seed)
    clients = (1...(1 + draws.below(3))).map { Client(id: ClientID(UInt64($0))) }
    tellsCommits = draws.happens(1, in: 2)
    desk.dataLayer.tellsCommits = tellsCommits
    desk.server.runsAtOnce = draws.happens(1, in: 2)
    desk.server.diffServer.historyMaximum = 1 + draws.below(8)
    self.breach = breach
  }

  mutating func run() {
    for step in 0..<300 where violation == nil {
      if step == 60 { desk.server.breach = breach }
      stormyStep()
    }
    calmDown()
  }

  // MARK: Steps

  private mutating func stormyStep() {
    let index = draws.below(clients.count)
    switch draws.below(20) {
    case 0..<4: clients[index].pending.append(Int64(draws.below(1_000_000)))
    case 4..<7: push(index)
    case 7..<10: deliverPush()
    case 10..<12: desk.dataLayer.runNext()
    case 12..<17: pull(index)
    case 17: changeOutside()
    case 18: disturb()
    case _: if !pushes.isEmpty { pushes.remove(at: draws.below(pushes.count)) }
    }
  }

  private mutating func changeOutside() {
    var draws = draws
    desk.dataLayer.change { transaction in
      if draws.happens(1, in: 4), !transaction.del("closed") { transaction.put("closed", true) }
      for _ in 0...draws.below(3) {
        let key = ViewKey("x/\(draws.below(12))")
        if draws.happens(1, in: 3) {
          transaction.del(key)
        } else {
          transaction.put(key, JSONValue(integerLiteral: Int64(draws.below(4))))
        }
      }
    }
    self.draws = draws
  }

  private mutating func disturb() {
    switch draws.below(4) {
    case 0: desk.server.diffServer.forget()
    case 1:
      epoch += 1
      desk.server.diffServer.restart(epoch: epoch)
    case 2: desk.server.diffServer.restart(epoch: epoch)  // A breach that the checksum reveals.
    case _: desk.dataLayer.loseNext()
    }
  }

  /// Some pushes begin too late, because earlier ones got lost or were overtaken.
  private mutating func push(_ index: Int, whole: Bool = false) {
    var mutations: [NamedMutation] = []
    let client = clients[index]
    for (offset, token) in client.pending.enumerated() {
      let id = MutationID(client.confirmed.number + 1 + UInt64(offset))
      clients[index].tokens[id.number] = token
      mutations.append(
        NamedMutation(
          id: id, name: "note",
          arguments: [
            "client": JSONValue(integerLiteral: Int64(client.id.number)),
            "token": JSONValue(integerLiteral: token),
          ]))
    }
    if !whole, draws.happens(1, in: 3) { mutations.removeFirst(draws.below(mutations.count + 1)) }
    pushes.append(
      MutationPush(client: client.id, knownRefusal: client.knownRefusal, mutations: mutations))
  }

  /// Delivers any push that is under way. It may stay under way and come again.
  private mutating func deliverPush() {
    guard !pushes.isEmpty else { return }
    let index = draws.below(pushes.count)
    let push = draws.happens(1, in: 2) ? pushes[index] : pushes.remove(at: index)
    let record = desk.dataLayer.last.record(of: push.client)
    if let first = push.mutations.first, first.id <= record.lastMutation {
      occasions.latePushes += 1
    }
    _ = try? desk.server.push(push, with: PushCredential("up"))
  }

  private mutating func pull(_ index: Int) {
    clients[index].follower.ask()
    guard let question = clients[index].follower.question else { return }
    let newest = desk.dataLayer.lastNumber.number
    // The view lags or goes back: mostly a little, sometimes a lot.
    let lag = UInt64([0, 0, draws.below(3), draws.below(8), draws.below(200)][draws.below(5)])
    guard
      var pulled = try? desk.pull(
        clients[index].id, from: question.state, asOf: newest - min(lag, newest))
    else { return }
    if draws.happens(1, in: 20) { return clients[index].follower.lose() }
    if draws.happens(1, in: 20), case .delta(let base, let changes) = pulled.content {
      pulled.content = .delta(from: base, Array(changes.dropFirst()))
    }
    note(pulled, question.state, clients[index].follower.client.finger)
    clients[index].follower.answer(.success(pulled))
    hear(index)
  }

  private mutating func note(
    _ pulled: PulledView<JSONValue>, _ state: ServerStateID?, _ finger: ViewFinger?
  ) {
    if state == nil { occasions.registers += 1 }
    if state != nil, case .full = pulled.content { occasions.fullAnswers += 1 }
    if let finger, pulled.finger.confirmsLess(than: finger) { occasions.unbelieved += 1 }
  }

  /// Tells the outbox what is confirmed.
  private mutating func hear(_ index: Int) {
    guard let model = clients[index].follower.model else { return }
    judge(model, index)
    let news = model.lastMutation.number - min(model.lastMutation, clients[index].confirmed).number
    clients[index].confirmed = model.lastMutation
    clients[index].pending.removeFirst(min(Int(news), clients[index].pending.count))
    if let refusal = model.refusal, refusal.id > clients[index].knownRefusal {
      occasions.refusals += 1
      clients[index].knownRefusal = refusal.id
      clients[index].refused.insert(refusal.id.number)
      // The user reconsiders the mutations that were to follow it.
      if draws.happens(1, in: 2), !clients[index].pending.isEmpty {
        if draws.happens(1, in: 2) {
          clients[index].pending.removeFirst()
        } else {
          clients[index].pending[0] = Int64(draws.below(1_000_000))
        }
      }
    }
    judgeLog(model, index)
  }

  /// From now on nothing goes wrong, and all clients must become up to date.
  private mutating func calmDown() {
    desk.server.runsAtOnce = true
    while !pushes.isEmpty, violation == nil { deliverPush() }
    while desk.dataLayer.runNext() != nil {}
    desk.server.dataLayer.change { $0.del("closed") }
    for _ in 0..<4 {
      for index in clients.indices where violation == nil {
        push(index, whole: true)
        _ = try? desk.server.push(pushes.removeLast(), with: PushCredential("up"))
        clients[index].follower.ask()
        guard let question = clients[index].follower.question,
          let pulled = try? desk.pull(clients[index].id, from: question.state)
        else { continue }
        clients[index].follower.answer(.success(pulled))
        hear(index)
      }
    }
    for client in clients where violation == nil {
      if !client.pending.isEmpty { violation = "\(client.id) has mutations pending at rest" }
      if client.follower.model?.view != desk.dataLayer.last.view {
        violation = "\(client.id) is not up to date at rest"
      }
    }
  }

  // MARK: Judgement

  /// Checks that a client holds exactly one commit, with that commit's last mutation ID and
  /// refusal, and that it never goes back to an earlier one.
  private mutating func judge(_ model: ClientViewModel<JSONValue>, _ index: Int) {
    let client = clients[index]
    guard violation == nil else { return }
    if model.lastMutation < client.confirmed {
      violation = "\(client.id) went back from \(client.confirmed) to \(model.lastMutation)"
    }
    if tellsCommits, let commit = model.finger.commit {
      if let before = client.commit, commit < before { violation = "\(client.id) went back" }
      clients[index].commit = commit
      if !isState(model, of: client.id, at: commit) {
        violation = "\(client.id) does not hold commit \(commit.number)"
      }
    } else if !(0...desk.dataLayer.lastNumber.number).reversed().contains(where: {
      isState(model, of: client.id, at: CommitNumber($0))
    }) {
      violation = "\(client.id) holds what was never committed"
    }
  }

  private func isState(
    _ model: ClientViewModel<JSONValue>, of client: ClientID, at number: CommitNumber
  ) -> Bool {
    let commit = desk.dataLayer.commit(number)
    let record = commit.record(of: client)
    return commit.view.checksum == model.view.checksum && commit.view == model.view
      && record.lastMutation == model.lastMutation && record.refusal == model.refusal
  }

  /// Checks that each mutation up to the last took effect exactly once and in order, or was
  /// refused, and that no later one did. It does so without asking the data layer.
  private mutating func judgeLog(_ model: ClientViewModel<JSONValue>, _ index: Int) {
    let client = clients[index]
    guard violation == nil else { return }
    var expected: [JSONValue] = []
    for id in 1..<(model.lastMutation.number + 1) where !client.refused.contains(id) {
      guard let token = client.tokens[id] else {
        violation = "\(client.id) is told of \(id), which it never pushed"
        return
      }
      expected.append(JSONValue(integerLiteral: token))
    }
    let found = model.view[ViewKey("log/\(client.id.number)")]?.array ?? []
    if found != expected { violation = "\(client.id) finds \(found), not \(expected)" }
  }
}
