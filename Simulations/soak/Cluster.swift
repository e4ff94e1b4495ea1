import Foundation
import SyncProtocols

/// The members of one cluster, and what an administrator does with it.
final class Cluster: Sendable {
  let members: [Member]
  private let processes: Processes

  init(of count: Int, _ processes: Processes) {
    self.processes = processes
    var candidates = Cluster.ports
    func next() -> UInt16 {
      while let port = candidates.popFirst() { if MemberSocket.isFree(port) { return port } }
      preconditionFailure("no port of thousands is free")
    }
    members = (0..<count).map { index in
      Member("m\(index)", processes, ports: (next(), next()))
    }
  }

  /// The ports to try, from 20,000 up to 31,999: a system hands out only higher ones by itself. Two
  /// runs at the same time begin at different ones.
  private static var ports: ArraySlice<UInt16> {
    let start = Int(ProcessInfo.processInfo.processIdentifier) * 16 % 12_000
    return (0..<12_000).map { UInt16(20_000 + (start + $0) % 12_000) }[...]
  }

  var addresses: [String] { members.map(\.address) }

  private var names: String {
    members.map { "\($0.name)=\($0.peerAddress)" }.joined(separator: ",")
  }

  func start() throws {
    for member in members { try member.start(cluster: names) }
    try waitUntilWell()
  }

  func start(_ member: Member) throws { try member.start(cluster: names) }

  /// Asks one member after the other.
  func ask(
    _ path: String, _ body: JSONValue = [:], within seconds: Int = 2
  ) throws(Silence) -> JSONValue {
    var last = Silence(description: "no member is up")
    for member in members where member.isUp {
      do throws(Silence) {
        return try member.ask(path, body, within: seconds)
      } catch {
        last = error
      }
    }
    throw last
  }

  /// Waits until each member answers for the cluster, half a minute at most.
  func waitUntilWell() throws(Silence) {
    try Cluster.retrying("each member answers") { () throws(Silence) in
      for member in members {
        _ = try member.ask("/v3/kv/range", ["key": .base64("any")])
      }
    }
  }

  /// Tries until it succeeds, half a minute at most.
  static func retrying<Value>(
    _ what: String, _ body: () throws(Silence) -> Value
  ) throws(Silence) -> Value {
    let end = Uptime.milliseconds + 30_000
    while true {
      do throws(Silence) {
        return try body()
      } catch {
        guard Uptime.milliseconds < end else {
          throw Silence(description: "not within 30 s: \(what). \(error)")
        }
        Uptime.wait(50)
      }
    }
  }

  /// The member that leads; `nil`: none says that it does.
  var leader: Member? {
    members.first { member in
      guard let status = try? member.ask("/v3/maintenance/status") else { return false }
      let own = status["header"]?.identifier("member_id")
      return own != 0 && own == status.identifier("leader")
    }
  }

  /// Throws away the history before the present revision.
  func compact() throws(Silence) {
    let present = try ask("/v3/kv/range", ["key": .base64("any")])
    let revision = present["header"]?.number("revision") ?? 0
    _ = try ask("/v3/kv/compaction", ["revision": .string("\(revision)"), "physical": true])
  }

  /// Kills a member, wipes its disk, and has it join anew.
  func replace(_ member: Member) throws {
    member.kill()
    let list = try ask("/v3/cluster/member/list")
    let its = list["members"]?.array?.first { $0["name"]?.string == member.name }
    guard let id = its?["ID"]?.string else {
      throw Silence(description: "no member is called \(member.name)")
    }
    // Asked again without an answer, the second finds it done.
    try Cluster.retrying("a member is removed") { () throws(Silence) in
      do throws(Silence) {
        _ = try ask("/v3/cluster/member/remove", ["ID": .string(id)])
      } catch {
        guard error.description.contains("member not found") else { throw error }
      }
    }
    try FileManager.default.removeItem(at: member.folder)
    try Cluster.retrying("a member is added") { () throws(Silence) in
      do throws(Silence) {
        _ = try ask(
          "/v3/cluster/member/add", ["peerURLs": .array([.string(member.peerAddress)])])
      } catch {
        guard error.description.contains("already exist") else { throw error }
      }
    }
    try member.start(cluster: names, joins: true)
  }

  // MARK: Backups

  private var backup: URL { processes.folder.appending(path: "backup") }

  /// Copies all disks as of one moment.
  func backUp() throws {
    for member in members { member.pause() }
    defer { for member in members { member.resume() } }
    let files = FileManager.default
    try? files.removeItem(at: backup)  // There may be none. If it stays, copying throws.
    try files.createDirectory(at: backup, withIntermediateDirectories: true)
    for member in members {
      try files.copyItem(at: member.folder, to: backup.appending(path: member.name))
    }
  }

  /// Begins again with the disks as they were backed up.
  func restore() throws {
    let files = FileManager.default
    for member in members { member.kill() }
    for member in members {
      try files.removeItem(at: member.folder)
      try files.copyItem(at: backup.appending(path: member.name), to: member.folder)
    }
    try start()
  }

  // MARK: What it holds

  /// Whether the members hold different things, in words; `nil`: they do not. They have all taken
  /// the same log by then, so what differs is etcd's own fault: 3.4.23 does so now and then, if it
  /// is killed while leases end. No client can tell.
  func disagreement() throws(Silence) -> String? {
    var words: String?
    for _ in 1...5 {
      var found: [(name: String, sum: UInt64, words: String)] = []
      for member in members {
        let answer = try Cluster.retrying("\(member.name) is read") { () throws(Silence) in
          try member.ask("/v3/kv/range", Cluster.all(under: Step.prefix))
        }
        let pairs = Cluster.pairs(answer, under: Step.prefix)
        let revision = answer["header"]?.number("revision") ?? 0
        found.append(
          (
            member.name, ContentSum(pairs).value,
            "\(member.name) has \(pairs.count) keys and revision \(revision)"
          ))
      }
      guard found.contains(where: { $0.sum != found[0].sum }) else { return nil }
      words = found.map(\.words).joined(separator: ", ")
      // Clients may have written between two questions.
      Uptime.wait(500)
    }
    return words
  }

  /// All keys under a prefix, but the library's own, as a quorum has them.
  func contents(of prefix: String) throws(Silence) -> [Pair] {
    let answer = try Cluster.retrying("all keys are read") { () throws(Silence) in
      try ask("/v3/kv/range", Cluster.all(under: prefix))
    }
    return Cluster.pairs(answer, under: prefix)
  }

  private static func all(under prefix: String) -> JSONValue {
    ["key": .base64(prefix), "range_end": .base64(prefix + "\u{7F}")]
  }

  private static func pairs(_ answer: JSONValue, under prefix: String) -> [Pair] {
    (answer["kvs"]?.array ?? []).compactMap { pair in
      let key = pair.bytes("key").dropFirst(prefix.utf8.count)
      guard key.first != 0 else { return nil }
      return Pair(
        key: Array(key), value: pair.bytes("value"), revision: pair.number("mod_revision"))
    }
  }
}

/// A key with what it holds.
struct Pair: Equatable {
  var key: [UInt8]
  var value: [UInt8]
  /// When it was written last.
  var revision: Int64
}
