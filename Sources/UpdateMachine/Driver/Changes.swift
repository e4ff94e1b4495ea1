#if !hasFeature(Embedded)

  /// The user's changes of one driver: performs what the replica's outbox says, and keeps the table of
  /// those who wait for a mutation or look at the view.
  final class Changes<Origin: MutationSource>: Changing<Origin> {
    typealias Change = Origin.Model.Change
    typealias Box = Outbox<Change>

    private var saving: OutboxSaving
    private let settings: MachineSettings
    /// Whose mutations they are; `nil`: nothing is held.
    private var client: ClientID?
    private var inbox: [Box.Input] = []
    /// Those who wait for something to become of a mutation, oldest first.
    private var waiting: [Waiting] = []
    private var lookers: [Looker] = []

    private struct Waiting {
      /// Said when nobody waits any more.
      var left: GivenUp
      /// Says whether it is over; `nil`: the outbox is gone.
      var isOver: (Box?) -> Bool
    }

    private struct Looker {
      /// Said when nobody looks any more.
      var left: GivenUp
      var show: (LocalView<Change>) -> Void
      var end: () -> Void
    }

    init(settings: MachineSettings) {
      self.settings = settings
      saving = OutboxSaving(settings: settings)
    }

    deinit { end() }

    // MARK: What the app says

    func mutate(
      _ change: Change, on machine: isolated Machine
    ) throws(MutationError<Change.Refusal>) -> Box.Mutated {
      let mutated = try machine.replica.mutate(change, at: machine.clock.now)
      perform(mutated.effects, on: machine)
      proceed(on: machine)
      return mutated
    }

    func handle(_ input: Box.Input, on machine: isolated Machine) {
      inbox.append(input)
      proceed(on: machine)
      feedWish(on: machine)
    }

    /// One more try to save, if there is something to be saved.
    func save(on machine: isolated Machine) {
      guard let outbox = mark(on: machine) else { return }
      perform(saving.handle(.wanted(outbox.version), at: machine.clock.now), on: machine)
    }

    // MARK: What happens

    override func mark(on machine: isolated Machine) -> OutboxMark? {
      guard let outbox = machine.replica.model?.local.outbox else { return nil }
      return OutboxMark(client: outbox.client, version: outbox.currentVersion)
    }

    override func took(_ input: Machine.Inputs, on machine: isolated Machine) {
      let now = machine.clock.now
      let effects = machine.replica.passOn(input, at: now)
      let client = machine.replica.model?.local.outbox.client
      if self.client != client {
        if self.client != nil { drop(on: machine) }
        // Those who wait for one that goes on in another name hear of it there.
        if client == nil { end() }
        self.client = client
      }
      switch input {
      case .started: perform(saving.handle(.started, at: now), on: machine)
      case .stopped: perform(saving.handle(.stopped, at: now), on: machine)
      case .loggedOut:
        perform(saving.handle(.stopped, at: now), on: machine)
        end()  // Also of those who look before anything was held.
      case .loaded, .snapshotArrived, .batchArrived, .foregrounded, .backgrounded, .networkChanged,
        .retryRequested, .credentialsChanged, .failed, .fired, .written, .writeFailed:
        break
      }
      for effects in effects { perform(effects, on: machine) }
      settle(on: machine)
      feedWish(on: machine)
    }

    /// The replica hears what it should hear next.
    private func feedWish(on machine: isolated Machine) {
      if let input = machine.replica.takeInput() { machine.feed(input) }
    }

    override func saved(_ outbox: OutboxMark, on machine: isolated Machine) {
      guard outbox.client == client else { return }  // It is gone; another's versions are others.
      perform(saving.handle(.saved(outbox.version), at: machine.clock.now), on: machine)
      handle(.stored(upTo: outbox.version), on: machine)
    }

    override func saveFailed(on machine: isolated Machine) {
      perform(saving.handle(.failed, at: machine.clock.now), on: machine)
    }

    override func fired(_ timer: LocalTimer, on machine: isolated Machine) {
      switch timer {
      case .outbox(let timer): handle(.fired(timer), on: machine)
      case .saving(let timer):
        perform(saving.handle(.fired(timer), at: machine.clock.now), on: machine)
      }
    }

    /// The outbox that there was is gone: nothing of it goes on.
    private func drop(on machine: isolated Machine) {
      machine.errands.cancelLocal()
      saving = OutboxSaving(settings: settings)
      if machine.errands.isOpen { _ = saving.handle(.started, at: machine.clock.now) }
    }

    private func end() {
      for someone in waiting { _ = someone.isOver(nil) }
      for looker in lookers { looker.end() }
      waiting = []
      lookers = []
    }

    // MARK: Effects

    /// Takes what is in the inbox, and shows what came of it.
    private func proceed(on machine: isolated Machine) {
      settle(on: machine)
      machine.publish()
    }

    private func settle(on machine: isolated Machine) {
      while !inbox.isEmpty {
        let effects = machine.replica.handle(inbox.removeFirst(), at: machine.clock.now)
        perform(effects.0, on: machine)
        perform(effects.1, on: machine)
      }
      tell(on: machine)
    }

    /// Performs effects, in their order. Never waits.
    private func perform(_ effects: Box.Effects, on machine: isolated Machine) {
      if let push = effects.cancel { machine.errands.cancel(push) }
      if let timer = effects.disarm { machine.errands.cancel(.outbox(timer)) }
      if let failure = effects.report { machine.reporter?(.failure(failure)) }
      if let version = effects.persist {
        if machine.store == nil {
          inbox.append(.stored(upTo: version))
        } else {
          perform(saving.handle(.wanted(version), at: machine.clock.now), on: machine)
        }
      }
      if let push = effects.push {
        machine.errands.add(.push(push.id) { [machine] in await machine.send(push, $0) })
      }
      if let arm = effects.arm {
        let moment = machine.chance.draw(from: arm.range)
        machine.errands.add(.localTimer(.outbox(arm.timer), at: moment))
      }
    }

    private func perform(_ effects: OutboxSaving.Effects, on machine: isolated Machine) {
      if let timer = effects.disarm { machine.errands.cancel(.saving(timer)) }
      if effects.saves { machine.persist(nil) }
      if let arm = effects.arm {
        let moment = machine.chance.draw(from: arm.range)
        machine.errands.add(.localTimer(.saving(arm.timer), at: moment))
      }
    }

    // MARK: Those who wait and look

    /// Waits until `answer` has one to give, which may be at once; ends without one when the outbox
    /// goes.
    func wait<Answer: Sendable>(
      on machine: isolated Machine, for answer: @escaping (Box) -> Answer?
    ) -> AsyncStream<Answer> {
      let (stream, continuation) = AsyncStream.makeStream(of: Answer.self)
      let left = GivenUp()
      continuation.onTermination = { _ in left.say() }
      waiting.append(
        Waiting(left: left) { box in
          if let box {
            guard let answer = answer(box) else { return false }
            continuation.yield(answer)
          }
          continuation.finish()
          return true
        })
      tell(on: machine)
      return stream
    }

    func look<Query: ViewQuery>(
      _ query: Query, on machine: isolated Machine
    ) -> ViewAnswers<Query.Answer> where Query.State == Change.State {
      let (stream, continuation) = AsyncStream.makeStream(
        of: Query.Answer.self, bufferingPolicy: .bufferingNewest(1))
      let left = GivenUp()
      continuation.onTermination = { _ in left.say() }
      var subscription = ViewSubscription(query)
      lookers.append(
        Looker(
          left: left,
          show: { view in
            if let answer = subscription.update(view) { continuation.yield(answer) }
          },
          end: { continuation.finish() }))
      tell(on: machine)
      return ViewAnswers(stream: stream)
    }

    /// Tells those who wait and look what concerns them; those who have gone are forgotten.
    private func tell(on machine: isolated Machine) {
      waiting.removeAll { $0.left.wasSaid }
      lookers.removeAll { $0.left.wasSaid }
      guard let local = machine.replica.model?.local else {
        for someone in waiting { _ = someone.isOver(nil) }
        return waiting.removeAll()
      }
      assert(local.outbox.violation() == nil, "\(local.outbox.violation()!)")
      waiting.removeAll { $0.isOver(local.outbox) }
      for looker in lookers { looker.show(local.view) }
    }
  }

#endif
