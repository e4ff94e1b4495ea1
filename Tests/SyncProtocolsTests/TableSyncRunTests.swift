import SyncProtocols
import Testing
import UpdateMachine

/// Two devices and a server, through everything that goes wrong, from a seed.
struct TableSyncRun {
  var desk = TableDesk()
  var clients = [TableFollower(), TableFollower()]
  var draws: Draws
  var lastID: Int64 = 0
  /// What was found to be wrong; empty: nothing.
  var faults: [String] = []
  var refusals: Set<String> = []
  private var seen = [TableState(), TableState()]
  /// The last answer to each client, which may come again.
  var answers: [(batch: TableBatch, truth: [SyncedRow])?] = [nil, nil]

  init(seed: UInt64, breach: TableBreach? = nil) throws {
    draws = Draws(seed: seed)
    desk.server.pageMaximum = 1 + draws.below(4)
    desk.server.notificationMaximum = 1 + draws.below(4)
    desk.server.bufferMaximum = 5 + draws.below(20)
    for step in 0..<150 {
      if step == 40 { desk.server.breach = breach }
      // Half of the steps are in the millisecond of the last one. The clock even goes backwards.
      desk.now =
        desk.now + .milliseconds(Int64(draws.below(6)) / 2 - (draws.happens(1, in: 30) ? 3 : 0))
      do throws(TableRefusal) {
        try take(step: draws.below(12))
      } catch {
        faults.append("refused \(error)")
      }
    }
    for index in clients.indices {
      do {
        try clients[index].follow(&desk)
        if clients[index].finger == nil { try clients[index].follow(&desk) }
        if clients[index].shown != desk.shown { faults.append("another end") }
      } catch {
        faults.append("\(error)")
      }
    }
  }

  private mutating func take(step: Int) throws(TableRefusal) {
    let index = draws.below(2)
    switch step {
    case 0..<4: change()
    case 4..<9: try poll(index, isLost: draws.happens(1, in: 5))
    case 9: desk.server.expire(clients[index].finger?.subscription ?? 0)
    case 10:
      if draws.happens(1, in: 4) { desk.server.restart() }
      clients[index].save()
    case _:
      if draws.happens(1, in: 2), let old = answers[index] {
        try hear(old.batch, of: old.truth, index)  // It comes late, or twice.
      } else {
        do {
          try clients[index].crash()
          answers[index] = nil
        } catch {
          faults.append("\(error)")
        }
      }
    }
    check(index)
  }

  private mutating func poll(_ index: Int, isLost: Bool) throws(TableRefusal) {
    guard let finger = clients[index].finger else {
      let snapshot = desk.server.register(ClientID(1), at: desk.now)
      if isLost { return }
      clients[index].model = try TableModel(snapshot: snapshot, replacing: clients[index].model)
      clients[index].finger = snapshot.finger
      return
    }
    let batch = desk.server.poll(finger, at: desk.now)
    answers[index] = (batch, desk.shown)
    if !isLost { try hear(batch, of: desk.shown, index, isNew: true) }
  }

  /// An old answer must never make the client worse. It may be taken for a gap, which costs a
  /// fetch.
  private mutating func hear(
    _ batch: TableBatch, of truth: [SyncedRow], _ index: Int, isNew: Bool = false
  ) throws(TableRefusal) {
    let before = clients[index].finger
    do {
      let isCurrent = try clients[index].take(batch, isComplete: { truth })
      if isNew, isCurrent, clients[index].shown != desk.shown { faults.append("not the state") }
    } catch let error as TableRefusal {
      throw error
    } catch {}
    if isNew, before != nil, clients[index].finger == nil { faults.append("gap") }
  }

  private mutating func change() {
    let table = UInt8(draws.below(3))
    let ids = desk.server.allRows.filter { $0.key.table == table }.map(\.key.id)
    let parents = table == 0 ? [] : desk.shown.filter { $0.key.table == table - 1 }.map(\.key.id)
    let parent = parents.isEmpty ? nil : parents[draws.below(parents.count)]
    let row = TableRowKey(table, ids.isEmpty ? 0 : ids[draws.below(ids.count)])
    let value = fields("day", Int64(draws.below(4)))
    let change: TableChange
    switch draws.below(8) {
    case 0..<3:
      lastID += 1
      change = .insert(TableRowKey(table, 1000 - lastID), parent: parent, value)
    case 3, 4: change = .set(row, value)
    case 5, 6: change = .move(row, parent: parent)
    case _: change = .delete(row)
    }
    do throws(ChangeRefusal) {
      try desk.server.make(change, at: desk.now)
    } catch {
      refusals.insert(error.code.text)
    }
  }

  private mutating func check(_ index: Int) {
    guard let state = clients[index].model?.state else { return }
    let whole = clients[index].expected
    if clients[index].shown != whole { faults.append("no state of the server's") }
    for row in clients[index].shown {
      if let parent = row.parent, !state.rows.contains(parent) { faults.append("dangling") }
    }
    let anew = TableState(rows: state.rows, isWhole: state.isWhole, sortedBy: Tasks.sortNumber)
    if anew != state { faults.append("a wrong index") }
    for window in [
      TableWindow.sorted(2, in: 1...2, limit: 3), .sorted(1, in: 0...3, limit: 50),
      .children(of: node(999), limit: 2), .children(of: action(998), limit: 50),
    ] where !window.mayDiffer(from: seen[index], to: state) {
      if window.answer(in: seen[index]) != window.answer(in: state) { faults.append("not told") }
    }
    seen[index] = state
  }
}

struct TableSyncRunTests {
  @Test(arguments: 0..<4)
  func `whatever goes wrong, an app sees states of the server only, and the last in the end`(
    part: UInt64
  ) throws {
    for seed in part * 20..<(part + 1) * 20 {
      let run = try TableSyncRun(seed: seed)
      #expect(run.faults.isEmpty, "seed \(seed)")
    }
  }

  @Test(arguments: TableBreach.allCases)
  func `a server that breaks its contract is found out`(breach: TableBreach) throws {
    var found = 0
    var happened = 0
    for seed in 0..<50 as Range<UInt64> {
      let run = try TableSyncRun(seed: seed, breach: breach)
      if run.desk.server.breachCount > 0 { happened += 1 }
      if !run.faults.isEmpty { found += 1 }
      if run.desk.server.breachCount == 0 { #expect(run.faults.isEmpty, "seed \(seed)") }
    }
    #expect(happened > 0 && found > 0, "\(found) of \(happened)")
  }
}
