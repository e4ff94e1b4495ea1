// Saving: the machine's writes, the outbox's, and the erase at a log-out.

extension SyncClient {
  /// The client as it is now, to be saved. A model without a finger could not be followed on, so
  /// this is `nil` without one. An outbox is saved even then, because the user's changes exist
  /// nowhere else: with the last model, or with what the client began with.
  @inlinable
  public var saved: SavedReplica<Model, Sync.Place>? {
    guard canSave, let model = model ?? beginning else { return nil }
    return Saved(
      model: model, finger: _machine.finger, terms: _machine.terms, outbox: _local?.outbox,
      upToDateAge: freshness(at: settledAt).upToDateAsOf.map { settledAt - $0 },
      isBeginning: beginning != nil)
  }

  @inlinable
  var canSave: Bool {
    guard model != nil || beginning != nil else { return false }
    return finger != nil || _local != nil
  }

  @inlinable
  mutating func saveRequested(_ effects: inout Effects) {
    if let outbox = _local?.outbox { storage.want(outbox.currentVersion, &effects.storage) }
  }

  @inlinable
  mutating func erased(succeeded: Bool, _ effects: inout Effects) {
    guard storage.wasErased() else { return }
    if !succeeded { effects.storage.report = true }
  }

  /// Takes the end of a save.
  @inlinable
  mutating func saveEnded(
    _ write: WriteID, succeeded: Bool, at now: Moment, _ effects: inout Effects
  ) {
    let client = _local?.outbox.client
    guard
      let save = storage.saved(
        write, succeeded: succeeded, client, at: now, &effects.storage)
    else { return }
    if succeeded, let mark = save.outbox, mark.client == client {
      tellOutbox(.stored(upTo: mark.version), at: now, &effects)
    }
    if let write = save.machineWrite {
      tell(succeeded ? .written(write) : .writeFailed(write), at: now, &effects)
    }
  }

  /// Runs after every input. Asks the store for what is wanted, if it is free.
  @inlinable
  mutating func settleStorage(at now: Moment, _ effects: inout Effects) {
    if let write = effects.machine.persist { storage.want(write) }
    let canSave = canSave
    // Nothing is left to write: the finger was dropped in the same step, or erased.
    if !canSave, let write = storage.takeVoidWrite() { tell(.written(write), at: now, &effects) }
    guard storage.out == nil else { return }
    var mark: Storage.Mark?
    if let outbox = _local?.outbox {
      mark = Storage.Mark(client: outbox.client, version: outbox.currentVersion)
    }
    storage.proceed(
      canSave: canSave, mark, in: _machine.incarnation, reading: rowsWanted(), &effects.storage)
  }
}
