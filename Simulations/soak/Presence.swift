import EtcdSync
import Foundation
import UpdateMachine

/// Who is there: each client has a key with a lease, which holds its process's number.
enum Presence {
  static let prefix = "here/"
  /// The least that etcd grants by default.
  private static let timeToLive = TimeSpan.seconds(2)
  /// Long enough for a key to be written again or to end, after all faults are over.
  static let patience: Int64 = 15_000

  /// Shows a client to the others, until its process is killed.
  static func stay(_ connection: EtcdConnection, _ orders: Child.Orders, _ line: ReportLine) async {
    do {
      let source = try EtcdSource(connection, prefix: prefix, for: EtcdMap.self)
      try await source.present(
        as: EtcdKey("\(orders.client)"), value: "\(getpid())", timeToLive: timeToLive)
    } catch {
      line.tell(.wrong("it cannot be present: \(error)"))
    }
  }

  /// The clients that a cluster says are there, with the numbers of their processes.
  static func read(_ cluster: Cluster) throws(Silence) -> [Int: Int32] {
    var present: [Int: Int32] = [:]
    for pair in try cluster.contents(of: prefix) {
      let client = Int(String(decoding: pair.key, as: UTF8.self)) ?? -1
      present[client] = Int32(String(decoding: pair.value, as: UTF8.self)) ?? -1
    }
    return present
  }
}

extension SoakRun {
  /// Waits until the cluster names all clients as present, and then, when every second one was
  /// killed, until it names the others alone.
  func judgePresence() throws {
    let present = try waitUntilPresent(SoakRun.clientCount) { self.clients.living }
    ledger.note { $0.present = present }
    try clients.withHalfAway {
      let start = Uptime.milliseconds
      _ = try waitUntilPresent(SoakRun.clientCount / 2) {
        self.clients.living.filter { $0.key % 2 != 0 }
      }
      let seconds = Double(Uptime.milliseconds - start) / 1000
      ledger.note { $0.secondsUntilGone = seconds }
    }
  }

  /// Waits until the clients that the cluster names are those that live, so many. Returns how many
  /// are.
  private func waitUntilPresent(
    _ count: Int, _ living: () -> [Int: Int32]
  ) throws(Silence) -> Int {
    let end = Uptime.milliseconds + Presence.patience
    while true {
      let (named, living) = (try Presence.read(cluster), living())
      if named == living, named.count == count { return count }
      guard Uptime.milliseconds < end else {
        ledger.note {
          $0.wrong.append(
            "\(named.keys.sorted()) are named as present, \(living.keys.sorted()) are")
        }
        return named.filter { living[$0.key] == $0.value }.count
      }
      Uptime.wait(50)
    }
  }
}
