internal import SyncProtocols
internal import UpdateMachine

// The world as a host: what reaches a client, and how its effects are performed.

extension World {
  /// Gives a client an input, has the checker judge it, and performs the effects.
  mutating func feed(_ client: Int, _ input: Client.Body.Input) {
    guard !checker.hasFound, clients[client].isRunning else { return }
    let device = clients[client]
    look(before: input, client, device.held)
    let effects = device.held.body.handle(input, at: now)
    judge(client, device.held, input, effects)
    perform(effects, by: client)
    judgeWord(of: client, device.held)
  }

  /// A client is about to take an input.
  mutating func look(
    before input: Client.Body.Input, _ client: Int, _ held: borrowing Client.Held
  ) {
    checker.look(client, held.body, server, at: now)
    if let situations {
      situations.look(client, held.body, surroundings(of: client), at: now)
    }
    guard App.User.acts else { return }
    let device = clients[client]
    device.user.look(before: input, held.body, reading: { device.disk.rows(for: $0) })
  }

  /// Performs an action of a client's user.
  mutating func perform(_ action: App.User.Action, by client: Int) {
    guard !checker.hasFound, clients[client].isRunning else { return }
    if case .signals(let word) = action { return signal(client, word) }
    guard !isHandingOver else {
      return deliveries.append(.action(client: client, action))
    }
    let before = clients[client].body
    var effects = Client.Body.Effects()
    switch action {
    case .mutates(let change):
      do throws(MutationError<App.Model.Change.Refusal>) {
        effects = try clients[client].body.mutate(change, at: now).effects
      } catch {}  // The user judges what the refusal means.
    case .undoes, .redoes:
      do throws(MutationError<App.Model.Change.Refusal>) {
        effects =
          try action.isRedo
          ? clients[client].body.redo(at: now).effects : clients[client].body.undo(at: now).effects
      } catch {}  // As above.
    case .opens(let narrow, let window):
      effects = clients[client].body.openWindow(on: narrow, showing: window, at: now).effects
    case .decides(let decision):
      effects = clients[client].body.handle(.mutation(decision), at: now)
    case .changes(let change): effects = clients[client].body.handle(.window(change), at: now)
    case .changesLists(let change): effects = clients[client].body.handle(.lists(change), at: now)
    case .signals: return  // Handled above.
    }
    took(action, from: before, effects, on: client)
    perform(effects, by: client)
  }

  /// A client's user has acted, whatever runs the client.
  mutating func took(
    _ action: App.User.Action, from before: Client.Body, _ effects: Client.Body.Effects,
    on client: Int
  ) {
    checker.result.userActions += 1
    note(action, from: before, effects, on: client)
    clients[client].user.acted(action, from: before, to: clients[client].body, at: now)
    if isTraced {
      let words = clients[client].user.words(clients[client].body)
      let holds = words.isEmpty ? "" : ", who now has \(words)"
      note(who(client), "the user \(action)\(holds)", about: client)
      if let change = action.change { trace?.noteChange(change) }
    }
    judge(client, clients[client].held, nil, effects)
  }

  /// A client has taken an input, or its user has acted. The checker and the user judge the result.
  mutating func judge(
    _ client: Int, _ held: borrowing Client.Held, _ input: Client.Body.Input?,
    _ effects: Client.Body.Effects
  ) {
    checker.judge(input, effects, client, held.body, server, at: now)
    if let situations, let input { situations.took(client, input, effects, held.body, at: now) }
    if isTraced { noteTrace(client, input, effects) }
    // What a driver does in the moment in which its process crashes is lost with the process, and
    // an older form may already be on the disk. Story (seed 1887 of streams, real actors): several
    // changes in one moment, and a crash at the save of the first.
    guard App.User.acts, clients[client].isRunning else { return }
    let device = clients[client]
    device.user.took(
      input, effects, held.body, reading: { device.disk.rows(for: $0) }, at: now)
    judgeUser(client, held.body)
  }

  /// Performs a client's effects; the only place that does.
  private mutating func perform(_ effects: Client.Body.Effects, by client: Int) {
    effects.each { effect in
      switch effect {
      case .cancel(let request): cancel(client, request)
      case .disarm(let timer): clients[client].timers.removeAll { $0 == timer }
      case .report: break
      case .release(let log): release(log, by: client)
      case .load: beginLoading(client)
      case .save(let write):
        if let saved = clients[client].body.saved { begin(write, saved, on: client) }
      case .read(let id, let queries): read(queries, id, on: client)
      case .erase: erase(on: client)
      case .register(let request): send(client, .register, request)
      case .poll(let request, let finger, let waits):
        send(client, .poll(finger, waits: waits), request)
      case .push(let push, let finger):
        send(push, at: finger, over: confirmedState(of: client, at: finger), by: client)
      case .fetch(let id, let request): fetch(request, id, by: client)
      case .arm(let timer, let range):
        clients[client].timers.append(timer)
        let bounds = range.earliest.milliseconds...range.latest.milliseconds
        agenda.add(
          .timerFires(client: client, incarnation: clients[client].incarnation, timer),
          at: max(now, Moment(milliseconds: choices.draw(.timers, in: bounds))))
      }
    }
  }

  /// Sends a signal to a client's app.
  mutating func signal(_ client: Int, _ signal: AppSignal) {
    guard !isHandingOver else { return deliveries.append(.signal(client: client, signal)) }
    noteDecision(client, signal)
    feed(client, .app(signal))
  }

  /// Releases a queue. A client without a connection releases nothing, because a release is best
  /// effort.
  mutating func release(_ queue: Place.Log, by client: Int) {
    guard let number = server.index(of: queue), clients[client].connection == .open else { return }
    agenda.add(.releaseArrives(queue: number), at: now + .milliseconds(latency()))
  }

  mutating func timerFires(_ client: Int, incarnation: UInt64, _ timer: TimerID) -> Bool {
    guard clients[client].incarnation == incarnation, clients[client].timers.contains(timer) else {
      return false
    }
    if postpone(.timerFires(client: client, incarnation: incarnation, timer), for: client) {
      return false
    }
    clients[client].timers.removeAll { $0 == timer }
    feed(client, .fired(timer))
    return true
  }

  func who(_ client: Int) -> String { "client \(client)" }
}
