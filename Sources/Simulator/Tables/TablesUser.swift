package import SyncProtocols
package import UpdateMachine

/// A change leaves no mark of its own: the server notes who has made what.
extension TableChange: MarkedChange {
  package var marks: [Int64] { [] }
}

/// A user who changes rows while they are connected, and decides about changes that were refused or
/// are uncertain.
package struct TablesUser: ReconsideringUser {
  package typealias Model = TablesApp.Model
  package typealias Truth = TablesTruth
  package typealias Sync = TableSync

  package var memory = ChangeBook<TableChange>()
  package var check = OutboxCheck<TableChange>()
  /// How often each change was sent by each client, in any process.
  private var sends = VersionedMap<String, Int>()
  /// The checksums of what this client has shown when it was up to date.
  private var whole = VersionedMap<UInt64, Bool>()

  package init() {}

  package mutating func took(
    _ input: Body.Input?, _ effects: Body.Effects, _ client: Body, reading rows: ReadRows,
    at now: Moment
  ) {
    noteInput(effects, client, at: now)
    guard let push = effects.outbox.push else { return }
    for item in push.mutations {
      let name = TablesTruth.name(of: item.change, by: push.client)
      sends[name] = (sends[name] ?? 0) + 1
    }
  }

  package static var changesOffline: Bool { false }

  // MARK: What the user does

  package mutating func newChange(
    _ local: LocalChanges<TableChange>, _ choices: inout Choices
  ) -> TableChange {
    let rows = local.view.state.rows.map { $0.key }
    // The number of choices so far is an ID that nobody else uses.
    return TablesApp.change(Int64(choices.record.count), "user", among: rows, .users, &choices)
  }

  /// Some users save what is in a node before they delete it.
  package mutating func newChanges(
    _ local: LocalChanges<TableChange>, room: Int, _ choices: inout Choices
  ) -> [TableChange] {
    room >= 2 && choices.happens(.users, 1, in: 4)
      ? TablesApp.rescue(local.view.state, &choices) : someChanges(local, room: room, &choices)
  }

  /// What is asked of the server stays what it is.
  package mutating func newChange(
    inPlaceOf old: TableChange, _ local: LocalChanges<TableChange>, _ choices: inout Choices
  ) -> TableChange? { nil }

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
