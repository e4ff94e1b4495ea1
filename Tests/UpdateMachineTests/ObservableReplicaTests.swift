import Observation
import TestSupport
import Testing

@testable import UpdateMachine

/// Tests which views are told of what. A view is told if a property that it reads is written.
@Suite @MainActor struct ObservableReplicaTests {
  /// The properties that are written when the replica shows a state.
  private func told<Model>(
    _ replica: ObservableReplica<Model>, _ state: ReplicaState<Model>
  ) -> Set<String> {
    let told = Box<Set<String>>([])
    func watch(_ name: String, _ read: () -> Void) {
      withObservationTracking(read) { told.change { _ = $0.insert(name) } }
    }
    watch("model") { _ = replica.model }
    watch("view") { _ = replica.view }
    watch("pending") { _ = replica.pending }
    watch("setAside") { _ = replica.setAside }
    watch("undoable") { _ = replica.undoable }
    watch("redoable") { _ = replica.redoable }
    watch("unreadable") { _ = replica.unreadable }
    watch("claim") { _ = replica.claim }
    watch("freshness") { _ = replica.freshness }
    watch("nextPush") { _ = replica.nextPush }
    watch("progress") { _ = replica.progress }
    watch("status") { _ = replica.status }
    replica.show(state)
    return told.value
  }

  // MARK: The model

  @Test func `of sixteen answers without news in 8 s no reader of the model or the claim hears`() {
    let (bench, _) = Bench.following()
    let replica = ObservableReplica(bench.machine)
    replica.show(bench.state)
    let reader = Reader(bench.read { $0.states() }, on: bench.executor)
    reader.follow()
    for place in 8..<24 {
      bench.source.batch(from: place, [nil])
      bench.advance(.milliseconds(500))
    }
    #expect(bench.source.asked.count >= 16 && reader.seen.value.count >= 16)
    var counts: [String: Int] = [:]
    for state in reader.seen.value {
      for name in told(replica, state) { counts[name, default: 0] += 1 }
    }
    #expect(counts["freshness"] ?? 0 >= 16)
    #expect(Set(counts.keys) == ["status", "freshness"])
    #expect(replica.model == Ledger(entries: [1]))
    #expect(replica.freshness == bench.state.freshness)
  }

  @Test func `a reader of the model hears of each event, and not of an outage`() {
    let (bench, _) = Bench.following()
    let replica = ObservableReplica(bench.machine)
    #expect(replica.claim == .unknown && replica.status == nil && replica.model == nil)
    #expect(told(replica, bench.state) == ["model", "claim", "freshness", "status"])
    #expect(replica.model == Ledger(entries: [1]) && replica.claim == .connected)
    bench.source.batch(from: 8, [2])
    bench.drain()
    #expect(told(replica, bench.state).contains("model"))
    #expect(replica.model == Ledger(entries: [1, 2]))
    #expect(told(replica, bench.state) == [], "the same state again")

    bench.advance(.seconds(1))
    bench.source.fail(.unreachable)
    bench.drain()
    replica.show(bench.state)
    bench.advance(.milliseconds(299))
    #expect(!told(replica, bench.state).contains("claim"), "a banner is not due yet")
    bench.advance(.milliseconds(1))
    #expect(told(replica, bench.state) == ["claim", "freshness"])
    #expect("\(replica.claim)" == "unreachable since 1050")
    #expect(replica.model == Ledger(entries: [1, 2]))

    bench.tell { $0.stop() }
    #expect(!told(replica, bench.state).contains("model"))
    #expect(replica.claim == .halted(.stopped) && replica.status == .halted(.stopped))
    let (logOut, _) = bench.logOut()
    bench.drain()
    bench.source.answer(.done)
    bench.drain()
    #expect(logOut.isOver.value)
    #expect(told(replica, bench.state).contains("model"))
    #expect(replica.model == nil && bench.state.logOuts == 1)
  }

  @Test func `a replica follows on the main actor until its task is cancelled`() async {
    let source = ScriptedSource()
    let store = ScriptedStore(Bench.saved)
    // This runs on the system's executors, so only what is awaited has a certain time.
    let machine = LedgerDriver(
      source: source, replicas: store, clock: HandClock(), chance: FixedChance())
    let replica = ObservableReplica(machine)
    let following = Task { await replica.follow() }
    let running = Task { await machine.run() }
    while replica.model != Ledger(entries: [1]) { await change { _ = replica.model } }
    await machine.stop()
    await running.value
    while replica.claim != .halted(.stopped) { await change { _ = replica.claim } }
    following.cancel()
    await following.value
  }

  /// Returns when what is read is about to change. It has changed once the main actor is free
  /// again.
  private func change(_ read: () -> Void) async {
    await withCheckedContinuation { continuation in
      withObservationTracking(read) { continuation.resume() }
    }
  }

  // MARK: The user's changes

  @Test func `a change is pending and in the view, and only its own steps are told`() {
    let (bench, _) = MutationBench.following()
    let replica = ObservableReplica(bench.machine)
    replica.show(bench.state)
    #expect(replica.view == bench.state.view)

    let ticket = bench.ticket(.reserve(9, by: "me"))
    var names = told(replica, bench.state)
    #expect(names.isSuperset(of: ["view", "pending"]) && !names.contains("model"))
    #expect(replica.view?.hours[9] == "me" && replica.model?.state.hours[9] == nil)
    #expect(replica.pending.map(\.ticket) == [ticket])

    bench.advance(.milliseconds(10))
    #expect(told(replica, bench.state).isDisjoint(with: ["model", "view", "pending"]))
    bench.answerPush()
    names = told(replica, bench.state)
    #expect(names.contains("pending") && names.isDisjoint(with: ["model", "view", "setAside"]))
    bench.answerPoll()
    names = told(replica, bench.state)
    #expect(names.isSuperset(of: ["model", "view", "pending"]) && !names.contains("setAside"))
    #expect(replica.pending.isEmpty && replica.model?.state.hours[9] == "me")
  }

  @Test func `news of others is no news of what is pending`() {
    let (bench, _) = MutationBench.following()
    let replica = ObservableReplica(bench.machine)
    let ticket = bench.ticket(.set("a", 1))
    replica.show(bench.state)
    bench.server.board.hours[3] = "them"
    bench.answerPoll()
    let names = told(replica, bench.state)
    #expect(names.isSuperset(of: ["model", "view"]) && !names.contains("pending"))
    #expect(replica.view?.hours[3] == "them" && replica.view?.values["a"] == 1)
    #expect(replica.pending.map(\.ticket) == [ticket])
  }

  @Test func `what an edit and a retry change is told`() {
    let (bench, _) = MutationBench.following()
    let replica = ObservableReplica(bench.machine)
    bench.server.refuses = ["set"]
    let ticket = bench.ticket(.set("a", 1))
    replica.show(bench.state)
    bench.answerPush()
    #expect(told(replica, bench.state).isSuperset(of: ["view", "pending", "setAside"]))
    #expect(replica.setAside.map(\.ticket) == [ticket] && replica.view?.values["a"] == nil)
    bench.server.refuses = []
    bench.tell { _ = $0.edit(ticket, to: .set("a", 2)) }
    #expect(told(replica, bench.state).isSuperset(of: ["view", "pending", "setAside"]))
    #expect(replica.pending.map(\.change) == [.set("a", 2)] && replica.setAside.isEmpty)
  }

  @Test func `an edit of a change that stays where it is is told`() {
    let bench = MutationBench.following().0
    bench.tell { $0.enterBackground() }  // Nothing is sent.
    let replica = ObservableReplica(bench.machine)
    let ticket = bench.ticket(.set("a", 1))
    replica.show(bench.state)
    bench.tell { _ = $0.edit(ticket, to: .set("a", 2)) }
    #expect(told(replica, bench.state).isSuperset(of: ["view", "pending"]))
    #expect(replica.pending.map(\.change) == [.set("a", 2)])
    bench.tell { _ = $0.discard(ticket) }
    #expect(told(replica, bench.state).isSuperset(of: ["view", "pending"]))
    #expect(replica.pending.isEmpty)
  }

  @Test func `the first change after a log-out is not taken for the first one before it`() {
    let model = BoardModel(snapshot: BoardNews(board: Board()))
    let replica = ObservableReplica(
      showing: ReplicaState(holding: .model(model), changes: [.set("a", 1)]))
    var newer = ReplicaState(holding: .model(model), changes: [.set("b", 2)])
    newer.logOuts = 1
    #expect(told(replica, newer).contains("pending"))
    #expect(replica.pending.map(\.change) == [.set("b", 2)])
  }

  // MARK: Undo, and progress

  private func state(of typist: Typist) -> ReplicaState<Titles> {
    ReplicaState(
      holding: .model(Titles(snapshot: typist.server)), local: typist.local,
      status: .live(.pausing), freshness: Freshness(.connected, upToDateAsOf: nil), at: .ms(0))
  }

  @Test func `a menu hears when there is something else to undo or to redo`() throws {
    var typist = Typist()
    let replica = ObservableReplica(showing: state(of: typist))
    #expect(replica.undoable == nil && replica.redoable == nil)

    try typist.make(.type("a", "x"))
    #expect(told(replica, state(of: typist)) == ["view", "pending", "undoable"])
    #expect(replica.undoable == "type" && replica.redoable == nil)
    try typist.make(.look)
    #expect(told(replica, state(of: typist)) == ["view", "pending"], "that has no inverse")
    try typist.make(.suggest("b", "y"))
    #expect(told(replica, state(of: typist)) == ["view", "pending", "undoable"])
    #expect(replica.undoable == "suggest")

    try typist.undo()
    #expect(told(replica, state(of: typist)) == ["view", "pending", "undoable", "redoable"])
    #expect(replica.undoable == "type" && replica.redoable == "suggest")
    #expect(told(replica, state(of: typist)) == [], "the same state again")
    try typist.redo()
    #expect(told(replica, state(of: typist)).isSuperset(of: ["undoable", "redoable"]))
    #expect(replica.undoable == "suggest" && replica.redoable == nil)
  }

  @Test func `a bar hears of progress, and nobody else does`() {
    var state = ReplicaState<Ledger>(holding: .nothing, status: .registerFailed)
    let replica = ObservableReplica(showing: state)
    #expect(replica.progress == nil)
    for progress in [0.25, 0.5, nil] {
      state.progress = progress
      #expect(told(replica, state) == ["progress"])
      #expect(replica.progress == progress)
      #expect(told(replica, state) == [], "the same state again")
    }
  }

  // MARK: Without a machine

  @Test func `a replica for a preview shows the user's changes as a machine would`() async {
    var board = Board()
    board.values["a"] = 1
    let model = BoardModel(snapshot: BoardNews(board: board))
    let replica = ObservableReplica(
      showing: ReplicaState(
        holding: .model(model), changes: [.add("a", 4), .remove("b"), .reserve(9, by: "me")],
        refused: [.set("a", 7)]))
    await replica.follow()  // Returns at once.
    #expect(replica.model == model && replica.claim == .connected)
    #expect(replica.view?.values["a"] == 5 && replica.view?.hours[9] == "me")
    #expect(
      replica.pending.map(\.change) == [.add("a", 4), .reserve(9, by: "me"), .remove("b")])
    #expect(
      replica.setAside.map(\.change) == [.remove("b"), .set("a", 7)])
    #expect(replica.setAside.map(\.reason) == [.threw(.missing), .refused(.none)])
  }

  @Test func `a replica for a preview shows any freshness, and needs no model`() {
    let freshness = Freshness(
      .unreachable(since: .ms(5)), upToDateAsOf: .ms(3), nextAttempt: .ms(9))
    let replica = ObservableReplica(
      showing: ReplicaState<Ledger>(
        holding: .nothing, status: .registerFailed, freshness: freshness))
    #expect(replica.model == nil && replica.view == nil)
    #expect(replica.freshness == freshness && replica.status == .registerFailed)
    let held = ReplicaState(holding: .model(Ledger(entries: [1])))
    #expect(ObservableReplica(showing: held).model == Ledger(entries: [1]))
    #expect(held.pending.isEmpty && held.setAside.isEmpty && held.freshness.claim == .connected)
  }
}

/// The model of titles that a ``Typist`` changes.
private struct Titles: SyncModel {
  typealias Change = Naming
  typealias Refusal = Never

  var state: VersionedMap<String, String>
  var client: ClientID? { ClientID(7) }
  var confirmation: MutationConfirmation { MutationConfirmation(last: .none) }

  init(snapshot: VersionedMap<String, String>) { state = snapshot }
  mutating func apply(_ event: VersionedMap<String, String>) { state = event }
}
