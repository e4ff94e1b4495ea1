#if !hasFeature(Embedded)

  /// Those who follow a replica's states. Each has room for one state that it has not read yet.
  struct Observers<Model: Sendable>: Sendable {
    private var seats: [Seat] = []

    private struct Seat: Sendable {
      var continuation: AsyncStream<ReplicaState<Model>>.Continuation
      /// Said when the reader goes: its sequence is dropped, or its task cancelled.
      var left: GivenUp
    }

    /// How many there are, and those who went since the last change.
    var count: Int { seats.count }

    var isEmpty: Bool { seats.allSatisfy { $0.left.wasSaid } }

    mutating func add(_ state: ReplicaState<Model>) -> ReplicaStates<Model> {
      // Here, too, for nothing may ever be published again.
      seats.removeAll { $0.left.wasSaid }
      let (stream, continuation) = AsyncStream.makeStream(
        of: ReplicaState<Model>.self, bufferingPolicy: .bufferingNewest(1))
      let left = GivenUp()
      continuation.onTermination = { _ in left.say() }
      continuation.yield(state)
      seats.append(Seat(continuation: continuation, left: left))
      return ReplicaStates(stream: stream)
    }

    /// Hands a state to everybody; those who have gone are forgotten.
    mutating func publish(_ state: ReplicaState<Model>) {
      seats.removeAll { $0.left.wasSaid }
      for seat in seats { seat.continuation.yield(state) }
    }

    func finish() {
      for seat in seats { seat.continuation.finish() }
    }
  }

  extension UpdateMachine {
    /// Shows the present state to whoever looks.
    func publish() {
      guard observers.count > 0 else { return }
      observers.publish(state)
      setAlarm()
    }

    /// Sleeps until freshness changes by itself (the banner that is due after 300 ms), if anybody
    /// looks. A sleep that is too early is let be: it ends in setting the next.
    func setAlarm() {
      guard !observers.isEmpty, errands.isOpen, replica.isLoaded else { return }
      guard let change = replica.machine.freshnessChange(after: clock.now) else { return }
      if let alarm {
        if alarm.at <= change { return }
        errands.cancel(alarm.errand)
      }
      let errand = errands.add(.alarm(change))
      alarm = (errand, change)
    }

    func alarmRang(_ errand: ErrandID) {
      guard alarm?.errand == errand else { return }
      alarm = nil
      publish()
    }
  }

#endif
