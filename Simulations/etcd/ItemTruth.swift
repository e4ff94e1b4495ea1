package import EtcdSync
internal import SyncProtocols
internal import UpdateMachine

/// The keys of the world `etcd`, as they must be: in rows, with the revision of each. Changes run
/// here once, one after the other, over what is there. It uses neither the cluster nor the models.
package struct ItemTruth: ServerTruth, CustomStringConvertible {
  package typealias Event = EtcdEvent
  package typealias Snapshot = EtcdSnapshot
  /// Writes by others, in one transaction; `nil` deletes.
  package typealias Change = [Write]

  package struct Write: Sendable {
    package var key: String
    package var value: String?
  }

  struct Row: Sendable {
    var key: String
    var value: String
    var revision: Int64
  }

  /// Ascending by key.
  private(set) var rows: [Row] = []
  /// The newest revision of the cluster.
  private(set) var revision: Int64 = 1
  /// How far each client's changes are done.
  private var done: [(client: ClientID, last: MutationID)] = []
  /// The entries of all changes that were made, in that order.
  private var made: [(client: ClientID, entry: Int64)] = []
  /// The first thing that the cluster did wrongly.
  private(set) var wrong: String?

  package init() {}

  subscript(key: String) -> String? { rows.first { $0.key == key }?.value }

  func last(of client: ClientID) -> MutationID {
    done.first { $0.client == client }?.last ?? MutationID(0)
  }

  /// The entries of a client's changes, in the order in which they were made.
  func entries(of client: ClientID) -> [Int64] {
    made.filter { $0.client == client }.map(\.entry)
  }

  mutating func noteWrong(_ words: String) { wrong = wrong ?? words }

  /// Something has changed that is none of these keys.
  mutating func noteOthers() { revision += 1 }

  // MARK: Changes

  package mutating func apply(_ change: [Write]) {
    revision += 1
    for write in change { set(write.key, write.value) }
  }

  private mutating func set(_ key: String, _ value: String?) {
    let place = rows.firstIndex { $0.key >= key } ?? rows.count
    let isThere = place < rows.count && rows[place].key == key
    switch (value, isThere) {
    case (let value?, true): rows[place] = Row(key: key, value: value, revision: revision)
    case (let value?, false):
      rows.insert(Row(key: key, value: value, revision: revision), at: place)
    case (nil, true): rows.remove(at: place)
    case (nil, false): break
    }
  }

  /// Makes the changes of a push that the cluster has taken, each once. All of them are possible,
  /// because nothing that they have read has changed since their client ran them.
  mutating func make(_ push: PushRequest<ItemChange>, answer: PushAnswer) {
    revision += 1
    var last = last(of: push.client)
    var isNews = push.voided.contains { $0 > last }
    for item in push.mutations where item.id > last {
      isNews = true
      last = item.id
      if let refusal = make(item.change) {
        if answer != .refused(MutationRefusal(item.id, refusal.code)) {
          noteWrong("\(item.change) is possible when it is taken: \(refusal)")
        }
        break
      }
    }
    if !isNews { noteWrong("a push is taken once: \(push)") }
    last = max(last, push.voided.last ?? last)
    done.removeAll { $0.client == push.client }
    done.append((push.client, last))
  }

  /// Makes a change, or says why it cannot be made.
  private mutating func make(_ change: ItemChange) -> ChangeRefusal? {
    switch change.deed {
    case .write(let number, let text):
      set(ItemChange.item(number), text)
      set("\(ItemChange.marks(of: change.client))\(change.entry)", "")
      made.append((change.client, change.entry))
      return nil
    case .put(let number, let text): set(ItemChange.item(number), text)
    case .add(let amount, let number):
      let key = ItemChange.number(number)
      set(key, "\((self[key].flatMap { Int64($0) } ?? 0) + amount)")
    case .take(let number):
      let taken = rows.filter { $0.key.hasPrefix(ItemChange.seats) }
      let key = ItemChange.seat(number)
      if taken.contains(where: { $0.key == key }) { return ChangeRefusal("TAKEN") }
      if taken.count >= ItemChange.seatMaximum { return ChangeRefusal("FULL") }
      set(key, "\(change.client.number)")
    case .leave(let number):
      let key = ItemChange.seat(number)
      if self[key] == nil { return ChangeRefusal("FREE") }
      set(key, nil)
    }
    made.append((change.client, change.entry))
    let list = ItemChange.list(of: change.client)
    set(list, self[list].map { "\($0),\(change.entry)" } ?? "\(change.entry)")
    return nil
  }

  // MARK: What it shows

  package var snapshot: EtcdSnapshot {
    var entries = VersionedMap<EtcdKey, EtcdEntry>()
    for row in rows {
      entries[EtcdKey(row.key)] = EtcdEntry(Array(row.value.utf8), revision: row.revision)
    }
    return EtcdSnapshot(entries: entries, client: ClientID(0))
  }

  package func announcement(of change: [Write]) -> EtcdEvent? { nil }

  /// The keys, their values and their revisions.
  package var checksum: UInt64 {
    var digest = StateDigest()
    for row in rows {
      digest.fold(row.key)
      digest.fold(row.value)
      digest.fold(row.revision)
    }
    return digest.value
  }

  package var description: String {
    rows.map { "\($0.key)=\($0.value)@\($0.revision)" }.joined(separator: " ")
  }
}
