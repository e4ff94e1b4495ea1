internal import SyncProtocols
internal import UpdateMachine

/// A minimal correct data layer of one client: the outcome of each mutation ID, in ID order. It
/// follows the rules of ``DataLayer``; a test compares the two.
struct SmallDataLayer: Equatable {
  /// The last mutation ID.
  var count: UInt64 = 0
  /// Two bits per ID, the first ID in the lowest bits: the number that was added, or 0 if the
  /// mutation was refused.
  var fates: UInt64 = 0

  static var countMaximum: UInt64 { 7 }

  func fate(of id: UInt64) -> UInt64 { fates >> (2 * (id - 1)) & 3 }

  /// The list after the first `count` IDs.
  func list(asOf count: UInt64) -> SmallList {
    var list = SmallList()
    var id: UInt64 = 1
    while id <= count {
      if fate(of: id) != 0 { list = list.adding(fate(of: id)) }
      id += 1
    }
    return list
  }

  /// The last ID refused among the first `count`, or 0 if none was.
  func refusal(asOf count: UInt64) -> UInt64 {
    var id = count
    while id > 0, fate(of: id) != 0 { id -= 1 }
    return id
  }

  /// The number of changes to the list made by the first `count` IDs. It identifies that state.
  func version(asOf count: UInt64) -> UInt64 {
    var version: UInt64 = 0
    var id: UInt64 = 1
    while id <= count {
      if fate(of: id) != 0 { version += 1 }
      id += 1
    }
    return version
  }

  private mutating func commit(_ fate: UInt64) {
    precondition(count < SmallDataLayer.countMaximum, "so many IDs are not in a small world")
    fates |= fate << (2 * count)
    count += 1
  }

  /// Runs a push, refusing the mutation with this number. Returns the refused ID that the answer
  /// names, or 0 if it names none.
  mutating func run(_ push: SmallPush, refusing refused: UInt64 = 0) -> UInt64 {
    let last = refusal(asOf: count)
    if last > push.knownRefusal, !push.voids(last) { return last }
    for number in 1...3 as ClosedRange<UInt64> where push.id(of: number) > 0 {
      let id = push.id(of: number)
      while push.voids(count + 1) { commit(0) }
      guard id == count + 1 else { continue }
      commit(number == refused ? 0 : number)
      if number == refused { return id }
    }
    return 0
  }

  /// The result of a pull after the first `count` IDs. `known` is the count whose state the client
  /// already has, if any.
  func pulled(asOf count: UInt64, known: UInt64?) -> PulledView<SmallList> {
    let list = list(asOf: count)
    let map = SmallView.map(of: list)
    let state = ServerStateID(epoch: 1, number: version(asOf: count))
    let content: ViewContent<SmallList>
    if let known {
      let base = ServerStateID(epoch: 1, number: version(asOf: known))
      let change = ViewChange(key: SmallList.key, value: list.bits == 0 ? nil : list)
      content = .delta(from: base, base == state ? [] : [change])
    } else {
      content = .full(map)
    }
    let refusal = refusal(asOf: count)
    return PulledView(
      client: SmallView.client, state: state, checksum: map.checksum,
      lastMutation: MutationID(count),
      refusal: refusal == 0 ? nil : MutationRefusal(MutationID(refusal)),
      isCurrent: count == self.count, content: content)
  }
}
