import SyncProtocols
import UpdateMachine

// The course, parts 1 and 2: an app that holds all that is open, and changes nothing.

/// Parts 3 and 4 have a model and a source of the same names, with more in them.
enum FirstApp {
  // Article example begins: course first model
  /// What the app holds: all that is open.
  struct ToDoModel: SyncModel, StorableModel, Codable, Equatable {
    typealias Refusal = Never

    private(set) var open = VersionedMap<Int64, String>()

    init(snapshot: ToDoSnapshot) {
      for item in snapshot.open { open[item.id] = item.title }
    }

    mutating func apply(_ event: ToDoEvent) {
      switch event.effect {
      case .added(let item): open[item.id] = item.title
      case .ticked(let row): open[row.item.id] = nil
      case .cleared, nil: break
      }
    }
  }
  // Article example ends

  // Article example begins: course source
  /// The way to the server. Each call is one request.
  struct ToDoSource: SyncSource {
    typealias Model = ToDoModel
    typealias Sync = EventQueue<ToDoEvent>

    let server: LocalEventQueue<ToDoTruth>
    let network: Network

    private var log: LocalEventQueueSource<ToDoTruth, ToDoModel> {
      server.source(for: ToDoModel.self)
    }

    func register(
      as client: ClientID
    ) async throws(SyncFailure) -> Registered<ToDoSnapshot, QueueFinger> {
      try await network.pass()
      var registered = try await log.register(as: client)
      registered.snapshot.client = client
      return registered
    }

    func poll(
      after finger: QueueFinger, waits: Bool
    ) async throws(SyncFailure) -> QueueBatch<ToDoEvent> {
      try await network.pass()
      let batch = try await log.poll(after: finger, waits: waits)
      try await network.pass()  // The answer is lost, too.
      return batch
    }

    func release(_ queue: QueueID) async { await log.release(queue) }
  }
  // Article example ends
}
