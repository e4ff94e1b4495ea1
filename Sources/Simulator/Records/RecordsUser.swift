package import SyncProtocols
package import UpdateMachine

/// What a user has done to records, in ticket order.
package struct RecordsBook: OutboxBook {
  package var client: ClientID?
  private(set) var made: [Made] = []
  /// Values that may be written any number of times, because an older outbox came back, or the user
  /// tried a change again that may have been made.
  private(set) var doubtful: [JSONValue] = []

  struct Made: Sendable {
    var ticket: MutationTicket
    var change: RecordChange
    var isDiscarded = false
  }

  package init(of client: ClientID? = nil) { self.client = client }

  /// The order of changes of different records means nothing here.
  package mutating func noteMove(of ticket: MutationTicket) {}

  mutating func note(_ ticket: MutationTicket, _ change: RecordChange) {
    made.append(Made(ticket: ticket, change: change))
  }

  /// What was coalesced is edited as one.
  mutating func edit(_ tickets: TicketSet, to change: RecordChange) {
    discard(tickets)
    note(tickets.upperBound, change)
  }

  mutating func discard(_ tickets: TicketSet) {
    for index in made.indices where tickets.contains(made[index].ticket) {
      made[index].isDiscarded = true
    }
  }

  mutating func doubt(_ tickets: TicketSet) {
    for made in made where tickets.contains(made.ticket) { doubtful += made.change.values }
  }

  /// The record after an older outbox came back in place of a newer one.
  func cameBack(inPlaceOf newer: RecordsBook) -> RecordsBook {
    var book = self
    for made in made + newer.made { book.doubtful += made.change.values }
    return book
  }

  /// Whether the user has given up the creation of a record.
  func hasGivenUpCreation(of key: RecordKey) -> Bool {
    made.contains {
      guard $0.change.key == key, case .create = $0.change.action else { return false }
      return $0.isDiscarded
    }
  }

  /// Whether the user has deleted a record, perhaps by trying an earlier deletion again.
  func hasDeleted(_ key: RecordKey) -> Bool {
    made.contains { $0.change.key == key && $0.change.action == .delete && !$0.isDiscarded }
  }

  /// Whether a later change of the same record has taken its place.
  func isReplaced(_ made: Made, _ column: String) -> Bool {
    self.made.contains { later in
      guard later.ticket > made.ticket, later.change.key == made.change.key else { return false }
      guard let columns = later.change.written else { return true }
      return columns[column] != nil
    }
  }
}

extension RecordChange {
  /// The columns that it writes; `nil`: it deletes.
  var written: JSONObject? {
    switch action {
    case .create(let columns), .replace(let columns), .update(let columns): columns
    case .delete: nil
    }
  }

  var values: [JSONValue] { written?.members.map { $0.value } ?? [] }
}

extension RecordChange: CustomStringConvertible {
  /// "update items/7 {"a":"3/1"}".
  package var description: String {
    "\(name) \(key)" + (written.map { " \(JSONValue.object($0))" } ?? "")
  }
}

/// A user who creates, changes and deletes records, and reconsiders some.
package struct RecordsUser: OutboxUser {
  package typealias Model = RecordModel
  package typealias Truth = RecordsTruth
  package typealias Sync = RecordSync

  package var memory = RecordsBook()
  package var check = OutboxCheck<RecordChange>()
  private var valueCount: Int64 = 0
  /// How often each value was sent, in any process.
  private(set) var sends = VersionedMap<String, Int>()

  package init() {}

  package mutating func begin() { check.begin() }

  package func memory(of saved: Saved, _ old: RecordsBook) -> RecordsBook {
    guard let outbox = saved.outbox else { return old }
    return old.record(of: outbox.client).cameBack(inPlaceOf: memory)
  }

  package mutating func took(
    _ input: Body.Input?, _ effects: Body.Effects, _ client: Body, reading rows: ReadRows,
    at now: Moment
  ) {
    noteInput(effects, client)
    for item in effects.outbox.push?.mutations ?? [] {
      for value in item.change.values { sends["\(value)"] = (sends["\(value)"] ?? 0) + 1 }
    }
  }

  // MARK: What the user does

  package mutating func act(
    _ client: Body, _ truth: Truth, _ choices: inout Choices
  ) -> [Action] {
    guard let local = client.local else { return [] }
    let outbox = local.outbox
    if let first = outbox.setAside.first, choices.happens(.users, 1, in: 2) {
      return reconsider(first.ticket, outbox, local.view.state, &choices)
    }
    if !outbox.pending.isEmpty, choices.happens(.users, 1, in: 8) {
      let index = Int(choices.draw(.users, below: UInt64(outbox.pending.count)))
      return reconsider(outbox.pending[index].ticket, outbox, local.view.state, &choices)
    }
    var actions: [Action] = []
    for count in 0...Int(choices.draw(.users, below: 3)) {
      guard outbox.count + count < RecordsUser.pendingMaximum else { break }
      actions.append(.mutates(newChange(local, &choices)))
    }
    return actions
  }

  private mutating func newChange(
    _ local: LocalChanges<RecordChange>, _ choices: inout Choices
  ) -> RecordChange {
    let keys = local.view.state.records.map { $0.key }
    let kind = choices.draw(.users, below: 6)
    let name = newName(choices)
    let value = JSONValue.string(name)
    guard !keys.isEmpty, kind > 0 else {
      return RecordChange(.create(.one("a", value)), RecordKey("items", name))
    }
    let key = keys[Int(choices.draw(.users, below: UInt64(keys.count)))]
    if kind == 1 { return RecordChange(.delete, key) }
    return RecordChange(.update(.one(choices.pick(.users, RecordsApp.columns), value)), key)
  }

  /// A text that nobody else writes: a client has no name before its first snapshot.
  private mutating func newName(_ choices: Choices) -> String {
    valueCount += 1
    return "\(choices.record.count)-\(valueCount)"
  }

  private mutating func reconsider(
    _ ticket: MutationTicket, _ outbox: Outbox<RecordChange>, _ state: RecordState,
    _ choices: inout Choices
  ) -> [Action] {
    switch choices.draw(.users, below: 3) {
    case 0: return outbox.canDiscard(ticket) ? [.decides(.discarded(ticket))] : []
    case 1:
      guard let old = outbox.mutation(of: ticket)?.change, outbox.canEdit(ticket),
        let column = old.written?.members.first
      else { return [] }
      var change = old
      let value = JSONValue.string(newName(choices))
      if case .create = old.action {
        change.action = .create(.one(column.name, value))
      } else {
        change.action = .update(.one(column.name, value))
      }
      return [.decides(.edited(ticket, change))]
    default: return [.decides(.retried(ticket))]
    }
  }

  package mutating func tidy(_ client: Body) -> [Action] {
    guard let outbox = client.local?.outbox else { return [] }
    let first = outbox.setAside.first { outbox.canDiscard($0.ticket) }
    return wake(client) + (first.map { [.decides(.discarded($0.ticket))] } ?? [])
  }

  package mutating func acted(
    _ action: Action, from before: Body, to after: Body, at now: Moment
  ) {
    guard let old = before.local, let new = after.local?.outbox else { return }
    switch action {
    case .mutates(let change):
      guard new.newestTicket > old.outbox.newestTicket else {
        // The record may have gone since the user looked: an earlier change of the same moment.
        guard old.view.state.records.contains(change.key) else { return }
        check.lie = UserObjection(.input, "\(change) can be made", "it cannot: \(old.outbox)")
        return
      }
      memory.note(new.newestTicket, change)
    case .decides(.edited(let ticket, let change)):
      guard old.outbox.canEdit(ticket), let former = old.outbox.mutation(of: ticket) else { return }
      memory.edit(former.tickets, to: change)
    case .decides(.discarded(let ticket)):
      guard old.outbox.canDiscard(ticket), let former = old.outbox.mutation(of: ticket)
      else { return }
      memory.discard(former.tickets)
    case .decides(.retried(let ticket)):
      guard old.outbox.canRetry(ticket), let former = old.outbox.mutation(of: ticket)
      else { return }
      memory.doubt(former.tickets)
    case .opens, .changes, .changesLists, .signals: break
    }
  }

  // MARK: Obligations

  package mutating func objection(
    to client: Body, _ truth: Truth, at position: Int64, _ history: [Truth], disk: Saved?,
    reading rows: ReadRows
  ) -> UserObjection? {
    guard let model = client.model, let local = client.local else { return check.lie }
    if let objection = check.objection(to: local.outbox, disk: disk?.outbox) { return objection }
    let confirmed = RecordsApp.checksum(of: model)
    guard check.isNews(local, confirmed: confirmed, truth: truth.checksum) else { return nil }
    return RecordsOracle.objection(to: model, local, memory, truth)
      ?? RecordsOracle.objectionToServer(memory, truth, sends)
  }

  package func fold(_ client: Body, into digest: inout StateDigest) {
    guard let local = client.local else { return }
    digest.fold(RecordsTruth.checksum(local.view.state.records, { $0.columns }))
    digest.fold(local.outbox.currentVersion.number)
  }
}
