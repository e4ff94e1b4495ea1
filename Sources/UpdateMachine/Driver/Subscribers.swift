#if !hasFeature(Embedded)

  private import Foundation

  /// The subscribers to one value. Each has room for one value that it has not read yet.
  struct Subscribers<Value: Sendable>: Sendable {
    private var all: [Subscriber] = []

    private struct Subscriber: Sendable {
      var continuation: AsyncStream<Value>.Continuation
      /// Set when the reader leaves: its sequence is dropped, or its task is cancelled.
      var left: CancellationFlag
    }

    /// How many there are, including those that have left since the last change.
    var count: Int { all.count }

    /// Whether any subscriber still reads.
    var hasReader: Bool { !all.allSatisfy { $0.left.isSet } }

    /// - Parameter whenLeft: called when the reader leaves, from any thread.
    mutating func add(
      _ first: Value? = nil, whenLeft: @escaping @Sendable () -> Void = {}
    ) -> AsyncStream<Value> {
      // Also here, because nothing may ever be published again.
      all.removeAll { $0.left.isSet }
      let (stream, continuation) = AsyncStream.makeStream(
        of: Value.self, bufferingPolicy: .bufferingNewest(1))
      let left = CancellationFlag()
      continuation.onTermination = { _ in
        left.set()
        whenLeft()
      }
      if let first { continuation.yield(first) }
      all.append(Subscriber(continuation: continuation, left: left))
      return stream
    }

    /// Sends a value to all subscribers, and forgets those that have left.
    mutating func publish(_ value: Value) {
      all.removeAll { $0.left.isSet }
      for subscriber in all { subscriber.continuation.yield(value) }
    }

    func finish() {
      for subscriber in all { subscriber.continuation.finish() }
    }
  }

  /// The subscriber to one window.
  struct WindowSubscriber<Lists: PartialLists>: Sendable {
    var window: WindowID
    var subscribers = Subscribers<WindowView<Lists>>()
  }

  /// The readers of queries of one state. Belongs to the actor; all end when it is released.
  final class QuerySubscribers<State: Sendable> {
    private var readers: [Reader] = []

    private struct Reader {
      /// Set when the reader leaves.
      var left: CancellationFlag
      var show: (State, UInt64) -> Void
      var end: () -> Void
    }

    deinit { endAll() }

    /// Returns the answers of a query, which is asked whenever the state changes.
    func ask<Query: ViewQuery>(_ query: Query) -> AsyncStream<Query.Answer>
    where Query.State == State {
      let (stream, continuation) = AsyncStream.makeStream(
        of: Query.Answer.self, bufferingPolicy: .bufferingNewest(1))
      let left = CancellationFlag()
      continuation.onTermination = { _ in left.set() }
      var subscription = ViewSubscription(query)
      readers.removeAll { $0.left.isSet }
      readers.append(
        Reader(
          left: left,
          show: { state, version in
            if let answer = subscription.update(state, version: version) {
              continuation.yield(answer)
            }
          },
          end: { continuation.finish() }))
      return stream
    }

    /// Shows a state to all readers, and forgets those that have left.
    func tell(_ state: State, version: UInt64) {
      readers.removeAll { $0.left.isSet }
      for reader in readers { reader.show(state, version) }
    }

    /// Ends all sequences.
    func endAll() {
      for reader in readers { reader.end() }
      readers = []
    }
  }

  /// The tasks that wait for a mutation or watch the view. Belongs to the actor; all end when it is
  /// released.
  final class MutationSubscribers<Change: Mutation> {
    /// Tasks that wait for a mutation to change its state, oldest first.
    private var waiters: [Waiter] = []
    let queries = QuerySubscribers<Change.State>()

    private struct Waiter {
      /// Set when the task no longer waits.
      var left: CancellationFlag
      /// Returns whether the wait is over; `nil`: the outbox is gone.
      var isOver: (Outbox<Change>?) -> Bool
    }

    deinit { endAll() }

    /// Returns a stream with one answer, as soon as `answer` returns one, perhaps at once. The
    /// stream ends without an answer when the outbox is dropped.
    func wait<Answer: Sendable>(
      _ answer: @escaping (Outbox<Change>) -> Answer?
    ) -> AsyncStream<Answer> {
      let (stream, continuation) = AsyncStream.makeStream(of: Answer.self)
      let left = CancellationFlag()
      continuation.onTermination = { _ in left.set() }
      waiters.append(
        Waiter(left: left) { outbox in
          if let outbox {
            guard let answer = answer(outbox) else { return false }
            continuation.yield(answer)
          }
          continuation.finish()
          return true
        })
      return stream
    }

    /// Updates all tasks, and forgets those that have left. `nil`: no state is held.
    func tell(_ outbox: Outbox<Change>?, _ view: LocalView<Change>?) {
      waiters.removeAll { $0.left.isSet || $0.isOver(outbox) }
      if let view { queries.tell(view.state, version: view.version) }
    }

    /// Ends all streams: at a log-out, or when the actor is released.
    func endAll() {
      for waiter in waiters { _ = waiter.isOver(nil) }
      queries.endAll()
      waiters = []
    }
  }

  /// A signal that any thread can raise, and one task at a time hears.
  final class Departures: @unchecked Sendable {
    private let lock = NSLock()
    private var listener: AsyncStream<Void>.Continuation?

    func raise() {
      lock.lock()
      defer { lock.unlock() }
      listener?.yield()
    }

    /// Returns the signals from now on. An earlier listener hears no more.
    func listen() -> AsyncStream<Void> {
      let (signals, listener) = AsyncStream.makeStream(
        of: Void.self, bufferingPolicy: .bufferingNewest(1))
      lock.lock()
      defer { lock.unlock() }
      self.listener = listener
      return signals
    }
  }

  extension UpdateMachine {
    /// Tells subscribers what has changed.
    func tell(_ effects: Client.Effects) {
      for id in effects.windows { show(id) }
      if !effects.changes.isDisjoint(with: [.model, .view, .outbox]) {
        tellMutations()
      }
      if effects.changes.contains(.model) {
        modelVersion += 1
        tellModel()
      }
      if !effects.changes.isEmpty { publish() } else { setAlarm() }
    }

    /// Tells those who wait for mutations or watch the view.
    func tellMutations() { mutations?.tell(client.outbox, client.local?.view) }

    /// Shows the model to its queries.
    func tellModel() {
      if let model = client.model { modelQueries?.tell(model, version: modelVersion) }
    }

    /// Publishes the present state to observers.
    func publish() {
      guard observers.count > 0 else { return }
      let state = state
      claimTold = state.freshness.claim
      observers.publish(state)
      setAlarm()
    }

    private func show(_ id: WindowID) {
      guard let view = client.view(of: id),
        let index = windows.firstIndex(where: { $0.window == id })
      else { return }
      windows[index].subscribers.publish(view)
    }

    // MARK: The alarm

    /// Sleeps until freshness changes by itself (the banner that is due after 300 ms), if the state
    /// has a reader. A sleep that ends too early is kept, since its end sets the next one.
    func setAlarm() {
      guard observers.hasReader, operations.isOpen else { return }
      guard let change = client.freshnessChange(after: clock.now) else { return }
      if let alarm {
        if alarm.at <= change { return }
        operations.cancel(alarm.operation)
      }
      alarm = (operations.add(.alarm(change)), change)
    }

    func alarmRang(_ operation: OperationID) {
      guard alarm?.operation == operation else { return }
      alarm = nil
      // The sleep may have been set for an earlier moment than the one that counts now.
      if client.freshness(at: clock.now).claim == claimTold { setAlarm() } else { publish() }
    }
  }

#endif
