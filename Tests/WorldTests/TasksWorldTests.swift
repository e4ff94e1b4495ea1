import SyncProtocols
import Testing
import UpdateMachine

@testable import Simulator

/// Tests whole worlds in which users change tasks over the library's own log of numbered changes.
struct TasksWorldTests {
  private typealias World = OfflineWorld<TasksApp>

  private func configuration(_ seed: UInt64, _ faults: FaultSet = .all) -> SimulationConfiguration {
    var configuration = SimulationConfiguration(seed: seed, faults: faults)
    configuration.isSwarm = faults == .all
    configuration.world = .tasks
    return configuration
  }

  @Test(arguments: SimulationEngine.allCases, [FaultSet.all, [.undo]])
  func `clients converge, and no change is lost`(engine: SimulationEngine, faults: FaultSet) {
    var made: Int64 = 0
    var refused: Int64 = 0
    for seed in 1...(engine == .value ? 60 : 15) as ClosedRange<UInt64> {
      let result = Simulation<World>.run(configuration(seed, faults), engine: engine)
      #expect(result.finding == nil, "seed \(seed): \(result.finding.map { "\($0)" } ?? "")")
      made += result.changes.made
      refused += result.changes.refused
    }
    #expect(made > 300)
    #expect(refused > 20)
  }

  /// The log is lost and begins anew, or forgets what a client lacks. What users want is refused
  /// for each reason that the server has. They take back what they did, and what they took back.
  @Test func `all that users and server can do happens`() {
    var missing = [
      "log2:", "log3:", "expired", "waiting", "(TAKEN)", "(MISSING)", "(FINISHED)", "(FULL)",
      "(CHANGED)", "set aside", "mutates add", "mutates rename", "mutates finish",
      "mutates delete", "undoes", "redoes", "discards", "retries", "makes add", "confirming",
      "knowing", "halted(credentials)", "#1 add",
    ]
    for seed in 1...80 as ClosedRange<UInt64> where !missing.isEmpty {
      let text = Simulation<World>.trace(configuration(seed)).1.text
      missing.removeAll { text.contains($0) }
    }
    #expect(missing == [])
  }

  @Test func `one seed in sixteen draws this world, and each seed of its protocol`() {
    let drawn = (0..<4096 as Range<UInt64>).count { LibraryWorld.drawn(by: $0) == .tasks }
    #expect(200...310 ~= drawn)
    #expect((1...20).contains { LibraryWorld.drawn(by: $0) == .tasks })
    #expect((0..<99).allSatisfy { LibraryWorld.drawn(by: $0, of: .changeLog) == .tasks })
    #expect((0..<999).allSatisfy { LibraryWorld.drawn(by: $0, of: .eventQueue) != .tasks })
  }

  // MARK: The app

  private let milk = TaskItem(title: "milk")
  private let tea = TaskItem(title: "tea")

  @Test func `the server and a client refuse the same, each for its reason`() {
    let cases: [(TaskChange, TaskChange.Refusal?)] = [
      (.add(1, title: "milk"), nil), (.add(1, title: "tea"), .taken),
      (.rename(2, title: "tea"), .missing), (.rename(1, title: "tea"), nil),
      (.replace(1, found: milk, by: nil), .changed), (.replace(1, found: tea, by: milk), nil),
      (.finish(1), nil), (.finish(1), .finished), (.finish(2), .missing),
      (.add(2, title: "tea"), nil), (.add(3, title: "tea"), nil), (.add(4, title: "tea"), nil),
      (.add(5, title: "tea"), .full),
      (.replace(1, found: TaskItem(title: "milk", isDone: true), by: milk), .full),
      (.replace(5, found: nil, by: tea), .full), (.rename(4, title: "milk"), nil),
      (.delete(4), nil), (.delete(4), .missing), (.replace(4, found: nil, by: milk), nil),
    ]
    var (list, truth, made) = (TaskList(), TasksTruth(), 0)
    for (change, expected) in cases {
      var found: TaskChange.Refusal?
      var next = list
      do throws(TaskChange.Refusal) {
        try change.apply(to: &next)
        list = next
        made += 1
      } catch {
        found = error
      }
      #expect(found == expected, "\(change)")
      var code: String?
      do throws(ChangeRefusal) {
        _ = try truth.make(change, by: nil)
      } catch {
        code = error.code.text
      }
      #expect(code == expected.map { "\($0)".uppercased() }, "\(change)")
      #expect(truth.description == "\(made) changes, \(list)")
    }
  }

  @Test func `an undo puts back what was there, and leaves what others did since`() throws {
    var list = TaskList()
    list.tasks[1] = milk
    let before = list
    try TaskChange.rename(1, title: "tea").apply(to: &list)
    let undo = try #require(TaskChange.rename(1, title: "tea").inverse(from: before, to: list))
    var undone = list
    try undo.apply(to: &undone)
    #expect(undone == before)
    let redo = try #require(undo.inverse(from: list, to: undone))
    try redo.apply(to: &undone)
    #expect(undone == list)
    try TaskChange.finish(1).apply(to: &list)
    #expect(throws: TaskChange.Refusal.changed) { try undo.apply(to: &list) }
    #expect(TaskChange.rename(1, title: "tea").inverse(from: undone, to: undone) == nil)
    #expect(
      TaskChange.rename(1, title: "a").coalesced(with: .rename(1, title: "b"))
        == .rename(1, title: "b"))
    #expect(TaskChange.rename(1, title: "a").coalesced(with: .rename(2, title: "b")) == nil)
  }

  @Test func `each change has a saved form, and what is none is an error`() throws {
    let done = TaskItem(title: "tea", isDone: true)
    for change in [
      TaskChange.add(1, title: "milk"), .rename(-2, title: ""), .finish(3), .delete(4),
      .replace(5, found: nil, by: milk), .replace(6, found: done, by: nil),
    ] {
      #expect(try TaskChange(storedBytes: change.storedBytes) == change)
      #expect(throws: StoredFormError.self) {
        try TaskChange(storedBytes: Array(change.storedBytes.dropLast()))
      }
    }
    #expect(throws: StoredFormError.self) { try TaskChange(storedBytes: [5, 1]) }
  }

  @Test func `a fourth open task in what a user sees is objected to`() {
    var list = TaskList()
    for task in 1...3 as ClosedRange<Int64> { list.tasks[task] = milk }
    list.tasks[4] = TaskItem(title: "tea", isDone: true)
    #expect(TasksApp.objection(list, TasksTruth()) == nil)
    list.tasks[4] = tea
    #expect(
      TasksApp.objection(list, TasksTruth()) == "4 tasks are open, and only 3 may be")
  }
}
