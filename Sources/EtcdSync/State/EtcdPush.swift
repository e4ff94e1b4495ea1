import SyncProtocols
import UpdateMachine

/// How a client's changes become one transaction.
///
/// What a server does elsewhere, the client does here: it runs the changes over the state that it
/// has, as of its finger, and writes what they did, with its own record. The cluster takes that
/// only if the record is the one that the client knows, and nothing that the changes have read was
/// modified since.
///
/// So each change takes effect once. Of two pushes with one mutation, whatever their order and
/// however late, the second finds another record. A push whose record or reads are others is
/// behind: the client polls, and its changes run anew over what is there.
///
/// A client's IDs need not follow without holes: whatever comes with a push was computed over the
/// record, and a record is replaced only once. After a cluster was restored from a backup, its
/// record may lag behind what the client has been told, and the client goes on.
struct EtcdPush {
  var transaction: EtcdTransaction
  /// The answer if the transaction succeeds.
  var answer: PushAnswer

  /// What to do about a push.
  enum Plan {
    /// Nothing: the state that the client has says it all.
    case answer(PushAnswer)
    case send(EtcdPush)
  }

  /// Runs the changes of a push over the confirmed state.
  static func plan<Change: EtcdMutation>(
    _ push: PushRequest<Change>, over view: EtcdView, at finger: EtcdFinger, prefix: [UInt8]
  ) throws(EtcdRecordError) -> Plan {
    var run = EtcdRun(view: view, record: try ClientRecord(view.record))
    if let refusal = run.record.refusal(after: push.knownRefusal, orIn: push.voided) {
      return .answer(.refused(refusal))
    }
    var voided = push.voided[...]
    var answer = PushAnswer.accepted
    for mutation in push.mutations {
      while let id = voided.first, id < mutation.id {
        voided.removeFirst()
        run.consume(id)
      }
      guard mutation.id > run.record.lastMutation else { continue }  // It was run before.
      if let refusal = run.perform(mutation.change, mutation.id) {
        answer = .refused(refusal)
        break
      }
    }
    guard run.hasRun else { return .answer(.accepted) }
    return .send(
      EtcdPush(
        transaction: run.transaction(of: push.client, at: finger, prefix: prefix), answer: answer))
  }

  /// Judges the record that the cluster has instead of the one that the client knows.
  static func answer<Change: EtcdMutation>(
    _ push: PushRequest<Change>, found record: EtcdEntry?
  ) throws(EtcdRecordError) -> PushAnswer {
    let record = try ClientRecord(record)
    if let refusal = record.refusal(after: push.knownRefusal, orIn: push.voided) {
      return .refused(refusal)
    }
    guard let last = push.mutations.last, record.lastMutation < last.id else { return .accepted }
    return .behind
  }
}

/// A run of changes, one after the other, over a state.
private struct EtcdRun {
  let base: EtcdView
  var view: EtcdView
  var record: ClientRecord
  var keys: Set<EtcdKey> = []
  var prefixes: Set<EtcdKey> = []
  var writes: Set<EtcdKey> = []
  var hasRun = false

  init(view: EtcdView, record: ClientRecord) {
    base = view
    self.view = view
    self.record = record
  }

  /// Refuses a mutation that its client has declared void.
  mutating func consume(_ id: MutationID) {
    guard id > record.lastMutation else { return }
    record.lastMutation = id
    record.refusal = MutationRefusal(id)
    hasRun = true
  }

  /// Runs a change. Returns why it is refused: what it has read counts all the same.
  mutating func perform<Change: EtcdMutation>(
    _ change: Change, _ id: MutationID
  ) -> MutationRefusal? {
    hasRun = true
    record.lastMutation = id
    var next = view
    let notes = EtcdNotes()
    next.notes = notes
    var refusal: MutationRefusal?
    do throws(ChangeRefusal) {
      _ = try change.apply(to: &next)
      next.notes = nil
      view = next
      writes.formUnion(notes.all.writes)
    } catch {
      refusal = MutationRefusal(id, error.code)
      record.refusal = refusal
    }
    keys.formUnion(notes.all.keys)
    prefixes.formUnion(notes.all.prefixes)
    return refusal
  }

  func transaction(of client: ClientID, at finger: EtcdFinger, prefix: [UInt8]) -> EtcdTransaction {
    let recordKey = prefix + EtcdKey.record(of: client).bytes
    var transaction = EtcdTransaction()
    transaction.comparisons = [.modified(recordKey, at: base.record?.revision ?? 0)]
    var read = keys
    for start in prefixes.sorted() {
      let span = EtcdSpan(prefix: prefix + start.bytes)
      // Nothing new, and nothing that was modified. What was deleted, the keys tell.
      transaction.comparisons.append(.unmodified(span, since: finger.revision + 1))
      for (key, _) in base.map.ascending(from: start) {
        guard key.bytes.starts(with: start.bytes) else { break }
        read.insert(key)
      }
    }
    for key in read.sorted() {
      let revision = base.map[key]?.revision ?? 0
      transaction.comparisons.append(.modified(prefix + key.bytes, at: revision))
    }
    for key in writes.sorted() {
      let whole = prefix + key.bytes
      transaction.success.append(view.map[key].map { .put(whole, $0.value) } ?? .delete(whole))
    }
    transaction.success.append(.put(recordKey, record.storedValue))
    // A cluster that has not come to the finger refuses this, and so the whole transaction.
    var mark = EtcdRangeRequest(EtcdSpan(key: recordKey), revision: finger.revision)
    mark.onlyCount = true
    transaction.success.append(.range(mark))
    transaction.failure = [.range(EtcdRangeRequest(EtcdSpan(key: recordKey)))]
    return transaction
  }
}
