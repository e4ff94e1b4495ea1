// A client in few bits, for whoever visits millions of them: its machine, whether it holds a model, and what
// its store is doing. Model, outbox and windows are packed by whoever knows what they are.

extension SyncClient {
  /// Whether it will start as soon as the saved form was read.
  public var isStartPending: Bool { startsWhenLoaded }

  /// Puts all of it but model, finger, outbox and windows into `bits`, as seen from `now`.
  public func pack(into bits: inout Bits, at now: Moment, _ packing: Machine<Place>.Packing) {
    bits.put(isLoaded)
    bits.put(startsWhenLoaded)
    _machine.pack(into: &bits, at: now, packing)
    storage.pack(into: &bits)
  }

  /// The client that was packed, as seen from the moment 0.
  public init(
    unpacking bits: inout Bits, model: Model?, finger: Place?, life: Life,
    settings: ClientSettings, _ packing: Machine<Place>.Packing
  ) {
    self.init(life: life, settings: settings)
    let isLoaded = bits.takeFlag()
    startsWhenLoaded = bits.takeFlag()
    _machine = Machine(unpacking: &bits, finger: finger, life: life, packing)
    _holding = isLoaded ? model.map { .model($0) } ?? .nothing : .unknown
    storage.unpack(from: &bits)
  }

  /// Puts what the user changed, and what is being saved of it, into `bits`, as seen from `now`. For a small
  /// world's outbox (``Outbox/packSaved(into:tickets:)``); ``pack(into:at:_:)`` packs the rest.
  ///
  /// - Parameters:
  ///   - bits: where to put it.
  ///   - now: the present moment.
  ///   - tickets: how many mutations there may be.
  public func packOutbox(into bits: inout Bits, at now: Moment, tickets: UInt64) {
    var ranks = _local?.outbox.versionRanks ?? OutboxVersionRanks(base: OutboxVersion(0))
    storage.noteVersions(in: &ranks)
    storage.packOutbox(into: &bits, at: now, ranks)
    bits.put(_local != nil)
    _local?.outbox.pack(into: &bits, at: now, tickets: tickets, ranks)
  }

  /// ``packOutbox(into:at:tickets:)`` undone, over the model that it was unpacked with. `change`: the change
  /// of a ticket.
  public mutating func unpackOutbox(
    from bits: inout Bits, tickets: UInt64, change: (MutationTicket) -> Change
  ) {
    storage.unpackOutbox(from: &bits, of: model?.client)
    guard bits.takeFlag(), let model, let client = model.client else { return }
    let outbox = Outbox<Change>(
      unpacking: &bits, of: client, life: _machine.life, tickets: tickets,
      settings: Model.outboxSettings, change: change)
    _local = LocalChanges(outbox, over: model.state)
  }
}
