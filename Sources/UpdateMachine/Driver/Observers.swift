#if !hasFeature(Embedded)

  /// Those who follow a replica's states. Each has room for one state that it has not read yet.
  struct Observers<Model: Sendable>: Sendable {
    private var continuations: [AsyncStream<ReplicaState<Model>>.Continuation] = []

    var isEmpty: Bool { continuations.isEmpty }

    mutating func add(_ state: ReplicaState<Model>) -> ReplicaStates<Model> {
      let (stream, continuation) = AsyncStream.makeStream(
        of: ReplicaState<Model>.self, bufferingPolicy: .bufferingNewest(1))
      continuation.yield(state)
      continuations.append(continuation)
      return ReplicaStates(stream: stream)
    }

    /// Hands a state to everybody; those who have gone are forgotten.
    mutating func publish(_ state: ReplicaState<Model>) {
      continuations.removeAll { continuation in
        if case .terminated = continuation.yield(state) { true } else { false }
      }
    }

    func finish() {
      for continuation in continuations { continuation.finish() }
    }
  }

  extension UpdateMachine {
    /// Shows the present state to whoever looks.
    func publish() {
      guard !observers.isEmpty else { return }
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
