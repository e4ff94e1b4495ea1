// Packs a client into few bits, for the explorer, which visits millions of them: its machine,
// whether it holds a model, and what its store is doing. The caller packs model, outbox and
// windows.

extension SyncClient {
  /// Whether it starts as soon as the saved form has been read.
  package var isStartPending: Bool { startsWhenLoaded }

  /// Packs everything except model, finger, outbox and windows into `bits`, relative to `now`.
  package func pack(into bits: inout Bits, at now: Moment, _ packing: Machine<Place>.Packing) {
    bits.put(isLoaded)
    bits.put(startsWhenLoaded)
    _machine.pack(into: &bits, at: now, packing)
    storage.pack(into: &bits)
  }

  /// Restores a packed client, relative to the moment 0.
  package init(
    unpacking bits: inout Bits, model: Model?, finger: Place?, incarnation: Incarnation,
    settings: ClientSettings, _ packing: Machine<Place>.Packing
  ) {
    self.init(incarnation: incarnation, settings: settings)
    let isLoaded = bits.takeFlag()
    startsWhenLoaded = bits.takeFlag()
    _machine = Machine(unpacking: &bits, finger: finger, incarnation: incarnation, packing)
    _holding = isLoaded ? model.map { .model($0) } ?? .nothing : .unknown
    storage.unpack(from: &bits)
  }

  /// Packs the user's changes, and what is being saved of them, into `bits`, relative to `now`. For
  /// the outbox of a small world (``Outbox/packSaved(into:tickets:)``); ``pack(into:at:_:)`` packs
  /// the rest.
  ///
  /// - Parameters:
  ///   - bits: where to put it.
  ///   - now: the present moment.
  ///   - tickets: how many mutations there may be.
  package func packOutbox(into bits: inout Bits, at now: Moment, tickets: UInt64) {
    var ranks = _local?.outbox.versionRanks ?? OutboxVersionRanks(base: OutboxVersion(0))
    storage.noteVersions(in: &ranks)
    storage.packOutbox(into: &bits, at: now, ranks)
    bits.put(_local != nil)
    _local?.outbox.pack(into: &bits, at: now, tickets: tickets, ranks)
  }

  /// The inverse of ``packOutbox(into:at:tickets:)``, over the unpacked model. `change`: returns
  /// the change of a ticket.
  package mutating func unpackOutbox(
    from bits: inout Bits, tickets: UInt64, change: (MutationTicket) -> Change
  ) {
    storage.unpackOutbox(from: &bits, of: model?.client)
    guard bits.takeFlag(), let model, let client = model.client else { return }
    let outbox = Outbox<Change>(
      unpacking: &bits, of: client, incarnation: _machine.incarnation, tickets: tickets,
      settings: Model.outboxSettings, change: change)
    _local = LocalChanges(outbox, over: model.state)
  }
}
