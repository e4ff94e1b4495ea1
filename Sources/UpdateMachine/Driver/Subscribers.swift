#if !hasFeature(Embedded)

  private import Foundation

  /// Those who look at something of a driver. Each has room for one value that it has not read yet.
  struct Subscribers<Value: Sendable>: Sendable {
    private var all: [Subscriber] = []

    private struct Subscriber: Sendable {
      var continuation: AsyncStream<Value>.Continuation
      /// Set when the reader goes: its sequence is dropped, or its task cancelled.
      var left: CancellationFlag
    }

    /// How many there are, with those who went since the last change.
    var count: Int { all.count }

    /// Whether somebody reads.
    var hasReader: Bool { !all.allSatisfy { $0.left.isSet } }

    /// - Parameter whenLeft: called when the reader goes, from anywhere.
    mutating func add(
      _ first: Value? = nil, whenLeft: @escaping @Sendable () -> Void = {}
    ) -> AsyncStream<Value> {
      // Here, too, for nothing may ever be published again.
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

    /// Hands a value to everybody; those who have gone are forgotten.
    mutating func publish(_ value: Value) {
      all.removeAll { $0.left.isSet }
      for subscriber in all { subscriber.continuation.yield(value) }
    }

    func finish() {
      for subscriber in all { subscriber.continuation.finish() }
    }
  }

  /// The one who looks through one window.
  struct WindowSubscriber<Lists: PartialLists>: Sendable {
    var window: WindowID
    var subscribers = Subscribers<WindowView<Lists>>()
  }

  /// Those who wait for a mutation or look at the view. Belongs to the actor; all end when it goes.
  final class MutationSubscribers<Change: Mutation> {
    /// Who waits for something to become of a mutation, oldest first.
    private var waiters: [Waiter] = []
    private var viewers: [Viewer] = []

    private struct Waiter {
      /// Set when nobody waits any more.
      var left: CancellationFlag
      /// Says whether it is over; `nil`: the outbox is gone.
      var isOver: (Outbox<Change>?) -> Bool
    }

    private struct Viewer {
      /// Set when nobody looks any more.
      var left: CancellationFlag
      var show: (LocalView<Change>) -> Void
      var end: () -> Void
    }

    deinit { endAll() }

    /// Waits until `answer` has one to give, which may be at once; ends without one when the outbox
    /// goes.
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

    /// Asks a question about the view whenever that is another.
    func ask<Query: ViewQuery>(_ query: Query) -> AsyncStream<Query.Answer>
    where Query.State == Change.State {
      let (stream, continuation) = AsyncStream.makeStream(
        of: Query.Answer.self, bufferingPolicy: .bufferingNewest(1))
      let left = CancellationFlag()
      continuation.onTermination = { _ in left.set() }
      var subscription = ViewSubscription(query)
      viewers.append(
        Viewer(
          left: left,
          show: { view in
            if let answer = subscription.update(view) { continuation.yield(answer) }
          },
          end: { continuation.finish() }))
      return stream
    }

    /// Tells everybody what concerns them; those who have gone are forgotten. `nil`: nothing is held.
    func tell(_ local: LocalChanges<Change>?) {
      waiters.removeAll { $0.left.isSet || $0.isOver(local?.outbox) }
      viewers.removeAll { $0.left.isSet }
      guard let local else { return }
      for viewer in viewers { viewer.show(local.view) }
    }

    /// The account goes.
    func endAll() {
      for waiter in waiters { _ = waiter.isOver(nil) }
      for viewer in viewers { viewer.end() }
      waiters = []
      viewers = []
    }
  }

  /// A signal that is raised from anywhere, and heard by one task at a time.
  final class Departures: @unchecked Sendable {
    private let lock = NSLock()
    private var listener: AsyncStream<Void>.Continuation?

    func raise() {
      lock.lock()
      defer { lock.unlock() }
      listener?.yield()
    }

    /// The signals from now on. Whoever listened before hears no more.
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
    /// Tells everybody what has changed.
    func tell(_ effects: Client.Effects) {
      for id in effects.windows { show(id) }
      if !effects.changes.isDisjoint(with: [.model, .view, .outbox]) {
        mutations.tell(client.local)
      }
      if !effects.changes.isEmpty { publish() }
    }

    /// Shows the present state to whoever looks.
    func publish() {
      guard observers.count > 0 else { return }
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

    /// Sleeps until freshness changes by itself (the banner that is due after 300 ms), if anybody
    /// looks. A sleep that is too early is let be: it ends in setting the next.
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
      publish()
    }
  }

#endif
