import SyncProtocols
import Testing
import UpdateMachine

@testable import Simulator

/// Tests the comparison of the protocols over one workload.
struct ComparisonTests {
  @Test(arguments: Comparison.protocols)
  func `all devices show the same in the end`(spoken: LibraryWorld.SpokenProtocol) {
    for seed: UInt64 in 1...5 {
      let measures = Comparison.measure(spoken, seed: seed)
      #expect(measures.failure == nil, "seed \(seed)")
      #expect(measures.changes > 100)
      #expect(measures.toConverge < .seconds(300))
    }
  }

  @Test(arguments: Comparison.protocols)
  func `a seed gives the same figures twice`(spoken: LibraryWorld.SpokenProtocol) {
    let one = Comparison.measure(spoken, seed: 7)
    let other = Comparison.measure(spoken, seed: 7)
    #expect("\(one)" == "\(other)")
  }

  /// What the protocols are chosen for must show in the figures.
  @Test func `the figures tell the protocols apart`() {
    func sum(_ spoken: LibraryWorld.SpokenProtocol) -> ProtocolMeasures {
      var sum = Comparison.measure(spoken, seed: 1)
      for seed: UInt64 in 2...4 { sum.add(Comparison.measure(spoken, seed: seed)) }
      return sum
    }
    let (queue, view, records) = (sum(.eventQueue), sum(.clientView), sum(.recordSync))
    let (tables, stream) = (sum(.tableSync), sum(.eventStream))
    for waiting in [queue, tables, stream] { #expect(waiting.toSee < .seconds(2)) }
    for asking in [view, records] {
      #expect(asking.toSee > .seconds(5) && asking.toSee < .seconds(60))
      #expect(asking.requests < queue.requests && asking.requests < stream.requests)
    }
    // It takes nothing off line.
    for other in [queue, view, records, stream] { #expect(tables.lost > other.lost * 3) }
    // It keeps every event.
    for other in [queue, view, records, tables] {
      #expect(stream.bytesStored > other.bytesStored * 3)
    }
    #expect(queue.runs == 4)
  }

  /// A queue whose server loses one event.
  private enum LossyQueue: ComparedProtocol {
    typealias Model = ComparedQueue.Model
    typealias Server = ComparedQueue.Server

    static var spoken: LibraryWorld.SpokenProtocol { .eventQueue }
    static var cadence: Cadence { .waits }

    static func server(_ settings: ServerSettings) -> Server {
      var server = ComparedQueue.server(settings)
      server.arm(.lostEvent)
      return server
    }

    static func change(_ edit: ItemEdit, number: UInt64) -> QueuedEdit {
      ComparedQueue.change(edit, number: number)
    }

    static func request(_ push: PushRequest<QueuedEdit>, at finger: QueueFinger?) -> MutationPush {
      ComparedQueue.request(push, at: finger)
    }

    static func fields(of item: Int64, in state: Model.Change.State) -> JSONObject? {
      ComparedQueue.fields(of: item, in: state)
    }

    static func fields(of item: Int64, on server: Server) -> JSONObject? {
      ComparedQueue.fields(of: item, on: server)
    }

    static func json(_ place: QueueFinger) -> JSONValue { ComparedQueue.json(place) }
    static func json(_ push: MutationPush) -> JSONValue { ComparedQueue.json(push) }
    static func json(_ snapshot: ItemsSnapshot) -> JSONValue { ComparedQueue.json(snapshot) }
    static func json(_ batch: QueueBatch<ItemsEvent>) -> JSONValue { ComparedQueue.json(batch) }
  }

  /// Without restarts, which would repair it, a lost event shows unless its item changes later.
  @Test func `devices that do not show what the server has are noticed`() {
    let failures = (UInt64(1)...10).compactMap { seed in
      var workload = Workload(seed: seed)
      workload.restarts = []
      var run = ComparedRun<LossyQueue>(workload, seed: seed)
      return run.run().failure
    }
    #expect(failures.contains { $0.contains("shows") })
  }

  @Test func `a workload is decided before anything runs`() {
    let (one, other) = (Workload(seed: 3), Workload(seed: 3))
    #expect(one.edits.map { "\($0)" } == other.edits.map { "\($0)" })
    #expect(one.edits.count > 150)
    #expect(Workload(seed: 4).edits.map { "\($0)" } != one.edits.map { "\($0)" })
    for device in 0..<one.devices {
      #expect(one.events.contains { $0.device == device && $0.event == .crashes })
      #expect(one.events.contains { $0.device == device && $0.event == .goesOffline })
      let moment = Moment(milliseconds: 1_234_567)
      #expect(
        "\(one.trip(of: device, at: moment))" == "\(other.trip(of: device, at: moment))")
    }
    let trips = (0..<4000).map { one.trip(of: 1, at: Moment(milliseconds: $0 * 400)) }
    #expect(trips.contains { $0.isRequestLost } && trips.contains { $0.isAnswerLost })
    #expect(!one.trip(of: 1, at: Workload.calm).isRequestLost)
  }
}
