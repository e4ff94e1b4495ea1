import SyncProtocols
import Testing
import UpdateMachine

/// Long random runs of several clients: lost requests and answers, pushes that come twice or late,
/// crashes, pages, expiries, and changes from outside.
struct RecordRunTests {
  @Test(arguments: 0..<10 as Range<UInt64>)
  func `whatever is lost, repeated or late, every client ends with the server's records`(
    block: UInt64
  ) throws {
    var counts = RecordRun.Counts()
    for seed in block * 30..<(block + 1) * 30 {
      var run = RecordRun(seed: seed)
      try run.run()
      #expect(run.violation == nil, "seed \(seed)")
      counts.add(run.counts)
    }
    // The test means something only if all of this happens, often.
    for (name, count) in counts.named { #expect(count > 5, "\(name)") }
  }
}

struct RecordRun {
  typealias Records = VersionedMap<RecordKey, JSONObject>

  struct Counts {
    var named: [(String, Int)] = [
      ("behind", 0), ("in part", 0), ("overruled", 0), ("expired", 0), ("late", 0), ("crashed", 0),
      ("pages", 0), ("repeated", 0), ("shown while pages come", 0),
    ]

    mutating func note(_ name: String, _ count: Int = 1) {
      for index in named.indices where named[index].0 == name { named[index].1 += count }
    }

    mutating func add(_ other: Counts) {
      for (name, count) in other.named { note(name, count) }
    }
  }

  private(set) var violation: String?
  private(set) var counts = Counts()
  private var draws: Draws
  private var server: RecordServer
  private var clients: [RecordFollower]
  private var now = Moment(milliseconds: 1000)
  /// The server's records at each stamp, and when each record last changed. Both are read off the
  /// records themselves.
  private var history: [RecordStamp: Records] = [.none: Records()]
  private var changed: [RecordKey: RecordStamp] = [:]
  private var seen = Records()
  /// Pushes that may come once more.
  private var late: [(push: RecordPush, items: [RecordFollower.Item], hasCome: Bool)] = []
  private var epoch: UInt64 = 1
  /// Each client before what it has pulled and not saved yet. Changes and pushes are saved first.
  private var unsaved: [RecordFollower?]
  /// What each user has made of the records that nobody else changes. Each must always see it.
  private var mine: [Records]

  init(seed: UInt64) {
    draws = Draws(seed: seed)
    server = RecordServer(epoch: 1, pageMaximum: 1 + draws.below(4))
    server.takesRest = draws.happens(1, in: 2)
    clients = (1...2 + UInt64(draws.below(2))).map { RecordFollower($0) }
    mine = clients.map { _ in Records() }
    unsaved = clients.map { _ in nil }
  }

  mutating func run() throws {
    for _ in 0..<150 where violation == nil {
      if draws.happens(1, in: 2) { now = now + .milliseconds(1) }
      try step(draws.below(clients.count))
      check()
    }
    for _ in 0..<20 {
      for index in clients.indices {
        _ = pull(index, isCalm: true)
        push(index, isCalm: true)
        check()
      }
    }
    for (index, client) in clients.enumerated() where violation == nil {
      if !client.pending.isEmpty { violation = "client \(index) has pending changes" }
      if plain(client.view) != server.records { violation = "client \(index) is not level" }
    }
  }

  private mutating func step(_ index: Int) throws {
    switch draws.below(20) {
    case 0..<7: makeChange(index)
    case 7..<11: _ = pull(index, isCalm: false)
    case 11..<15: push(index, isCalm: false)
    case 15: comeLate()
    case 16:
      let isSaved = draws.happens(1, in: 2)
      clients[index] = try (isSaved ? clients[index] : unsaved[index] ?? clients[index]).restored()
      unsaved[index] = nil
      counts.note("crashed")
    case 17: draws.happens(1, in: 2) ? server.delete(key(), at: now) : write(key())
    case 18 where draws.happens(1, in: 4):
      let kept = UInt64(draws.below(3))
      server.prune(through: RecordStamp(server.last.number - min(kept, server.last.number)))
    case 19 where draws.happens(1, in: 8):
      epoch += 1
      server.renew(epoch: epoch)
    default: return
    }
  }

  private mutating func key() -> RecordKey {
    RecordKey(draws.happens(1, in: 3) ? "u" : "t", "\(draws.below(4))")
  }

  private mutating func columns() -> JSONObject {
    let value = JSONValue(integerLiteral: Int64(draws.below(3)))
    return draws.happens(1, in: 2) ? row(["x": value]) : row(["y": value])
  }

  private mutating func write(_ key: RecordKey) { server.set(key, columns(), at: now) }

  private mutating func makeChange(_ index: Int) {
    let key = draws.happens(1, in: 3) ? RecordKey(own(index), "\(draws.below(2))") : key()
    let isThere = clients[index].view.records.contains(key)
    var action = RecordChange.Action.delete
    if !draws.happens(1, in: 4) {
      action = isThere && draws.happens(2, in: 3) ? .update(columns()) : .create(columns())
    }
    clients[index].make(action, key)
    unsaved[index] = nil
    if key.table == own(index) {
      mine[index] = applied([RecordChange(action, key)], to: mine[index])
    }
  }

  /// The table that only this client changes.
  private func own(_ index: Int) -> String { "own\(index)" }

  private func applied(_ changes: [RecordChange], to records: Records) -> Records {
    var records = records
    for change in changes {
      let old = records[change.key]
      switch change.action {
      case .delete: records[change.key] = nil
      case .create(let columns): records[change.key] = merged(old ?? row([:]), columns)
      case .replace(let columns): records[change.key] = columns
      case .update(let columns): records[change.key] = old.map { merged($0, columns) }
      }
    }
    return records
  }

  // MARK: Requests

  private mutating func pull(_ index: Int, isCalm: Bool) -> Bool {
    for _ in 0..<(isCalm ? 50 : 1 + draws.below(3)) {
      guard let request = clients[index].pull() else { continue }
      if !isCalm, draws.happens(1, in: 5) { return false }  // The request or its answer is lost.
      // Changes while the answer is on its way.
      guard let answer = server.pull(request) else {
        clients[index].expire()
        counts.note("expired")
        continue
      }
      if !isCalm, draws.happens(1, in: 4) { makeChange(index) }
      let overruled = clients[index].overruled.count
      let before = clients[index].confirmed
      unsaved[index] = unsaved[index] ?? clients[index]
      let word = clients[index].take(answer)
      counts.note("overruled", clients[index].overruled.count - overruled)
      if case .page(_, .some) = answer.content {
        counts.note("pages")
        if !before.records.isEmpty { counts.note("shown while pages come") }
      }
      if answer.created.count > server.pageMaximum, case .page = answer.content {
        violation = "a page is too large"
      }
      do throws(RecordRefusal) {
        try applyTwice(answer, index)
      } catch {
        violation = "an answer is refused the second time: \(error)"
      }
      if word == "gap" || word == "lost" { violation = "a sound answer was refused: \(word)" }
      if word == "level" { return true }
    }
    return false
  }

  /// Any pull applied twice is as once.
  private mutating func applyTwice(_ answer: PulledRecords, _ index: Int) throws(RecordRefusal) {
    guard var twice = clients[index].model, case .changes = answer.content,
      twice.state.lastPulledAt == answer.pulledAt
    else { return }
    try twice.apply(answer)
    counts.note("repeated")
    if twice.state.records != clients[index].confirmed.records {
      violation = "twice is not as once"
    }
  }

  private mutating func push(_ index: Int, isCalm: Bool) {
    let count = isCalm ? 100 : 1 + draws.below(6)
    unsaved[index] = nil
    guard let finger = clients[index].finger, let items = clients[index].push(atMost: count) else {
      return
    }
    let push = RecordPush(items, at: finger)
    let isLost = !isCalm && draws.happens(1, in: 5)
    if !isCalm { late.append((push, items, !isLost)) }
    if isLost { return }
    let refused = arrive(push, items)
    if !isCalm, draws.happens(1, in: 4) { return }  // The answer is lost.
    let answer = RecordPush.answer(to: items, refusing: refused, tookRest: server.takesRest)
    if answer == .behind { counts.note("behind") }
    if case .acceptedOnly = answer { counts.note("in part") }
    clients[index].take(answer, to: items)
  }

  /// Pushes, and checks the result against the user's changes, made one by one.
  private mutating func arrive(
    _ push: RecordPush, _ items: [RecordFollower.Item]
  ) -> [RecordKey] {
    let before = server.records
    let refused = server.push(push, at: now)
    let isApplied = refused.isEmpty || server.takesRest
    let made = items.map(\.change).filter { isApplied && !refused.contains($0.key) }
    let expected = applied(made, to: before)
    if server.records != expected { violation = "a push has another effect than its changes" }
    for change in server.records.difference(from: seen).changes
    where changed[change.key, default: .none] > push.lastPulledAt {
      violation = "a change that the client had not seen was overwritten: \(change.key)"
    }
    return refused
  }

  private mutating func comeLate() {
    guard !late.isEmpty else { return }
    let (push, items, hasCome) = late.remove(at: draws.below(late.count))
    let before = server.records
    let refused = arrive(push, items)
    if hasCome, server.records != before { violation = "a second copy had an effect" }
    counts.note("late", refused.isEmpty ? 0 : 1)
  }

  private func merged(_ old: JSONObject, _ new: JSONObject) -> JSONObject {
    var all = old
    for member in new.members { all[member.name] = member.value }
    return all
  }

  // MARK: Checks

  /// What a client shows as confirmed is what the server had at one moment, in all tables.
  private mutating func check() {
    let records = server.records
    for change in records.difference(from: seen).changes { changed[change.key] = server.last }
    seen = records
    history[server.last] = records
    for (index, client) in clients.enumerated() {
      guard let then = history[client.confirmed.lastPulledAt] else {
        violation = "client \(index) shows a moment that never was"
        continue
      }
      if plain(client.confirmed) != then { violation = "client \(index) shows a mixture" }
      let owned = plain(client.view).filter { $0.key.table == own(index) }
      if VersionedMap(sorted: owned) != mine[index] {
        violation = "client \(index) does not see its own changes"
      }
    }
  }

  private func plain(_ state: RecordState) -> Records {
    VersionedMap(sorted: state.records.map { ($0.key, $0.value.columns) })
  }
}
