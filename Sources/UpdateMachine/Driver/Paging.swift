#if !hasFeature(Embedded)

  private import Foundation

  /// What a driver keeps beside its replica for a source that has pages: ``Windows``. All others have
  /// none. Belongs to the actor.
  class Paging<Origin: Source> {
    /// Rung by windows that nobody looks through any more.
    let doorbell = Doorbell()
    /// Waits for the bell, while `run()` goes on.
    private var porter: ErrandID?

    /// From now on somebody hears the bell.
    final func attend(on machine: isolated UpdateMachine<Origin>) {
      guard porter == nil, machine.errands.isOpen else { return }
      porter = machine.errands.add(.doorbell(doorbell.rings()))
    }

    /// From now on nobody does: nothing is fetched for those who leave, either.
    final func leave(on machine: isolated UpdateMachine<Origin>) {
      if let porter { machine.errands.cancel(porter) }
      porter = nil
    }

    /// The replica may have changed, or a window was left.
    func replicaChanged(on machine: isolated UpdateMachine<Origin>) {}

    func fired(_ timer: TimerID, on machine: isolated UpdateMachine<Origin>) {}

    /// Rows that were asked for have been read, or cannot be.
    func woke(on machine: isolated UpdateMachine<Origin>) {}
  }

  /// A bell that is rung from anywhere, and heard by one task at a time.
  final class Doorbell: @unchecked Sendable {
    private let lock = NSLock()
    private var heard: AsyncStream<Void>.Continuation?

    func ring() {
      lock.lock()
      defer { lock.unlock() }
      heard?.yield()
    }

    /// The rings from now on; who heard them before does no more.
    func rings() -> AsyncStream<Void> {
      let (rings, heard) = AsyncStream.makeStream(
        of: Void.self, bufferingPolicy: .bufferingNewest(1))
      lock.lock()
      defer { lock.unlock() }
      self.heard = heard
      return rings
    }
  }

#endif
