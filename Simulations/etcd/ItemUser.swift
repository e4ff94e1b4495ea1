package import EtcdSync
package import Simulator
internal import SyncProtocols
package import UpdateMachine

/// A user of items: makes changes online and offline, edits or discards some, and decides about
/// those that are set aside.
package struct ItemUser: ReconsideringUser {
  package typealias Model = EtcdModel<ItemChange>
  package typealias Truth = ItemTruth
  package typealias Sync = EtcdLog

  package var memory = ChangeBook<ItemChange>()
  package var check = OutboxCheck<ItemChange>()

  private var entryCount: Int64 = 0
  /// The newest position seen in this process.
  private var seen: (client: ClientID?, position: Int64)?

  package init() {}

  package mutating func begin() {
    check.begin()
    seen = nil
  }

  // MARK: What the user does

  package mutating func newChange(
    _ local: LocalChanges<ItemChange>, _ choices: inout Choices
  ) -> ItemChange { newChange(by: owner(local), &choices) }

  package mutating func newChange(
    inPlaceOf old: ItemChange, _ local: LocalChanges<ItemChange>, _ choices: inout Choices
  ) -> ItemChange? { newChange(by: owner(local), &choices) }

  /// Whose list a change goes into: the client's first name.
  private func owner(_ local: LocalChanges<ItemChange>) -> ClientID {
    memory.names.first ?? local.outbox.client
  }

  private mutating func newChange(
    by client: ClientID, _ choices: inout Choices
  ) -> ItemChange {
    entryCount += 1
    let number = choices.draw(.users, in: 0...3)
    let words = "\(client.number)/\(entryCount)"
    switch choices.draw(.users, below: 8) {
    case 0: return ItemChange(by: client, entryCount, .add(1, to: number))
    case 1, 5: return ItemChange(by: client, entryCount, .take(seat: number))
    case 2: return ItemChange(by: client, entryCount, .leave(seat: number))
    case 3: return ItemChange(by: client, entryCount, .put(number, nil))
    case 4: return ItemChange(by: client, entryCount, .write(number, words))
    default: return ItemChange(by: client, entryCount, .put(number, words))
    }
  }

  // MARK: What the user is owed

  package func law(
    _ model: Model, _ local: LocalChanges<ItemChange>, _ truth: ItemTruth, at position: Int64
  ) -> ItemLaw { ItemLaw(owner: owner(local), model: model, local: local, truth: truth) }

  /// What a client has seen never goes back. A model without a finger has no position.
  package mutating func objection(to model: Model, at position: Int64) -> UserObjection? {
    guard position >= 0 else { return nil }
    defer { seen = (model.client, position) }
    guard let seen, seen.client == model.client, position < seen.position else { return nil }
    return UserObjection(.causality, "a state at or after \(seen.position)", "\(position)")
  }

  package static func checksum(of state: EtcdView) -> UInt64 { EtcdApp.checksum(of: state) }

  /// The entries are the protocol of what was done, not what is seen. Nor are revisions. A number
  /// of 0 looks like one that does not exist.
  package static func checksumOfWhatIsSeen(_ state: EtcdView) -> UInt64 {
    var digest = StateDigest()
    for (key, entry) in state.entries() {
      let text = key.text ?? ""
      let isZero = text.hasPrefix(ItemChange.numbers) && entry.text == "0"
      let isProtocol = [ItemChange.lists, ItemChange.marks].contains { text.hasPrefix($0) }
      if isZero || isProtocol { continue }
      digest.fold(text)
      digest.fold(text.hasPrefix(ItemChange.seats) ? "" : entry.text ?? "")
    }
    return digest.value
  }
}

/// The law of items: the cluster makes each change once, in the client's order, over what is there
/// by then. Each leaves its entry in its client's list.
package struct ItemLaw: ConflictLaw {
  package typealias Change = ItemChange

  /// Whose list the changes go into.
  let owner: ClientID
  let model: EtcdModel<ItemChange>
  let local: LocalChanges<ItemChange>
  let truth: ItemTruth

  package func objectionToView(_ book: Book) -> UserObjection? {
    var view = model.state
    var thrown: [Int64] = []
    for pending in local.outbox.pending {
      // An undo has no effect while the change that it undoes has none.
      var isRefused = thrown.contains(pending.change.entry - ItemChange.reversal)
      if !isRefused {
        var next = view
        do throws(ChangeRefusal) {
          try pending.change.apply(to: &next)
          view = next
        } catch {
          isRefused = true
        }
      }
      if isRefused { thrown.append(pending.change.entry) }
      guard isRefused != (pending.refusal != nil) else { continue }
      return UserObjection(
        .input, "a mutation is set aside when it throws, and only then",
        "\(pending), \(local.outbox)")
    }
    if view != local.view.state {
      return UserObjection(
        .causality, EtcdApp.words(view),
        EtcdApp.words(local.view.state) + " with \(local.outbox)")
    }
    // What is confirmed and also pending would show twice.
    let shown = book.withoutDoubtful(entries(in: view))
    for (index, entry) in shown.enumerated() where shown[..<index].contains(entry) {
      return UserObjection(.input, "entry \(entry) shows once", "\(shown) with \(local.outbox)")
    }
    let seats = view.entries(under: EtcdKey(ItemChange.seats)).count
    if seats <= ItemChange.seatMaximum { return nil }
    return UserObjection(.causality, "\(ItemChange.seatMaximum) seats are taken", "\(seats)")
  }

  /// What was given up before it was sent is never made.
  package func copies(of made: Made) -> (found: Int, maximum: Int) {
    let count = truth.entries(of: owner).count { made.change.marks.contains($0) }
    return (count, made.isDiscarded && !made.isLoose ? 0 : 1)
  }

  package func objectionToServer(_ book: Book) -> UserObjection? {
    if let wrong = truth.wrong {
      return UserObjection(.input, "a cluster that does what it should", wrong)
    }
    // Nothing is undone that was not done.
    let found = book.withoutDoubtful(truth.entries(of: owner))
    for (index, entry) in found.enumerated() where entry >= ItemChange.reversal {
      let undone = entry - ItemChange.reversal
      if book.doubtful.contains(undone) || found[..<index].contains(undone) { continue }
      return UserObjection(.input, "\(undone) is made before it is undone", "\(found)")
    }
    return nil
  }

  package var order: [Int64]? { truth.entries(of: owner) }

  package func isConfirmed(_ made: Made, _ book: Book) -> Bool {
    let entries = entries(in: model.state)
    return made.change.marks.allSatisfy { entries.contains($0) }
  }

  /// The entries of the client's changes that a state shows.
  private func entries(in view: EtcdView) -> [Int64] {
    let marks = EtcdKey(ItemChange.marks(of: owner))
    let listed = view[EtcdKey(ItemChange.list(of: owner))]?.text ?? ""
    return listed.split(separator: ",").compactMap { Int64($0) }
      + view.entries(under: marks).compactMap {
        Int64($0.key.text?.dropFirst(marks.bytes.count) ?? "")
      }
  }
}
