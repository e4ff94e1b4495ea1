internal import SyncProtocols
internal import UpdateMachine

// Where the clients are run by somebody else, as real actors are: what reaches them is handed over,
// and what they do comes back.

extension World {
  /// What reached clients in the last step, in order.
  mutating func takeDeliveries() -> [Delivery<App>] {
    let taken = deliveries
    deliveries.removeAll(keepingCapacity: true)
    return taken
  }

  /// A client's replica has taken an input: the jury looks, as it does after every ``feed(_:_:)``.
  mutating func look(
    _ client: Int, _ input: Client.Body.Input, _ effects: Client.Body.Effects,
    _ replica: Client.Body
  ) {
    let before = jury.look(before: input, client, clients[client].replica, server, at: now)
    clients[client].replica = replica
    jury.judge(input, before, effects, client, replica, server, at: now)
    if isTraced { noteTrace(client, input, effects) }
  }

  mutating func save(_ saved: Client.Saved, _ step: DiskStep? = nil, on client: Int) {
    // The world's own number: the driver keeps the machine's to itself.
    begin(WriteID((clients[client].write?.id.number ?? 0) + 1), saved, step, on: client)
  }

  mutating func sleep(_ client: Int, until moment: Moment, sleeper: UInt64) {
    let life = clients[client].life
    sleepers.append(sleeper)
    agenda.add(.sleepEnds(client: client, life: life, sleeper: sleeper), at: max(moment, now))
  }

  mutating func sleepEnds(_ client: Int, life: UInt64, _ sleeper: UInt64) -> Bool {
    guard clients[client].life == life, sleepers.contains(sleeper) else { return false }
    if postpone(.sleepEnds(client: client, life: life, sleeper: sleeper), for: client) {
      return false
    }
    forget(sleeper: sleeper)
    deliveries.append(.sleepEnds(sleeper: sleeper))
    return true
  }

  /// Nobody sleeps there any more.
  mutating func forget(sleeper: UInt64) { sleepers.removeAll { $0 == sleeper } }
}
