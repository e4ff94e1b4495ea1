package import EtcdSync
package import Simulator
internal import SyncProtocols
package import UpdateMachine

// EtcdWorld: a world in which users change items in an etcd cluster, with the decisions of
// EtcdSync. It is a target of its own, because the simulator does not know that library.

/// The app of the world `etcd`: items, numbers and seats that every user changes, online or
/// offline. Others change them, too.
package enum EtcdApp: SimulatedApp {
  package typealias Model = EtcdModel<ItemChange>
  package typealias Truth = ItemTruth
  package typealias Server = EtcdServer
  package typealias User = ItemUser
  package typealias Disk = RowDisk<EtcdModel<ItemChange>, EtcdFinger>

  static var prefix: [UInt8] { Array("app/".utf8) }

  package static func beginning(_ choices: inout Choices) -> ItemTruth {
    var truth = ItemTruth()
    for _ in 0..<choices.draw(.workload, in: 0...5) { truth.apply(nextEvent(truth, &choices)) }
    return truth
  }

  /// A change by others. Each has a number, so that an old value that comes back shows.
  package static func nextEvent(
    _ truth: ItemTruth, _ choices: inout Choices
  ) -> [ItemTruth.Write] {
    let number = choices.draw(.workload, in: 0...3)
    let words = "others \(truth.revision)"
    let mark = ItemTruth.Write(key: "others", value: words)
    switch choices.draw(.workload, below: 6) {
    case 1:
      let old = truth[ItemChange.number(number)].flatMap { Int64($0) } ?? 0
      return [.init(key: ItemChange.number(number), value: "\(old + 1000)")]
    case 2 where truth[ItemChange.item(number)] != nil:
      return [.init(key: ItemChange.item(number), value: nil)]
    case 3 where truth[ItemChange.seat(number)] != nil:
      return [.init(key: ItemChange.seat(number), value: nil), mark]
    case 4:
      let all = (0...3 as ClosedRange<Int64>).filter { truth[ItemChange.seat($0)] != nil }
      if all.count < ItemChange.seatMaximum, truth[ItemChange.seat(number)] == nil {
        return [.init(key: ItemChange.seat(number), value: "0"), mark]
      }
      return [mark]
    case 5: return [.init(key: ItemChange.item(number), value: words), mark]
    default: return [.init(key: ItemChange.item(number), value: words)]
    }
  }

  /// A snapshot with a record that is not the library's.
  package static func snapshotToRefuse(_ truth: ItemTruth) -> EtcdSnapshot? {
    var snapshot = truth.snapshot
    snapshot.record = EtcdEntry(Array("nobody's".utf8), revision: truth.revision)
    return snapshot
  }

  package static func request(
    _ push: PushRequest<ItemChange>, at finger: EtcdFinger?
  ) -> EtcdServer.Push {
    request(push, at: finger, over: nil)
  }

  /// Runs the changes, as a source does before anything leaves.
  package static func request(
    _ push: PushRequest<ItemChange>, at finger: EtcdFinger?, over state: EtcdView?
  ) -> EtcdServer.Push {
    guard let finger, let state else {
      return EtcdServer.Push(push: push, finger: nil, plan: .answer(.behind))
    }
    do throws(EtcdRecordError) {
      let plan = try EtcdPush.plan(push, over: state, at: finger, prefix: prefix)
      return EtcdServer.Push(push: push, finger: finger, plan: plan)
    } catch {
      preconditionFailure("a record that this world's client has read cannot be read")
    }
  }

  /// The keys, their values and their revisions.
  package static func checksum(of model: EtcdModel<ItemChange>) -> UInt64 {
    checksum(of: model.state)
  }

  static func checksum(of state: EtcdView) -> UInt64 {
    var digest = StateDigest()
    for (key, entry) in state.entries() {
      digest.fold(key.text ?? "")
      digest.fold(entry.text ?? "")
      digest.fold(entry.revision)
    }
    return digest.value
  }

  package static func describe(_ model: EtcdModel<ItemChange>) -> String { words(model.state) }

  static func words(_ state: EtcdView) -> String {
    state.entries().map { "\($0.key)=\($0.entry.text ?? "?")@\($0.entry.revision)" }
      .joined(separator: " ")
  }

  package static func describe(_ change: [ItemTruth.Write]) -> String {
    change.map { write in write.value.map { "\(write.key)=\($0)" } ?? "\(write.key) is gone" }
      .joined(separator: " ")
  }
}
