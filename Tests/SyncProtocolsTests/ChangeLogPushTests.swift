import SyncProtocols
import Testing
import UpdateMachine

// A model that its user changes, over a log of changes: each names the client and the mutation that
// made it. So does a refusal, which changes nothing.

/// What became of one client's mutation.
private struct Made: Sendable {
  /// `nil`: it was refused.
  var item: String?
  var client: ClientID
  var mutation: MutationID
}

private struct Basket: ServerTruth, CustomStringConvertible {
  var items: [String] = []
  var last: [ClientID: MutationID] = [:]
  var snapshot: Basket { self }
  var description: String { "\(items)" }

  /// The effect and the ID are written in one step.
  mutating func apply(_ made: Made) {
    if let item = made.item { items.append(item) }
    last[made.client] = made.mutation
  }
}

private struct Add: Mutation {
  var item: String
  var name: String { "add" }
  func apply(to items: inout [String]) throws(ChangeRefusal) { items.append(item) }
}

private struct BasketModel: SyncModel {
  typealias Change = Add
  typealias Refusal = Never
  struct Snapshot: Sendable {
    var basket: Basket
    var client: ClientID
  }

  var state: [String]
  var client: ClientID?
  var confirmation: MutationConfirmation

  init(snapshot: Snapshot) {
    state = snapshot.basket.items
    client = snapshot.client
    confirmation = MutationConfirmation(last: snapshot.basket.last[snapshot.client] ?? .none)
  }

  mutating func apply(_ made: Made) {
    if let item = made.item { state.append(item) }
    guard made.client == client else { return }
    confirmation.last = made.mutation
    if made.item == nil { confirmation.refusal = MutationRefusal(made.mutation) }
  }
}

/// The server, and a client's connection to it. Nobody may add an empty item.
private actor Shop: SyncSource {
  typealias Model = BasketModel
  typealias Sync = ChangeLog<Made>

  private var log = ChangeLogServer(ChangeLogEpoch("one"), truth: Basket())
  private var refusals: [ClientID: MutationRefusal] = [:]
  /// How many of the next pushes are run, but not answered.
  private var answersToLose: Int
  private(set) var pushes = 0

  init(answersToLose: Int = 0) { self.answersToLose = answersToLose }

  var items: [String] { log.truth.items }

  func register(
    as client: ClientID
  ) async throws(SyncFailure) -> Registered<BasketModel.Snapshot, ChangeLogPlace> {
    let read = log.snapshot
    let terms = ServerTerms(
      longDeadline: .seconds(1), lifetime: .seconds(60), cadence: .every(.milliseconds(20)))
    return ChangeLogSnapshot(
      epoch: read.epoch, number: read.number,
      state: BasketModel.Snapshot(basket: read.state, client: client)
    ).registered(terms: terms)
  }

  func poll(
    after place: ChangeLogPlace, waits: Bool
  ) async throws(SyncFailure) -> ChangeLogBatch<Made> {
    guard answersToLose > 0 else { return try log.changes(after: place) }
    // Otherwise the client learns from the log that its change was made, and never sends it again.
    return ChangeLogBatch(
      epoch: place.epoch, after: place.number, through: place.number, hasMore: true, changes: [])
  }

  func release(_ epoch: ChangeLogEpoch) async {}

  func push(
    _ push: PushRequest<Add>, at place: ChangeLogPlace?
  ) async throws(PushFailure) -> PushAnswer {
    pushes += 1
    let answer = run(push)
    if answersToLose > 0 {
      answersToLose -= 1
      throw PushFailure(.timedOut)
    }
    return answer
  }

  private func run(_ push: PushRequest<Add>) -> PushAnswer {
    if let refusal = refusals[push.client], refusal.id > push.knownRefusal {
      return .refused(refusal)
    }
    for item in push.mutations {
      let last = log.truth.last[push.client] ?? .none
      guard item.id.number == last.number + 1 else { continue }
      let isRefused = item.change.item.isEmpty
      log.commit(
        Made(item: isRefused ? nil : item.change.item, client: push.client, mutation: item.id))
      guard isRefused else { continue }
      let refusal = MutationRefusal(item.id)
      refusals[push.client] = refusal
      return .refused(refusal)
    }
    return .accepted
  }
}

@Suite(.timeLimit(.minutes(5))) struct ChangeLogPushTests {
  @Test func `a change is made once, though the answers to its pushes are lost`() async throws {
    let shop = Shop(answersToLose: 2)
    let machine = UpdateMachine(source: shop)
    async let following: Void = machine.run()
    await machine.wait { $0.view != nil }
    let soap = try await machine.mutate(Add(item: "soap"))
    #expect(await machine.state.view == ["soap"])
    #expect(await machine.acknowledged(soap.ticket) == .acknowledged)
    #expect(await machine.state.model?.state == ["soap"])
    let tea = try await machine.mutate(Add(item: "tea"))
    #expect(await machine.acknowledged(tea.ticket) == .acknowledged)
    #expect(await shop.items == ["soap", "tea"])
    #expect(await shop.pushes >= 3)
    #expect(await machine.state.pending.isEmpty)
    await machine.stop()
    await following
  }

  @Test func `a refused change is set aside, and later ones are made`() async throws {
    let shop = Shop()
    let machine = UpdateMachine(source: shop)
    async let following: Void = machine.run()
    await machine.wait { $0.view != nil }
    let nothing = try await machine.mutate(Add(item: ""))
    #expect(await machine.acknowledged(nothing.ticket) == .setAside)
    #expect(await machine.discard(nothing.ticket))
    let tea = try await machine.mutate(Add(item: "tea"))
    #expect(await machine.acknowledged(tea.ticket) == .acknowledged)
    #expect(await shop.items == ["tea"])
    #expect(await machine.state.view == ["tea"])
    await machine.stop()
    await following
  }
}
