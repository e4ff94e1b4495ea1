package import SyncProtocols
package import UpdateMachine

/// A user of the ledger: makes changes online and offline, edits or discards some, and decides
/// about those that are set aside.
package struct LedgerUser: ReconsideringUser {
  package typealias Model = LedgerApp.Model
  package typealias Truth = LedgerApp.Truth
  package typealias Sync = LedgerApp.Server.Sync

  package var memory = ChangeBook<LedgerChange>()
  package var check = OutboxCheck<LedgerChange>()

  private var entryCount: Int64 = 0
  /// The newest commit seen in this process.
  private var seen: (client: ClientID, commit: CommitNumber)?

  package init() {}

  package mutating func begin() {
    check.begin()
    seen = nil
  }

  // MARK: What the user does

  package mutating func newChange(
    _ local: LocalChanges<LedgerChange>, _ choices: inout Choices
  ) -> LedgerChange { newChange(by: owner(local), &choices) }

  package mutating func newChange(
    inPlaceOf old: LedgerChange, _ local: LocalChanges<LedgerChange>, _ choices: inout Choices
  ) -> LedgerChange? { newChange(by: owner(local), &choices) }

  /// Whose list a change goes into: the client's first name. So the list goes on under a new name.
  private func owner(_ local: LocalChanges<LedgerChange>) -> ClientID {
    memory.names.first ?? local.outbox.client
  }

  private mutating func newChange(
    by client: ClientID, _ choices: inout Choices
  ) -> LedgerChange {
    entryCount += 1
    let number = choices.draw(.users, in: 0...2)
    switch choices.draw(.users, below: 4) {
    case 0: return LedgerChange(by: client, entryCount, .add(1, to: number))
    case 1: return LedgerChange(by: client, entryCount, .reserve(hour: number))
    case 2:
      let amount = choices.draw(.users, in: 1...6)
      let target = (number + 1) % LedgerApp.accounts
      return LedgerChange(by: client, entryCount, .transfer(amount, from: number, to: target))
    default:
      let isUnlucky = choices.happens(.users, 1, in: 4)
      return LedgerChange(
        by: client, entryCount, .add(isUnlucky ? LedgerMutators.unlucky : 100, to: number))
    }
  }

  /// What the server may have under a name that it has forgotten may be made twice.
  package mutating func noteRetried(_ ticket: MutationTicket, in outbox: Outbox<LedgerChange>) {
    guard let item = outbox.setAside.first(where: { $0.ticket == ticket }),
      case .refused(.nameLost) = item.reason, let tickets = outbox.mutation(of: ticket)?.tickets
    else { return }
    memory.doubt(tickets)
  }

  // MARK: What the user is owed

  package func law(
    _ model: Model, _ local: LocalChanges<LedgerChange>, _ truth: Truth, at position: Int64
  ) -> LedgerLaw { LedgerLaw(owner: owner(local), model: model, local: local, truth: truth) }

  /// What a client has seen never goes back, not even when the server gives it another name.
  package mutating func objection(to model: Model, at position: Int64) -> UserObjection? {
    let finger = model.model.finger
    guard let commit = finger.commit else { return nil }
    defer { seen = (finger.client, commit) }
    guard let seen, commit < seen.commit,
      seen.client == finger.client
        || check.renamings.contains(Renaming(from: seen.client, to: finger.client))
    else { return nil }
    return UserObjection(
      .causality, "a state at or after commit \(seen.commit.number)", "\(finger)")
  }

  /// The view's own checksum is judged when it comes: the client computes it from the entries.
  package static func checksum(of state: ViewMap<JSONValue>) -> UInt64 { state.checksum }

  /// The entries and the last answer are the protocol of what was done, not what is seen.
  ///
  /// A counter of 0 looks like one that does not exist. Story (seed 732 of client-view): an old
  /// backup brings back an addition, but the server has run another change under its ID. So the
  /// counter does not exist. The user undoes the addition and redoes it, which leaves a counter of
  /// 0.
  package static func checksumOfWhatIsSeen(_ state: ViewMap<JSONValue>) -> UInt64 {
    var digest = StateDigest()
    for (key, value) in state.map
    where !key.text.hasPrefix("list/") && !key.text.hasPrefix("status/") && value != 0 {
      digest.fold(key.text)
      value.fold(into: &digest)
    }
    return digest.value
  }

  package static func versions(
    _ model: Model, _ truth: Truth
  ) -> (confirmed: UInt64, truth: UInt64) { (model.state.checksum, truth.view.checksum) }
}
