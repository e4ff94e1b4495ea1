// An outbox as rows: one for each mutation, and one for all its numbers. The exchange with the
// server in this incarnation is not saved. Nor are the errors of replay, because a replay comes
// first.

extension StoredTable {
  /// Pending mutations, by their first ticket.
  static var pendingMutations: StoredTable { StoredTable(1) }
  /// Refused mutations, by their first ticket.
  static var refusedMutations: StoredTable { StoredTable(2) }
  /// One row: the outbox's numbers.
  static var outbox: StoredTable { StoredTable(3) }
}

extension Outbox where Change: Storable {
  /// Writes the rows that differ from `old`; all rows if `old` is `nil` or another client's outbox.
  /// O(n) for n mutations here, plus the rows written.
  package func store(since old: Outbox?, into rows: inout RowWriter) {
    let isSame = old?.client == client
    rows.put(.pendingMutations, queue, since: old?.queue ?? [], isSame: isSame)
    rows.put(.refusedMutations, refused, since: old?.refused ?? [], isSame: isSame)
    rows.put(unreadable, since: old?.unreadable ?? [])
    rows.put(.outbox, numbers, since: old?.numbers)
    history.store(since: old?.history, into: &rows)
  }

  /// Creates the outbox that was saved in these rows. Call ``Outbox/restored(in:)`` next. Changes
  /// that cannot be read are kept aside, one by one (``Outbox/unreadable``). Throws if anything
  /// else cannot be read.
  ///
  /// - Parameters:
  ///   - rows: what was saved.
  ///   - newer: the version of the app that wrote the rows, if it is newer than this one. Then no
  ///     change is read: this version might take one for less than it is.
  ///   - delivery: how this version of the app delivers; `nil`: as the version that saved it. A
  ///     change between the two ways that count no IDs is taken over: what is at the server without
  ///     an answer becomes *sent* or *uncertain*. Any other change is an error.
  ///   - settings: those of this version of the app.
  package init(
    stored rows: RowReader, newer: UInt64? = nil, delivery: MutationDelivery? = nil,
    settings: OutboxSettings = OutboxSettings()
  ) throws(StoredFormError) {
    let found: OutboxNumbers? = try rows.value(of: .outbox)
    guard let numbers = found else { throw StoredFormError(expected: "an outbox") }
    let delivery = delivery ?? numbers.delivery
    if delivery != numbers.delivery, delivery == .exactlyOnce || numbers.delivery == .exactlyOnce {
      throw StoredFormError(expected: "an outbox for a server that counts IDs as before")
    }
    self.init(client: numbers.client, delivery: delivery, settings: settings)
    queue = try rows.items(of: .pendingMutations, newer: newer, &unreadable)
    queue.sort { $0.rank < $1.rank }
    for index in queue.indices {
      switch queue[index].stage {
      case .sent(let id), .uncertain(let id):
        queue[index].stage = doubtfulStage(of: queue[index].change, id)
      case .unsent, .marked, .accepted: break
      }
    }
    refused = try rows.items(of: .refusedMutations, newer: newer, &unreadable)
    lastTicket = numbers.lastTicket
    lastID = numbers.lastID
    confirmed = numbers.confirmed
    knownRefusal = numbers.knownRefusal
    voided = numbers.voided
    forgotten = numbers.forgotten
    discards = numbers.discards.map { $0.tickets }
    overruled = numbers.overruled.map { $0.tickets }
    lastCreated = numbers.lastCreated
    version = numbers.version
    stored = version
    if newer == nil { history = UndoHistory(stored: rows, through: lastTicket) }
    unreadable.sort { $0.tickets.lowerBound < $1.tickets.lowerBound }
    for index in unreadable.indices {
      let id = unreadable[index].id ?? .none
      unreadable[index].mayBeVoid = id <= confirmed || voided.contains(id)
    }
    size = measuredSize
    // What was read stays as it is saved, so that the next step writes what moves.
    var placed = self
    placed.placeReadAgain()
    if let violation = placed.violation() { throw StoredFormError(expected: violation.rule) }
  }

  private var numbers: OutboxNumbers {
    OutboxNumbers(
      client: client, delivery: delivery, lastTicket: lastTicket, lastID: lastID,
      confirmed: confirmed, knownRefusal: knownRefusal, voided: voided, forgotten: forgotten,
      discards: discards.map { StoredTickets($0) }, version: version,
      overruled: overruled.map { StoredTickets($0) }, lastCreated: lastCreated)
  }
}

/// All that is saved of an outbox except its mutations.
private struct OutboxNumbers: Storable, Equatable {
  var client: ClientID
  var delivery: MutationDelivery
  var lastTicket: MutationTicket
  var lastID: MutationID
  var confirmed: MutationID
  var knownRefusal: MutationID
  var voided: [MutationID]
  var forgotten: MutationTicket
  var discards: [StoredTickets]
  var version: OutboxVersion
  var overruled: [StoredTickets]
  var lastCreated: Int64?
}

extension OutboxNumbers {
  func put(into bytes: inout ByteWriter) {
    bytes.put(client.number)
    delivery.put(into: &bytes)
    bytes.put(lastTicket.number)
    bytes.put(lastID)
    bytes.put(confirmed)
    bytes.put(knownRefusal)
    bytes.put(voided)
    bytes.put(forgotten.number)
    bytes.put(discards)
    bytes.put(version.number)
    if !overruled.isEmpty || lastCreated != nil { bytes.put(overruled) }
    if let lastCreated { bytes.put(lastCreated) }
  }

  init(from bytes: inout ByteReader) throws(StoredFormError) {
    client = ClientID(try bytes.takeUInt64())
    delivery = try MutationDelivery(from: &bytes)
    lastTicket = MutationTicket(try bytes.takeCounter())
    lastID = try bytes.take()
    confirmed = try bytes.take()
    knownRefusal = try bytes.take()
    voided = try bytes.takeArray()
    forgotten = MutationTicket(try bytes.takeCounter())
    discards = try bytes.takeArray()
    version = OutboxVersion(try bytes.takeCounter())
    overruled = bytes.left > 0 ? try bytes.takeArray() : []
    lastCreated = bytes.left > 0 ? try bytes.takeInt64() : nil
  }
}

/// A range of tickets.
private struct StoredTickets: Storable, Equatable {
  var tickets: ClosedRange<MutationTicket>

  init(_ tickets: ClosedRange<MutationTicket>) { self.tickets = tickets }

  func put(into bytes: inout ByteWriter) {
    bytes.put(tickets.lowerBound.number)
    bytes.put(tickets.upperBound.number)
  }

  init(from bytes: inout ByteReader) throws(StoredFormError) {
    let first = MutationTicket(try bytes.takeCounter())
    let last = MutationTicket(try bytes.takeCounter())
    guard first <= last else { throw StoredFormError(expected: "tickets in their order") }
    tickets = first...last
  }
}

extension MutationDelivery {
  fileprivate func put(into bytes: inout ByteWriter) {
    switch self {
    case .atMostOnce: bytes.put(UInt8(0))
    case .exactlyOnce: bytes.put(UInt8(1))
    case .atLeastOnce: bytes.put(UInt8(2))
    }
  }

  fileprivate init(from bytes: inout ByteReader) throws(StoredFormError) {
    switch try bytes.takeByte() {
    case 0: self = .atMostOnce
    case 1: self = .exactlyOnce
    case 2: self = .atLeastOnce
    default: throw StoredFormError(expected: "a way of delivery")
    }
  }
}

// MARK: Mutations as rows

/// A mutation that has a row of its own.
private protocol KeptMutation {
  associatedtype Change: Mutation & Storable
  /// How far it has got: what stands between its head and the change.
  associatedtype Place

  var tickets: TicketSet { get }

  func put(into bytes: inout ByteWriter)

  static func place(from bytes: inout ByteReader) throws(StoredFormError) -> Place

  init(_ head: MutationHead, _ place: Place, _ change: Change)

  /// Reads what stands behind the change. An older version of the library takes a change with
  /// something behind it for one that it cannot read, and keeps it.
  mutating func takeRest(from bytes: inout ByteReader) throws(StoredFormError)

  /// The ID that it has at the server, and whether the server has accepted it.
  static func standing(of place: Place) -> (id: MutationID?, isAccepted: Bool)

  /// Whether both have equal rows. Only for two of the same outbox.
  func isStoredAs(_ other: Self) -> Bool
}

extension RowWriter {
  /// Writes the mutations that came, went or changed.
  fileprivate mutating func put<Item: KeptMutation>(
    _ table: StoredTable, _ items: [Item], since old: [Item], isSame: Bool
  ) {
    if items.isEmpty, old.isEmpty { return }
    var before = old.inTicketOrder[...]
    for item in items.inTicketOrder {
      while let first = before.first, first.tickets.lowerBound < item.tickets.lowerBound {
        remove(table, first.tickets.lowerBound.number.keyBytes)
        before.removeFirst()
      }
      if let first = before.first, first.tickets.lowerBound == item.tickets.lowerBound {
        before.removeFirst()
        if isSame, item.isStoredAs(first) { continue }
      }
      var bytes = ByteWriter()
      item.put(into: &bytes)
      note(bytes.failure)
      put(table, item.tickets.lowerBound.number.keyBytes, bytes.bytes)
    }
    for item in before { remove(table, item.tickets.lowerBound.number.keyBytes) }
  }

  /// Writes the rows of what cannot be read, as they were found.
  fileprivate mutating func put(_ items: [UnreadableMutation], since old: [UnreadableMutation]) {
    for item in items where !old.contains(where: { $0.key == item.key && $0.row == item.row }) {
      put(item.key.table, item.key.bytes, item.row)
    }
    for item in old where !items.contains(where: { $0.key == item.key }) {
      remove(item.key.table, item.key.bytes)
    }
  }
}

extension Array where Element: KeptMutation {
  /// O(n), unless some of them have lost their places.
  fileprivate var inTicketOrder: [Element] {
    for index in indices.dropFirst()
    where self[index].tickets.lowerBound <= self[index - 1].tickets.lowerBound {
      return sorted { $0.tickets.lowerBound < $1.tickets.lowerBound }
    }
    return self
  }
}

/// What stands before a mutation in its row: one byte says which of these differ from the ordinary.
private struct MutationHead {
  var tickets: TicketSet
  var rank: UInt64
  var version: OutboxVersion
  var mayHaveCopy: Bool
  var takesBack: MutationTicket?
  /// The change's name, for a version of the app that cannot read the change; `nil`: written by a
  /// version of the library that kept none.
  var name: String?

  func put(into bytes: inout ByteWriter) {
    bytes.put(StoredTickets(tickets.first))
    bytes.put(version.number)
    let isMoved = rank != tickets.lowerBound.number
    let isScattered = !tickets.others.isEmpty
    let (copy, moved): (UInt8, UInt8) = (mayHaveCopy ? 1 : 0, isMoved ? 2 : 0)
    let (named, undo): (UInt8, UInt8) = (name == nil ? 0 : 8, takesBack == nil ? 0 : 16)
    bytes.put(copy | moved | (isScattered ? 4 : 0) | named | undo)
    if isMoved { bytes.put(rank) }
    if isScattered { bytes.put(tickets.others.map { StoredTickets($0) }) }
    if let name { bytes.put(name) }
    if let takesBack { bytes.put(takesBack.number) }
  }

  init(
    tickets: TicketSet, rank: UInt64, version: OutboxVersion, mayHaveCopy: Bool, name: String,
    takesBack: MutationTicket?
  ) {
    self.takesBack = takesBack
    self.tickets = tickets
    self.rank = rank
    self.version = version
    self.mayHaveCopy = mayHaveCopy
    self.name = name
  }

  init(from bytes: inout ByteReader) throws(StoredFormError) {
    let first: StoredTickets = try bytes.take()
    version = OutboxVersion(try bytes.takeCounter())
    let flags = try bytes.takeByte()
    guard flags < 32 else { throw StoredFormError(expected: "what is known of a mutation") }
    mayHaveCopy = flags & 1 != 0
    rank = flags & 2 != 0 ? try bytes.takeCounter() : first.tickets.lowerBound.number
    var others: [StoredTickets] = []
    if flags & 4 != 0 { others = try bytes.takeArray() }
    var last = first.tickets.upperBound
    for other in others {
      guard other.tickets.lowerBound.number > last.number + 1 else {
        throw StoredFormError(expected: "tickets in their order")
      }
      last = other.tickets.upperBound
    }
    tickets = TicketSet(first: first.tickets, others: others.map { $0.tickets })
    name = flags & 8 != 0 ? try bytes.takeString() : nil
    takesBack = flags & 16 != 0 ? MutationTicket(try bytes.takeCounter()) : nil
  }
}

extension RowReader {
  /// Reads the mutations of a table. A row whose change cannot be read is added to `unreadable`.
  fileprivate func items<Item: KeptMutation>(
    of table: StoredTable, newer: UInt64?, _ unreadable: inout [UnreadableMutation]
  ) throws(StoredFormError) -> [Item] {
    var items: [Item] = []
    for row in self[table] {
      var bytes = ByteReader(row.value)
      let head = try MutationHead(from: &bytes)
      guard head.tickets.lowerBound.number.keyBytes == row.key.bytes else {
        throw StoredFormError(expected: "a mutation in its own row")
      }
      let place = try Item.place(from: &bytes)
      let rest = bytes.rest
      do throws(StoredFormError) {
        if let newer { throw .newer(version: newer) }
        let change: Item.Change = try bytes.take()
        var item = Item(head, place, change)
        try item.takeRest(from: &bytes)
        try bytes.end()
        items.append(item)
      } catch {
        let standing = Item.standing(of: place)
        unreadable.append(
          UnreadableMutation(
            name: head.name, bytes: rest, reason: error, tickets: head.tickets, rank: head.rank,
            id: standing.id, isAccepted: standing.isAccepted, key: row.key, row: row.value))
      }
    }
    return items
  }
}

extension UnreadableMutation {
  /// The same under a new client name, where its own ID means nothing. Its row says so, too: a
  /// later version of the app that reads it must not take it for the mutation that has this ID by
  /// then. If it may have left, it is for the user to decide.
  func underNewName() -> UnreadableMutation {
    var reader = ByteReader(row)
    var row = ByteWriter()
    do throws(StoredFormError) {
      let head = try MutationHead(from: &reader)
      if key.table == .refusedMutations {
        let refusal: MutationRefusal = try reader.take()
        head.put(into: &row)
        row.put(MutationRefusal(.none, refusal.code))
      } else if id == nil, !head.mayHaveCopy {
        return self
      } else {
        var lost = head
        lost.mayHaveCopy = true
        lost.put(into: &row)
        row.put(MutationRefusal(.none, .nameLost))
      }
    } catch {
      return self  // It was read once, so this does not happen.
    }
    for byte in bytes { row.put(byte) }
    return UnreadableMutation(
      name: name, bytes: bytes, reason: reason, tickets: tickets, rank: rank, id: nil,
      isAccepted: false, key: StoredKey(.refusedMutations, key.bytes), row: row.bytes)
  }
}

extension PendingMutation: KeptMutation where Change: Storable {
  fileprivate func put(into bytes: inout ByteWriter) {
    MutationHead(
      tickets: tickets, rank: rank, version: version, mayHaveCopy: mayHaveCopy, name: change.name,
      takesBack: takesBack
    ).put(into: &bytes)
    switch stage {
    case .unsent: bytes.put(UInt8(0))
    case .marked(let id):
      bytes.put(UInt8(1))
      bytes.put(id)
    case .sent(let id):
      bytes.put(UInt8(2))
      bytes.put(id)
    case .accepted(let id, _):
      bytes.put(UInt8(3))
      bytes.put(id)
    case .uncertain(let id):
      bytes.put(UInt8(4))
      bytes.put(id)
    }
    bytes.put(change)
    if let keptCreated { bytes.put(keptCreated) }
    if let keptLeftAbove { bytes.put(keptLeftAbove) }
  }

  /// What is kept of ``created``.
  private var keptCreated: Int64? { isAccepted ? created : nil }

  /// What is kept of ``leftAbove``: as long as the mutation may be at the server.
  private var keptLeftAbove: Int64? { canBeThere ? leftAbove : nil }

  private var canBeThere: Bool {
    switch stage {
    case .unsent: mayHaveCopy
    case .marked, .uncertain: true
    case .sent, .accepted: false
    }
  }

  fileprivate mutating func takeRest(from bytes: inout ByteReader) throws(StoredFormError) {
    if isAccepted, bytes.left > 0 { created = try bytes.takeInt64() }
    if canBeThere, bytes.left > 0 { leftAbove = try bytes.takeInt64() }
  }

  fileprivate static func place(from bytes: inout ByteReader) throws(StoredFormError) -> Stage {
    switch try bytes.takeByte() {
    case 0: .unsent
    case 1: .marked(try bytes.take())
    case 2: .sent(try bytes.take())
    case 3: .accepted(try bytes.take(), at: .distantPast)
    case 4: .uncertain(try bytes.take())
    default: throw StoredFormError(expected: "a stage")
    }
  }

  fileprivate init(_ head: MutationHead, _ stage: Stage, _ change: Change) {
    self.init(
      tickets: head.tickets, rank: head.rank, change: change, stage: stage,
      mayHaveCopy: head.mayHaveCopy, takesBack: head.takesBack, version: head.version)
  }

  fileprivate static func standing(of stage: Stage) -> (id: MutationID?, isAccepted: Bool) {
    switch stage {
    case .unsent: (nil, false)
    case .marked(let id), .sent(let id), .uncertain(let id): (id, false)
    case .accepted(let id, _): (id, true)
    }
  }

  fileprivate func isStoredAs(_ other: PendingMutation) -> Bool {
    tickets == other.tickets && version == other.version && mayHaveCopy == other.mayHaveCopy
      && stage == other.stage && keptCreated == other.keptCreated
      && keptLeftAbove == other.keptLeftAbove && rank == other.rank && takesBack == other.takesBack
  }
}

extension RefusedMutation: KeptMutation where Change: Storable {
  fileprivate func put(into bytes: inout ByteWriter) {
    MutationHead(
      tickets: tickets, rank: rank, version: version, mayHaveCopy: mayHaveCopy, name: change.name,
      takesBack: takesBack
    ).put(into: &bytes)
    bytes.put(refusal)
    bytes.put(change)
  }

  fileprivate static func place(
    from bytes: inout ByteReader
  ) throws(StoredFormError) -> MutationRefusal { try bytes.take() }

  fileprivate mutating func takeRest(from bytes: inout ByteReader) {}

  fileprivate init(_ head: MutationHead, _ refusal: MutationRefusal, _ change: Change) {
    self.init(
      tickets: head.tickets, rank: head.rank, change: change, refusal: refusal,
      mayHaveCopy: head.mayHaveCopy, takesBack: head.takesBack, version: head.version)
  }

  /// Its ID is used up, or void already.
  fileprivate static func standing(of refusal: MutationRefusal) -> (
    id: MutationID?, isAccepted: Bool
  ) { (nil, false) }

  fileprivate func isStoredAs(_ other: RefusedMutation) -> Bool {
    tickets == other.tickets && version == other.version && refusal == other.refusal
      && mayHaveCopy == other.mayHaveCopy && takesBack == other.takesBack
  }
}

// MARK: Numbers

extension ByteReader {
  /// Reads a counter. Above 2⁶² it is an error: nothing counts that far, and counting on must not
  /// overflow.
  fileprivate mutating func takeCounter() throws(StoredFormError) -> UInt64 {
    let number = try takeUInt64()
    guard number <= 1 << 62 else { throw StoredFormError(expected: "a number to count from") }
    return number
  }
}

extension MutationID: Storable {
  public func put(into bytes: inout ByteWriter) { bytes.put(number) }

  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    self.init(try bytes.takeCounter())
  }
}

extension MutationRefusal: Storable {
  public func put(into bytes: inout ByteWriter) {
    bytes.put(id)
    bytes.put(code.text)
  }

  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    self.init(try bytes.take(), RejectionCode(try bytes.takeString()))
  }
}
