// What is being saved: the machine's writes, the outbox's, and the erasure at a log-out.

extension SyncClient {
  /// What is saved: the client as it is now. `nil` without a finger, for a model without one could not be
  /// followed on; but what the user changed is nowhere else, and is saved all the same.
  @inlinable
  public var saved: Saved? {
    guard canSave, case .model(let model) = _holding else { return nil }
    return Saved(
      model: model, finger: _machine.finger, terms: _machine.terms, outbox: _local?.outbox)
  }

  @inlinable
  var canSave: Bool {
    guard case .model = _holding else { return false }
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

  /// A save is over.
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

  /// After every input: the store is asked what is wanted of it, if it is free.
  @inlinable
  mutating func settleStorage(at now: Moment, _ effects: inout Effects) {
    if let write = effects.machine.persist { storage.want(write) }
    let canSave = canSave
    // There is nothing to write any more: the finger was dropped in the same step, or erased.
    if !canSave, let write = storage.takeVoidWrite() { tell(.written(write), at: now, &effects) }
    guard storage.out == nil else { return }
    var mark: Storage.Mark?
    if let outbox = _local?.outbox {
      mark = Storage.Mark(client: outbox.client, version: outbox.currentVersion)
    }
    storage.proceed(
      canSave: canSave, mark, in: _machine.life, reading: rowsWanted(), &effects.storage)
  }
}
