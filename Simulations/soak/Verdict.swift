import Foundation

/// What the cluster holds in the end, beside what its clients have told.
struct Verdict {
  /// A change that is in the cluster.
  private struct Found {
    var number: Int
    /// The change of its client after which it stands.
    var previous: Int
  }

  private var found: [[Found]]
  /// The number that each client has written last.
  private var written: [Int]
  private var malformed: [String] = []

  /// Reads who made which change.
  init(_ pairs: [Pair], clients: Int) {
    found = Array(repeating: [], count: clients)
    written = Array(repeating: 0, count: clients)
    for pair in pairs {
      let key = String(decoding: pair.key, as: UTF8.self)
      if key.hasPrefix(Step.written) {
        let client = Int(key.dropFirst(Step.written.count)) ?? -1
        let number = Int(String(decoding: pair.value, as: UTF8.self))
        if written.indices.contains(client), let number { written[client] = number }
      }
      guard key.hasPrefix("entry/") || key.hasPrefix("claim/") else { continue }
      let words = String(decoding: pair.value, as: UTF8.self).split(separator: " ")
      let numbers = words.compactMap { Int($0) }
      guard words.count == 3, numbers.count == 3, found.indices.contains(numbers[0]) else {
        malformed.append("\(key) holds what no client writes")
        continue
      }
      found[numbers[0]].append(Found(number: numbers[1], previous: numbers[2]))
    }
    for client in found.indices { found[client].sort { $0.number < $1.number } }
  }

  /// The changes that are there, by client.
  var changes: [Set<Int>] { found.map { Set($0.map(\.number)) } }

  /// The changes that are there or were there, by client; of writes, those up to the last.
  func changes(by accounts: [Ledger.ClientAccount]) -> [Set<Int>] {
    zip(changes, accounts).enumerated().map { client, both in
      both.0.union(both.1.writes.filter { $0 <= written[client] })
    }
  }

  /// Counts what is wrong.
  /// - Parameter gone: what a backup did not have, by client.
  func judge(_ accounts: [Ledger.ClientAccount], gone: [Set<Int>], into tally: inout Tally) {
    tally.wrong += malformed
    for (client, account) in accounts.enumerated() {
      let present = changes[client]
      // A later write has taken the place of those before it.
      let wrote = account.writes.filter { $0 <= written[client] }
      tally.changes += present.count + wrote.count
      tally.setAside += account.discarded.count
      tally.doubled += found[client].count - present.count
      tally.lostWithBackup += gone[client].subtracting(present).subtracting(wrote).count
      let lost = account.stored.subtracting(present).subtracting(wrote).subtracting(
        account.discarded
      )
      .subtracting(account.setAside).subtracting(gone[client])
      tally.lost += lost.count
      if let first = lost.min() {
        tally.wrong.append("client \(client): \(lost.count) changes are lost, \(first) first")
      }
      tally.contradicted += account.discarded.intersection(present).count
      var previous = 0
      for one in found[client] where one.number != previous {
        if one.previous != previous {
          tally.misordered += 1
          tally.wrong.append(
            "client \(client): change \(one.number) stands after \(one.previous), not \(previous)")
        }
        previous = one.number
      }
      let strange = present.filter { $0 > account.made || account.unmade.contains($0) }
      if let first = strange.min() {
        tally.wrong.append("client \(client): nobody has made its change \(first)")
      }
      if present.isEmpty, wrote.isEmpty {
        tally.wrong.append("client \(client) has changed nothing")
      }
    }
  }
}
