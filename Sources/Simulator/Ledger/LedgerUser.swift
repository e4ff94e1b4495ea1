public import SyncProtocols
public import UpdateMachine

/// A user of the ledger, with what sends his changes: he makes them online and offline, changes his
/// mind about some, and says what shall become of those that are set aside.
public struct LedgerUser: OutboxWriter {
  public typealias Model = Ledger.Model
  public typealias Truth = Ledger.Truth
  public typealias Sync = Ledger.Server.Sync
  public typealias Body = Replica<Model, Sync>
  public typealias Saved = SavedReplica<Model, Sync.Place>
  public typealias Effects = WriterEffects<Body.Input>

  public var memory = LedgerBook()
  public var courier = Courier<Model, Sync>()

  private var entryCount: Int64 = 0
  /// The newest commit that was seen in this process.
  private var seen: (client: ClientID, commit: CommitNumber)?

  public init() {}

  public mutating func begin() {
    courier.begin()
    seen = nil
  }

  public func memory(of saved: Saved, _ old: LedgerBook) -> LedgerBook {
    let outbox = saved.model.local.outbox
    // The first form of an outbox is taken before its user has a book.
    let book = old.client == outbox.client ? old : LedgerBook(of: outbox.client)
    return book.cameBack(
      inPlaceOf: memory, outbox, sentThrough: courier.newestID(of: outbox.client))
  }

  // MARK: The user

  public mutating func act(
    _ replica: inout Body, at now: Moment, _ choices: inout Choices
  ) -> Effects {
    var wanted = Effects()
    guard let outbox = replica.model?.local.outbox else { return wanted }
    let aside = outbox.setAside
    if !aside.isEmpty, choices.happens(.users, 1, in: 2) {
      let ticket = aside[Int(choices.draw(.users, below: UInt64(aside.count)))].ticket
      reconsider(ticket, of: &replica, at: now, &choices, &wanted)
      return wanted
    }
    if !outbox.pending.isEmpty, choices.happens(.users, 1, in: 8) {
      let index = Int(choices.draw(.users, below: UInt64(outbox.pending.count)))
      reconsider(outbox.pending[index].ticket, of: &replica, at: now, &choices, &wanted)
      return wanted
    }
    for _ in 0...choices.draw(.users, below: 3) {
      guard replica.model.map({ $0.local.outbox.count < LedgerUser.pendingMaximum }) ?? false else {
        break
      }
      let change = newChange(by: outbox.client, &choices)
      mutate(change, &replica, at: now, &wanted)
    }
    return wanted
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
      let target = (number + 1) % Ledger.accounts
      return LedgerChange(by: client, entryCount, .transfer(amount, from: number, to: target))
    default:
      let isUnlucky = choices.happens(.users, 1, in: 4)
      return LedgerChange(
        by: client, entryCount, .add(isUnlucky ? LedgerMutators.unlucky : 100, to: number))
    }
  }

  private mutating func mutate(
    _ change: LedgerChange, _ replica: inout Body, at now: Moment, _ wanted: inout Effects
  ) {
    guard let before = replica.model?.local else { return }
    let last = before.outbox.pending.last
    let confirmed = replica.model?.confirmed.model.finger.lastMutation ?? .none
    do throws(MutationError<MutatorRefusal>) {
      let mutated = try replica.mutate(change, at: now)
      courier.perform(mutated.effects, &wanted)
      guard let outbox = replica.model?.local.outbox else { return }
      let isOne = outbox.pending.last.map { $0.tickets.lowerBound < $0.ticket } ?? false
      if isOne, let last, last.stage == .unsent, last.change.coalesced(with: change) != nil {
        memory.merge(mutated.ticket, change.entries, confirmed: confirmed)
      } else {
        memory.note(mutated.ticket, change.entries, confirmed: confirmed)
      }
    } catch {
      var state = before.view.state
      if case .refused = error, (try? change.apply(to: &state)) == nil { return }
      courier.lie = WriterObjection(.input, "\(change) can be made", "it cannot: \(before.outbox)")
    }
  }

  /// He has another word on one that he has made.
  private mutating func reconsider(
    _ ticket: MutationTicket, of replica: inout Body, at now: Moment, _ choices: inout Choices,
    _ wanted: inout Effects
  ) {
    guard let outbox = replica.model?.local.outbox else { return }
    switch choices.draw(.users, below: 3) {
    case 0: discard(ticket, of: &replica, at: now, &wanted)
    case 1:
      let change = newChange(by: outbox.client, &choices)
      guard outbox.canEdit(ticket) else { return }
      memory.replace(ticket, by: change.entries)
      courier.say(.edited(ticket, change), to: &replica, at: now, &wanted)
    default: courier.say(.retried(ticket), to: &replica, at: now, &wanted)
    }
  }

  private mutating func discard(
    _ ticket: MutationTicket, of replica: inout Body, at now: Moment, _ wanted: inout Effects
  ) {
    guard replica.model?.local.outbox.canDiscard(ticket) == true else { return }
    memory.remove(
      ticket, isCertain: replica.model?.local.outbox.mayHaveCopy(of: ticket) != true)
    courier.say(.discarded(ticket), to: &replica, at: now, &wanted)
  }

  public mutating func tidy(_ replica: inout Body, at now: Moment) -> Effects {
    var wanted = Effects()
    guard let outbox = replica.model?.local.outbox else { return wanted }
    wake(&replica, at: now, &wanted)
    if let first = outbox.setAside.first(where: { outbox.canDiscard($0.ticket) }) {
      discard(first.ticket, of: &replica, at: now, &wanted)
    }
    return wanted
  }

  // MARK: Pushes

  public func request(_ push: UInt64) -> PushRequest { PushRequest(courier.push(push)) }

  // MARK: Judgement

  public mutating func objection(
    to replica: Body, _ truth: Truth, disk: Saved?
  ) -> WriterObjection? {
    guard let model = replica.model else { return courier.lie }
    if let objection = objectionToTime(model) { return objection }
    let outbox = model.local.outbox
    if let objection = courier.objection(to: outbox, disk: disk?.model.local.outbox) {
      return objection
    }
    let confirmed = model.confirmed.state.checksum
    guard courier.isNews(model, confirmed: confirmed, truth: truth.view.checksum) else {
      return nil
    }
    return LedgerOracle.objection(to: model, memory, truth)
  }

  /// What a client has seen never goes back.
  private mutating func objectionToTime(_ model: Model) -> WriterObjection? {
    let finger = model.confirmed.model.finger
    guard let commit = finger.commit else { return nil }
    defer { seen = (finger.client, commit) }
    guard let seen, seen.client == finger.client, commit < seen.commit else { return nil }
    return WriterObjection(
      .causality, "a state at or after commit \(seen.commit.number)", "\(finger)")
  }

  public func fold(_ replica: Body, into digest: inout Digest) {
    guard let local = replica.model?.local else { return }
    digest.fold(local.view.state.checksum)
    digest.fold(local.outbox.currentVersion.number)
  }
}
