import Foundation
import SQLiteStore
import SyncProtocols
import Synchronization
import UpdateMachine

/// The process that is killed. It follows its parent's server at full speed, adds one number after
/// the other, and keeps everything in a file.
struct Child: Sendable {
  typealias Model = ConfirmedView<Entry>

  /// Runs until the parent kills it. With `finishes`, the parent does so once the child is up to
  /// date.
  static func run(file path: String) async throws {
    endWithParent()
    let line = Line()
    line.tell(.phase(.starting))
    guard case .start(let first, let client, let finishes) = line.firstOrder() else { return }
    line.tell(.phase(.opening))
    let file = try await SQLiteFile.open(at: path)
    let store = ToldStore(store: file.store(named: "view"), line: line)
    let machine = UpdateMachine(
      source: ToldSource(line: line, client: client), store: store, settings: settings,
      tap: { input, effects, client, _ in
        // Told here, and not by an observer: it could already see something newer, which is not
        // saved yet.
        if case .loaded(let saved, _) = input {
          line.tell(.restored(saved.map { found($0, client) }))
        }
        // A save that the machine waits for has the machine's present finger. A save for the outbox
        // alone may have an older one.
        var isSaved = false
        func note(_ heard: MachineHeard<ViewFinger>) {
          if case .input(.written) = heard { isSaved = true }
        }
        effects.heard.each(note)
        if isSaved, let commit = client.finger?.commit { line.tell(.durable(commit)) }
      })
    line.listen()
    async let following: Void = machine.run()
    if finishes {
      try await finish(machine, line)
    } else {
      async let reader: Void = discardRefused(machine)
      try await work(machine, line, from: first)
      await reader
    }
    await machine.stop()
    await following
  }

  /// Ends this process soon after its parent, whatever it is busy with. A planted bug may keep it
  /// busy for ever, before it listens to its parent.
  private static func endWithParent() {
    let parent = getppid()
    Thread.detachNewThread {
      while getppid() == parent { Thread.sleep(forTimeInterval: 1) }
      _exit(0)
    }
  }

  /// As quick as possible: the parent is on the same computer.
  static var settings: MachineSettings {
    var settings = MachineSettings()
    settings.retry.paceInterval = .milliseconds(2)
    settings.retry.paceBurst = 50
    return settings
  }

  /// What the file had when this process began.
  private static func found(
    _ saved: SavedReplica<Model, ViewFinger>, _ client: SyncClient<Model, ClientView<JSONValue>>
  ) -> Report.Restored {
    let pending = client.pending.map(\.change.number) + client.setAside.map(\.change.number)
    return Report.Restored(
      commit: saved.model.model.finger.commit ?? CommitNumber(0),
      checksum: saved.model.state.checksum, pending: pending)
  }

  private static func work(
    _ machine: UpdateMachine<ToldSource>, _ line: Line, from first: Int64
  ) async throws {
    for await state in await machine.states() where state.view != nil { break }
    var number = first
    while true {
      line.tell(.makes(number))
      let ticket: MutationTicket
      do throws(MutationError<Never>) {
        ticket = try await machine.mutate(.add(number)).ticket
      } catch {
        // The outbox is full until something is confirmed.
        let clock = SystemClock()
        try await clock.sleep(until: clock.now + .milliseconds(5))
        continue
      }
      // Sometimes the next mutation is made before this one is stored.
      if number % 3 != 0, await machine.stored(ticket) { line.tell(.stored(number)) }
      number += 1
    }
  }

  /// Discards what the server refuses. Otherwise nothing more would be sent.
  private static func discardRefused(_ machine: UpdateMachine<ToldSource>) async {
    for await state in await machine.states() {
      for refused in state.setAside { await machine.discard(refused.ticket) }
    }
  }

  private static func finish(
    _ machine: UpdateMachine<ToldSource>, _ line: Line
  ) async throws {
    for await state in await machine.states() {
      for refused in state.setAside { await machine.discard(refused.ticket) }
      // Only what is saved is acknowledged by a poll, so a client whose store fails gets no further
      // than the write. No state tells of its end.
      let clock = SystemClock()
      var state = state
      while case .live(.writing) = state.status {
        try await clock.sleep(until: clock.now + .milliseconds(2))
        state = await machine.state
      }
      guard case .live = state.status, let model = state.model,
        state.local?.outbox.isEmpty ?? false,
        let commit = model.model.finger.commit
      else { continue }
      line.tell(.level(commit, checksum: model.state.checksum))
    }
  }
}

/// The child's end of the pipes.
final class Line: Sendable {
  private let output = Mutex(FileHandle.standardOutput)
  private let waiting = Mutex<(count: UInt64, all: [UInt64: CheckedContinuation<Order?, Never>])>(
    (0, [:]))

  /// Reports to the parent. Exits the process if the parent is gone.
  func tell(_ report: Report) {
    output.withLock { handle in
      do {
        try Pipeline.send(report, over: handle)
      } catch {
        exit(0)
      }
    }
  }

  func firstOrder() -> Order? {
    (try? Pipeline.receive(Order.self, over: .standardInput)) ?? nil
  }

  /// From now on passes each answer to the caller that waits for it.
  func listen() {
    Thread.detachNewThread {
      while let order = (try? Pipeline.receive(Order.self, over: .standardInput)) ?? nil {
        switch order {
        case .start: break
        case .pulled(let request, _), .pushed(let request, _):
          self.waiting.withLock { $0.all.removeValue(forKey: request) }?.resume(returning: order)
        }
      }
      exit(0)  // The parent is gone.
    }
  }

  /// Asks, and waits for the answer; `nil`: the task was cancelled.
  func ask(_ question: @Sendable (UInt64) -> Report) async -> Order? {
    let number = waiting.withLock { waiting in
      waiting.count += 1
      return waiting.count
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isGivenUp = waiting.withLock { waiting in
          if Task.isCancelled { return true }
          waiting.all[number] = continuation
          return false
        }
        if isGivenUp { return continuation.resume(returning: nil) }
        tell(question(number))
      }
    } onCancel: {
      waiting.withLock { $0.all.removeValue(forKey: number) }?.resume(returning: nil)
    }
  }
}

/// The source that reaches the parent's server.
struct ToldSource: SyncSource {
  typealias Model = Child.Model
  typealias Sync = ClientView<JSONValue>

  let line: Line
  let client: ClientID

  func register(
    as client: ClientID
  ) async throws(SyncFailure) -> Registered<PulledView<JSONValue>, ViewFinger> {
    let pulled = try await pull(from: nil)
    return Registered(
      snapshot: pulled, finger: pulled.finger,
      terms: .clientView(pullingEvery: .milliseconds(3)))
  }

  func poll(
    after finger: ViewFinger, waits: Bool
  ) async throws(SyncFailure) -> PulledView<JSONValue> {
    try await pull(from: finger.state)
  }

  private func pull(from state: ServerStateID?) async throws(SyncFailure) -> PulledView<JSONValue> {
    guard case .pulled(_, let pulled) = await line.ask({ .pull($0, state, client) }) else {
      throw .unreachable
    }
    return pulled
  }

  func release(_ log: ViewLog) async {}

  func push(
    _ push: PushRequest<Entry>, at finger: ViewFinger?
  ) async throws(PushFailure) -> PushAnswer {
    let request = MutationPush(push)
    guard case .pushed(_, let answer) = await line.ask({ .push($0, request) }) else {
      throw PushFailure(.unreachable)
    }
    return answer
  }
}

/// A store that reports what it is about to do.
struct ToldStore<Base: SyncStore>: SyncStore {
  let store: Base
  let line: Line

  func load(leaving tables: [StoredTable]) async throws(StoreError) -> SavedRows? {
    line.tell(.phase(.loading))
    defer { line.tell(.phase(.between)) }
    return try await store.load(leaving: tables)
  }

  func rows(
    for queries: [RowQuery]
  ) async throws(StoreError) -> [[(key: StoredKey, value: [UInt8])]] {
    try await store.rows(for: queries)
  }

  func append(_ entry: JournalEntry) async throws(StoreError) {
    line.tell(.phase(.appending))
    defer { line.tell(.phase(.between)) }
    try await store.append(entry)
  }

  func checkpoint(_ form: SavedRows) async throws(StoreError) {
    line.tell(.phase(.checkpointing))
    defer { line.tell(.phase(.between)) }
    try await store.checkpoint(form)
  }

  func replace(with form: SavedRows) async throws(StoreError) {
    line.tell(.phase(.checkpointing))
    defer { line.tell(.phase(.between)) }
    try await store.replace(with: form)
  }

  func erase() async throws(StoreError) { try await store.erase() }
}
