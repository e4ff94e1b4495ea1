import SyncProtocols
import Testing
import UpdateMachine

/// A subscription goes on while the rows that its first answer needs are read.
@Suite struct PushedBatchTests {
  /// A model of numbers. A row must be loaded before an event is applied.
  private struct Numbers: SyncModel {
    typealias Refusal = Never
    var heard: [Int] = []
    var hasUnloaded = true

    init(snapshot: Int) {}
    mutating func apply(_ event: Int) { heard.append(event) }

    func unloaded(under events: [Int]) -> [RowQuery] {
      hasUnloaded ? [RowQuery(RowRange(StoredKey(.firstOfModel, [])))] : []
    }

    mutating func load(_ answer: RowAnswer, isSaved: Bool) -> Bool {
      defer { hasUnloaded = false }
      return hasUnloaded
    }
  }

  @Test func `batches pushed during a read are applied once the rows are loaded`() throws {
    var client = SyncClient<Numbers, EventQueue<Int>>(incarnation: Incarnation(1))
    var now = Moment(milliseconds: 0)
    var read: (id: RequestID, queries: [RowQuery])?
    var inputs: [SyncClient<Numbers, EventQueue<Int>>.Input] = []
    var asked: [String] = []
    func feed(_ input: SyncClient<Numbers, EventQueue<Int>>.Input) {
      inputs = [input]
      while !inputs.isEmpty {
        for effect in client.handle(inputs.removeFirst(), at: now).list {
          switch effect {
          case .load: inputs.append(.loaded(nil, age: nil))
          case .save(let write): inputs.append(.written(write))
          case .read(let id, let queries): read = (id, queries)
          case .poll(let id, let finger, waits: true): asked.append("\(id) after \(finger)")
          case .register(let id):
            var terms = ServerTerms(longDeadline: .seconds(100), lifetime: .seconds(600))
            terms.cadence = .pushed
            let finger = QueueFinger(queue: QueueID("q"), lastEventID: -1)
            inputs.append(.snapshotArrived(id, 0, finger: finger, terms: terms))
          default: break
          }
        }
      }
    }
    feed(.app(.started(foreground: true)))
    now = now + .seconds(1)
    let poll = try #require(client.status.outstanding)
    for number in 0..<6 as Range<Int64> {
      let events = [QueuedEvent(id: number, event: Int(number))]
      feed(.batchArrived(poll.id, QueueBatch(events: events)))
      #expect(client.model?.heard == [])
    }
    // The same request goes on from behind what it has brought.
    #expect(asked == (-1..<6).map { "\(poll.id) after q:\($0)" })
    let (id, queries) = try #require(read)
    feed(.rowsRead(id, queries.map { RowAnswer($0, []) }))
    #expect(client.model?.heard == [0, 1, 2, 3, 4, 5])
    #expect(client.finger?.lastEventID == 5)
    #expect(client.violation() == nil)
  }
}
