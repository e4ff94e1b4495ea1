package import SyncProtocols
package import UpdateMachine

/// What a user has done to rows, in ticket order.
package struct TablesBook: OutboxBook {
  package var client: ClientID?
  private(set) var made: [Made] = []

  struct Made: Sendable {
    var ticket: MutationTicket
    var change: TableChange
    var isDiscarded = false
  }

  package init(of client: ClientID? = nil) { self.client = client }

  /// No change throws in a replay.
  package mutating func noteMove(of ticket: MutationTicket) {}

  mutating func note(_ ticket: MutationTicket, _ change: TableChange) {
    made.append(Made(ticket: ticket, change: change))
  }

  mutating func discard(_ ticket: MutationTicket) {
    for index in made.indices where made[index].ticket == ticket { made[index].isDiscarded = true }
  }
}

/// A user who changes rows while they are connected, and decides about changes that were refused or
/// are uncertain.
package struct TablesUser: OutboxUser {
  package typealias Model = TablesApp.Model
  package typealias Truth = TablesTruth
  package typealias Sync = TableSync

  package var memory = TablesBook()
  package var check = OutboxCheck<TableChange>()
  /// How often each change was sent by each client, in any process.
  private var sends = VersionedMap<String, Int>()
  /// The checksums of what this client has shown when it was up to date.
  private var whole = VersionedMap<UInt64, Bool>()
  /// When the client last took an input.
  private var now = Moment.distantPast

  package init() {}

  package mutating func begin() { check.begin() }

  /// Each form of the outbox has its own record. A server's answers alone change what is in it.
  package func memory(of saved: Saved, _ old: TablesBook) -> TablesBook {
    guard let outbox = saved.outbox else { return old }
    return old.record(of: outbox.client)
  }

  package mutating func took(
    _ input: Body.Input?, _ effects: Body.Effects, _ client: Body, reading rows: ReadRows,
    at now: Moment
  ) {
    noteInput(effects, client)
    self.now = now
    guard let push = effects.outbox.push else { return }
    for item in push.mutations {
      let name = TablesTruth.name(of: item.change, by: push.client)
      sends[name] = (sends[name] ?? 0) + 1
    }
  }

  // MARK: What the user does

  package mutating func act(
    _ client: Body, _ truth: Truth, _ choices: inout Choices
  ) -> [Action] {
    guard let local = client.local else { return [] }
    let outbox = local.outbox
    let open = outbox.setAside.map { $0.ticket } + outbox.uncertain.map { $0.ticket }
    if !open.isEmpty, choices.happens(.users, 3, in: 4) {
      let index = Int(choices.draw(.users, below: UInt64(open.count)))
      return reconsider(open[index], outbox, &choices)
    }
    if !outbox.pending.isEmpty, choices.happens(.users, 1, in: 8) {
      let index = Int(choices.draw(.users, below: UInt64(outbox.pending.count)))
      return reconsider(outbox.pending[index].ticket, outbox, &choices)
    }
    // Most users see that they are not connected.
    let isConnected = client.freshness(at: now).claim == .connected
    guard isConnected || choices.happens(.users, 1, in: 8) else { return [] }
    let isRoomy = outbox.count + 2 <= TablesUser.pendingMaximum
    if isRoomy, choices.happens(.users, 1, in: 4) {
      return TablesApp.rescue(local.view.state, &choices).map { .mutates($0) }
    }
    var actions: [Action] = []
    for count in 0...Int(choices.draw(.users, below: 3)) {
      guard outbox.count + count < TablesUser.pendingMaximum else { break }
      let rows = local.view.state.rows.map { $0.key }
      // The number of choices so far is an ID that nobody else uses.
      let id = Int64(choices.record.count)
      actions.append(.mutates(TablesApp.change(id, "user", among: rows, .users, &choices)))
    }
    return actions
  }

  private func reconsider(
    _ ticket: MutationTicket, _ outbox: Outbox<TableChange>, _ choices: inout Choices
  ) -> [Action] {
    if choices.happens(.users, 1, in: 2) { return [.decides(.retried(ticket))] }
    return outbox.canDiscard(ticket) ? [.decides(.discarded(ticket))] : []
  }

  /// Retries or discards uncertain changes, as the user likes.
  package mutating func tidy(_ client: Body) -> [Action] {
    guard let outbox = client.local?.outbox else { return [] }
    if let first = outbox.setAside.first(where: { outbox.canDiscard($0.ticket) }) {
      return wake(client) + [.decides(.discarded(first.ticket))]
    }
    guard let first = outbox.uncertain.first else { return wake(client) }
    let isRetried = first.ticket.number % 2 == 0
    return wake(client) + [.decides(isRetried ? .retried(first.ticket) : .discarded(first.ticket))]
  }

  package mutating func acted(
    _ action: Action, from before: Body, to after: Body, at now: Moment
  ) {
    guard let old = before.local, let new = after.local?.outbox else { return }
    switch action {
    case .mutates(let change):
      let isMade = new.newestTicket > old.outbox.newestTicket
      let isConnected = before.freshness(at: now).claim == .connected
      if isMade { memory.note(new.newestTicket, change) }
      guard isMade != isConnected else { return }
      check.lie = UserObjection(
        .input, "\(change) is made while connected, and only then",
        "made: \(isMade), connected: \(isConnected), \(new)")
    case .decides(.discarded(let ticket)):
      if old.outbox.canDiscard(ticket) { memory.discard(ticket) }
    case .decides, .opens, .changes, .changesLists, .signals: break
    }
  }

  // MARK: Obligations

  package mutating func objection(
    to client: Body, _ truth: Truth, at position: Int64, _ history: [Truth], disk: Saved?,
    reading rows: ReadRows
  ) -> UserObjection? {
    guard let model = client.model, let local = client.local else { return check.lie }
    if let objection = check.objection(to: local.outbox, disk: disk?.outbox) { return objection }
    let confirmed = TablesApp.checksum(of: model)
    if position >= 0 {
      whole[confirmed] = true
    } else if model.state.isWhole ? !whole.contains(confirmed) : !model.state.rows.isEmpty {
      return UserObjection(
        .replica, "what was whole before is shown until all is fetched", TablesApp.describe(model))
    }
    guard check.isNews(local, confirmed: confirmed, truth: truth.checksum) else { return nil }
    return TablesOracle.objection(to: model, local, memory, truth, at: position, sends)
  }

  package func fold(_ client: Body, into digest: inout StateDigest) {
    guard let local = client.local else { return }
    digest.fold(TablesApp.checksum(of: local.view.state))
    digest.fold(local.outbox.currentVersion.number)
  }
}
