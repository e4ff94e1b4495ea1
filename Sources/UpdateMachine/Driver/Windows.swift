#if !hasFeature(Embedded)

  /// The windows of one driver, and the planner that says which pages they lack.
  final class Windows<Origin: PageSource>: Paging<Origin> {
    typealias Narrow = Origin.Model.Narrow
    typealias View = WindowView<Narrow>
    typealias Planner = PagePlanner<Narrow>

    private var planner: Planner
    /// Those who look, each through one window, oldest first. Each has room for one view that it has
    /// not seen yet.
    private var seats: [Seat] = []
    /// What sleeps of what they show is being read.
    private var isWaking = false

    private struct Seat {
      var window: WindowID
      var continuation: AsyncStream<View>.Continuation
      /// Said when the viewer goes: the views are dropped, or their task is cancelled.
      var left: GivenUp
      /// What was shown last.
      var shown: View?
    }

    init(life: Life, settings: PageSettings) {
      planner = Planner(life: life, settings: settings)
    }

    deinit { for seat in seats { seat.continuation.finish() } }

    // MARK: What the app says

    func open(
      _ narrow: Narrow, _ window: ListWindow, on machine: isolated UpdateMachine<Origin>
    ) -> WindowViews<Narrow> {
      attend(on: machine)
      let (stream, continuation) = AsyncStream.makeStream(
        of: View.self, bufferingPolicy: .bufferingNewest(1))
      let left = GivenUp()
      continuation.onTermination = { [doorbell] _ in
        left.say()
        doorbell.ring()
      }
      let (id, effects) = machine.replica.open(
        narrow, window, with: &planner, at: machine.clock.now)
      seats.append(Seat(window: id, continuation: continuation, left: left))
      perform(effects, on: machine)
      return WindowViews(id: id, stream: stream)
    }

    func move(_ id: WindowID, to window: ListWindow, on machine: isolated UpdateMachine<Origin>) {
      handle(.moved(id, window), on: machine)
    }

    func close(_ id: WindowID, on machine: isolated UpdateMachine<Origin>) {
      for seat in seats where seat.window == id { seat.continuation.finish() }
      seats.removeAll { $0.window == id }
      handle(.closed(id), on: machine)
    }

    // MARK: What happens

    override func replicaChanged(on machine: isolated UpdateMachine<Origin>) {
      for seat in seats where seat.left.wasSaid { close(seat.window, on: machine) }
      handle(.changed, on: machine)
    }

    override func fired(_ timer: TimerID, on machine: isolated UpdateMachine<Origin>) {
      handle(.fired(timer), on: machine)
    }

    func take(
      _ page: MessagePage<Narrow.Content>, for fetch: FetchID,
      on machine: isolated UpdateMachine<Origin>
    ) {
      let (_, effects) = machine.replica.handle(
        page, for: fetch, with: &planner, at: machine.clock.now)
      perform(effects, on: machine)
      machine.publish()
    }

    func fail(
      _ fetch: FetchID, _ failure: SyncFailure, on machine: isolated UpdateMachine<Origin>
    ) {
      handle(.failed(fetch, failure), on: machine)
    }

    private func handle(_ input: Planner.Input, on machine: isolated UpdateMachine<Origin>) {
      let effects = machine.replica.handle(input, with: &planner, at: machine.clock.now)
      perform(effects, on: machine)
    }

    // MARK: What sleeps

    override func woke(on machine: isolated UpdateMachine<Origin>) {
      isWaking = false
      handle(.changed, on: machine)
    }

    /// Which rows must be awake before a page is taken.
    func asleep(
      under page: MessagePage<Narrow.Content>, for fetch: FetchID,
      on machine: isolated UpdateMachine<Origin>
    ) -> [RowQuery] {
      machine.replica.model?.messages.asleep(under: page, for: fetch) ?? []
    }

    private func asleep(
      _ seat: Seat, _ replica: Replica<Origin.Model, Origin.Sync>
    ) -> [RowQuery] {
      guard let (narrow, window) = planner.window(seat.window) else { return [] }
      return replica.model?.messages.asleep(under: window, of: narrow) ?? []
    }

    /// Reads what sleeps of what is looked at. One reading at a time; what it does not cover, the next
    /// does.
    private func wake(on machine: isolated UpdateMachine<Origin>) {
      guard !isWaking, machine.errands.isOpen else { return }
      var queries: [RowQuery] = []
      for seat in seats { queries += asleep(seat, machine.replica) }
      guard !queries.isEmpty else { return }
      isWaking = true
      machine.errands.addForStore(.read(queries, .windows))
    }

    // MARK: Effects

    /// Performs effects, in their order, and shows what has changed. Never waits.
    private func perform(
      _ effects: Planner.Effects, on machine: isolated UpdateMachine<Origin>
    ) {
      for fetch in effects.cancel { machine.errands.cancel(fetch) }
      if let timer = effects.disarm { machine.errands.cancel(pageTimer: timer) }
      if let failure = effects.report { machine.reporter?(.failure(failure)) }
      for (id, request) in effects.fetch {
        machine.errands.add(.page(id) { [machine] in await machine.fetch(request, id, $0) })
      }
      if let arm = effects.arm {
        let moment = machine.chance.draw(from: arm.range)
        machine.errands.add(.pageTimer(arm.timer, at: moment))
      }
      wake(on: machine)
      show(machine.replica)
    }

    /// Hands their views to those who look, if they see something else than before.
    private func show(_ replica: Replica<Origin.Model, Origin.Sync>) {
      for index in seats.indices {
        guard let view = replica.view(seats[index].window, of: planner),
          view != seats[index].shown, !isWaking || asleep(seats[index], replica).isEmpty
        else { continue }
        seats[index].shown = view
        seats[index].continuation.yield(view)
      }
    }
  }

#endif
