internal import SyncProtocols
internal import UpdateMachine

// Clients that other code runs, such as real actors: the world hands their inputs over, and their
// actions come back.

extension World {
  /// Returns what reached clients in the last step, in order.
  mutating func takeDeliveries() -> [Delivery<App>] {
    let taken = deliveries
    deliveries.removeAll(keepingCapacity: true)
    return taken
  }

  /// A client has taken an input. The checker judges it, as after every ``feed(_:_:)``.
  mutating func look(
    _ client: Int, _ input: Client.Body.Input, _ effects: Client.Body.Effects,
    _ body: Client.Body
  ) {
    let device = clients[client]
    look(before: input, client, device.held)
    device.held.body = body
    judge(client, device.held, input, effects)
  }

  /// The client's user has acted.
  mutating func look(
    _ client: Int, _ action: App.User.Action, _ effects: Client.Body.Effects, _ body: Client.Body
  ) {
    let before = clients[client].body
    clients[client].body = body
    took(action, from: before, effects, on: client)
  }

  /// A driver's store begins a write.
  ///
  /// - Parameter wait: how long ago the driver wanted it.
  mutating func save(
    _ saved: Client.Saved, _ step: DiskStep? = nil, memory: App.User.Memory, after wait: TimeSpan,
    on client: Int
  ) {
    // The world numbers the write itself, because only the driver knows the client's number.
    begin(
      WriteID((clients[client].write?.id.number ?? 0) + 1), saved, step, memory: memory,
      after: wait, on: client)
  }

  mutating func sleep(_ client: Int, until moment: Moment, sleeper: UInt64) {
    let incarnation = clients[client].incarnation
    sleepers.append(sleeper)
    agenda.add(
      .sleepEnds(client: client, incarnation: incarnation, sleeper: sleeper), at: max(moment, now))
  }

  mutating func sleepEnds(_ client: Int, incarnation: UInt64, _ sleeper: UInt64) -> Bool {
    guard clients[client].incarnation == incarnation, sleepers.contains(sleeper) else {
      return false
    }
    if postpone(.sleepEnds(client: client, incarnation: incarnation, sleeper: sleeper), for: client)
    {
      return false
    }
    forget(sleeper: sleeper)
    deliveries.append(.sleepEnds(sleeper: sleeper))
    return true
  }

  /// The sleeper no longer waits.
  mutating func forget(sleeper: UInt64) { sleepers.removeAll { $0 == sleeper } }
}
