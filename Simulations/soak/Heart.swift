import Foundation
import SyncProtocols

/// Writes a heartbeat into the cluster twenty times a second, and notes when each was confirmed.
/// So it is known from outside how old a state is that a client shows.
final class Heart: @unchecked Sendable {
  private let cluster: Cluster
  private let ledger: Ledger
  private let stopped = Flag()
  /// Held while a beat is written.
  private let beating = NSLock()
  private var number = 0
  /// The revision of the last one; 0: there is none; `nil`: it must be looked up.
  private var revision: Int64?

  static let key = Step.prefix + "beat"

  init(_ cluster: Cluster, _ ledger: Ledger) {
    self.cluster = cluster
    self.ledger = ledger
  }

  func start() {
    Thread.detachNewThread {
      while !self.stopped.isRaised {
        self.beating.withLock { try? self.beat() }
        Uptime.wait(50)
      }
    }
  }

  func stop() { stopped.raise() }

  /// Writes none while `body` runs.
  func held(_ body: () throws -> Void) rethrows {
    try beating.withLock {
      defer { revision = nil }
      try body()
    }
  }

  /// One that ends without an answer may be written later. It then finds another revision than it
  /// expects, and so does no harm.
  private func beat() throws(Silence) {
    var known = revision ?? 0
    if revision == nil { known = try found() }
    let number = number + 1
    revision = nil
    let answer = try cluster.ask(
      "/v3/kv/txn",
      [
        "compare": [
          [
            "target": "MOD", "key": .base64(Heart.key), "result": "EQUAL",
            "mod_revision": .string("\(known)"),
          ]
        ],
        "success": [
          ["request_put": ["key": .base64(Heart.key), "value": .base64("\(number)")]]
        ],
      ])
    guard answer["succeeded"]?.bool == true else { return }
    self.number = number
    revision = answer["header"]?.number("revision")
    ledger.confirmed(beat: number, at: Uptime.milliseconds)
  }

  /// Looks up the last one, which may be one without an answer.
  private func found() throws(Silence) -> Int64 {
    let pair = try Heart.read(cluster)
    number = max(number, pair?.number ?? 0)
    return pair?.revision ?? 0
  }

  static func read(_ cluster: Cluster) throws(Silence) -> (number: Int, revision: Int64)? {
    let answer = try cluster.ask("/v3/kv/range", ["key": .base64(key)])
    guard let pair = answer["kvs"]?.array?.first,
      let number = Int(String(decoding: pair.bytes("value"), as: UTF8.self))
    else { return nil }
    return (number: number, revision: pair.number("mod_revision"))
  }
}
