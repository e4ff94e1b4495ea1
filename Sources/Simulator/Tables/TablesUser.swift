package import SyncProtocols
package import UpdateMachine

/// A change leaves no mark of its own: the server notes who has made what.
extension TableChange: MarkedChange {
  package var marks: [Int64] { [] }
}

extension TableChange {
  /// Whether it expects just what another change has written. Where that began, only another undo
  /// says.
  fileprivate func takesBackOnly(_ other: TableChange) -> Bool {
    guard row == other.row else { return false }
    switch (self, other) {
    case (.restore(_, let old, let found), .set(_, let new)):
      return found.members.allSatisfy { new[$0.name] == $0.value && old[$0.name] != nil }
        && !found.members.isEmpty && old.members.count == found.members.count
    case (.restore(_, let old, let found), .restore(_, let new, let former)):
      return found == new && old == former
    case (.moveBack(_, _, let found), .move(_, let parent)): return found == parent
    case (.moveBack(_, let old, let found), .moveBack(_, let parent, let former)):
      return found == parent && old == former
    case (.insert, _), (.set, _), (.move, _), (.delete, _): return self == other  // It is redone.
    case (.restore, _), (.moveBack, _): return self == other
    }
  }
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

  // MARK: What becomes of it

  package static func isReversal(_ change: TableChange, of other: TableChange) -> Bool {
    change.takesBackOnly(other)
  }

  // MARK: What the user is owed

  package func law(
    _ model: Model, _ local: LocalChanges<TableChange>, _ truth: Truth, at position: Int64
  ) -> TablesLaw {
    TablesLaw(model: model, local: local, truth: truth, position: position, sends: sends)
  }

  /// While a client fetches and drains, it shows what it showed when it was up to date.
  package mutating func objection(to model: Model, at position: Int64) -> UserObjection? {
    let shown = TablesApp.checksum(of: model)
    guard position < 0 else {
      whole[shown] = true
      return nil
    }
    if model.state.isWhole ? whole.contains(shown) : model.state.rows.isEmpty { return nil }
    return UserObjection(
      .replica, "what was whole before is shown until all is fetched", TablesApp.describe(model))
  }

  package static func checksum(of state: TableState) -> UInt64 { TablesApp.checksum(of: state) }
}
