import SyncProtocols
import Testing
import UpdateMachine

struct TableSyncFetchTests {
  @Test func `subscribe, fetch each table, drain, then follow`() throws {
    var desk = try TableDesk.filled()
    var client = TableFollower()
    var places: [String] = []
    for _ in 0..<6 {
      try client.ask(&desk)
      places.append("\(try #require(client.finger))")
      if places.count == 4 { desk.now = Moment(milliseconds: 200) }
    }
    #expect(
      places == [
        "1 fetching 0 [- - -]", "1 fetching 1 [106 - -]", "1 fetching 2 [106 106 -]",
        "1 draining 0 [106 106 106]", "1:0 [200 200 200]", "1:0 [200 200 200]",
      ])
    #expect(client.shown == desk.shown)
  }

  @Test func `bug 82: a first sync comes in pages, and shows nothing before it is whole`() throws {
    var desk = TableDesk()
    for id in 1...250 as ClosedRange<Int64> { try desk.insert(node(id)) }
    var client = TableFollower()
    while try !client.ask(&desk) {
      #expect(client.came.count <= desk.server.pageMaximum)
      #expect(client.shown.isEmpty && client.model?.state.isWhole == false)
    }
    #expect(client.shown == desk.shown && client.model?.state.isWhole == true)
  }

  @Test func `bug 83: a client that is up to date reconnects, and gets no rows`() throws {
    var desk = try TableDesk.filled()
    var client = TableFollower()
    try client.follow(&desk)
    desk.now = desk.now + .seconds(20)
    try client.ask(&desk)  // A ping: the watermarks pass the last change, once.
    let settled = client.finger
    desk.now = desk.now + .seconds(20)
    try client.ask(&desk)
    #expect(client.finger == settled)
    desk.server.restart()
    #expect(try client.follow(&desk) == [])
    #expect(client.shown == desk.shown)
  }

  @Test func `a fetch begins at the watermark, and rows that are held change nothing`() throws {
    var desk = try TableDesk.filled()
    var client = TableFollower()
    try client.follow(&desk)  // In the millisecond of the last change.
    let before = try #require(client.model)
    desk.server.restart()
    #expect(try client.follow(&desk).map(\.key) == [session(110)])
    #expect(client.model == before)
  }

  /// The row is changed twice in one millisecond, around each step of a first sync.
  @Test(arguments: 0..<7)
  func `a row updated twice in one millisecond ends with the second`(step: Int) throws {
    for second in step..<7 {
      var desk = try TableDesk.filled()
      var client = TableFollower()
      for index in 0..<7 {
        for (when, value) in [(step, 5), (second, 6)] as [(Int, Int64)] where when == index {
          try desk.server.make(.set(session(100), fields("day", value)), at: desk.now)
        }
        try client.ask(&desk)
      }
      try client.follow(&desk)
      #expect(client.model?.state.rows[session(100)]?.content?.fields["day"] == 6)
      desk.server.restart()
      try client.follow(&desk)
      #expect(client.shown == desk.shown)
    }
  }

  @Test func `stamps may be whole seconds, and nothing is missed`() throws {
    var desk = try TableDesk.filled()
    desk.server.resolution = .seconds(1)
    var client = TableFollower()
    desk.now = Moment(milliseconds: 1999)
    try client.follow(&desk)
    desk.server.restart()
    try desk.server.make(.set(node(1), fields("day", 3)), at: desk.now)
    #expect(desk.server.allRows.first?.stamp == TableStamp(milliseconds: 1000))
    try client.follow(&desk)
    #expect(client.shown == desk.shown)
  }

  @Test func `only what is newer is applied`() throws {
    var desk = try TableDesk.filled()
    var client = TableFollower()
    for _ in 0..<2 { try client.ask(&desk) }
    try desk.make(.set(action(10), fields("day", 1)), .set(action(10), fields("day", 2)))
    try client.ask(&desk)  // The actions, with the second change.
    #expect(client.model?.staged[action(10)]?.version == 3)
    try client.ask(&desk)
    #expect(try client.ask(&desk))  // Both notifications.
    #expect(client.came.map(\.version) == [2, 3])
    #expect(client.shown == desk.shown)
  }

  @Test func `a notification does not raise a watermark before its table was fetched`() throws {
    var desk = try TableDesk.filled()
    var client = TableFollower()
    for _ in 0..<2 { try client.ask(&desk) }
    try desk.insert(session(101), under: 10)
    #expect(client.finger?.watermarks[2] == .distantPast)
    desk.server.restart()
    try client.follow(&desk)
    #expect(client.shown == desk.shown)
  }

  @Test func `a row may name one that is still to come, and is not shown before it`() throws {
    var desk = try TableDesk.filled()
    var client = TableFollower()
    try client.follow(&desk)
    desk.server.restart()
    try client.ask(&desk)  // The nodes are read, then a node comes with an action.
    try desk.insert(node(3))
    try desk.insert(action(30), under: 3)
    let before = client.shown
    try client.ask(&desk)
    #expect(client.came.map(\.key) == [action(30)] && client.shown == before)
    #expect(try client.follow(&desk).map(\.key).suffix(2) == [node(3), action(30)])
    #expect(client.shown == desk.shown)
  }

  @Test func `a connection lost in mid-fetch: on from the watermarks, with the same end`() throws {
    for lostAfter in 1...8 {
      var desk = try TableDesk.filled()
      desk.server.pageMaximum = 1
      var client = TableFollower()
      for _ in 0..<lostAfter { try client.ask(&desk) }
      let watermarks = try #require(client.finger?.watermarks)
      desk.server.expire(1)
      try desk.make(.delete(action(11)), .set(node(1), fields("day", 9)))
      let rows = try client.follow(&desk)
      #expect(client.shown == desk.shown)
      // Notifications cannot have come, so all rows come from fetches.
      #expect(rows.allSatisfy { $0.stamp >= watermarks[Int($0.key.table)] })
    }
  }

  @Test func `bug 37: a row that comes in the millisecond of a page is not missed`() throws {
    var desk = TableDesk()
    desk.server.pageMaximum = 1
    for id in [5, 7] as [Int64] {
      try desk.server.make(.insert(node(id), parent: nil, fields("day", 0)), at: desk.now)
    }
    var client = TableFollower()
    for _ in 0..<2 { try client.ask(&desk) }
    try desk.server.make(.insert(node(3), parent: nil, fields("day", 0)), at: desk.now)
    desk.now = desk.now + .milliseconds(5)
    try client.ask(&desk)  // The last page has node 7; node 3 sorts before the first.
    desk.server.restart()
    try client.follow(&desk)
    #expect(client.shown == desk.shown)
  }

  @Test func `too many notifications end a subscription, and the client fetches`() throws {
    var desk = try TableDesk.filled()
    desk.server.bufferMaximum = 3
    var client = TableFollower()
    try client.follow(&desk)
    for day in 0..<4 as Range<Int64> { try desk.make(.set(node(1), fields("day", day))) }
    #expect(desk.server.subscriptionIDs.isEmpty)
    #expect(try client.follow(&desk).map(\.key).contains(node(1)))
    #expect(client.finger?.subscription == 2 && client.shown == desk.shown)
  }

  @Test func `a subscription that nobody polls ends`() throws {
    var desk = try TableDesk.filled()
    var client = TableFollower()
    try client.follow(&desk)
    desk.server.advance(to: desk.now + .seconds(599))
    #expect(desk.server.subscriptionIDs == [1])
    desk.server.advance(to: desk.now + .seconds(600))
    #expect(desk.server.subscriptionIDs.isEmpty)
  }
}

struct TableSyncSavingTests {
  /// As ``Tasks``, in a version of the app with one more table.
  enum MoreTasks: TableSchema {
    static var tableCount: UInt8 { 4 }
  }

  @Test func `a save costs what changed, and damage is an error`() throws {
    var desk = try TableDesk.filled()
    var client = TableFollower()
    try client.follow(&desk)
    let old = try #require(client.model)
    try desk.make(.set(node(1), fields("day", 1)))
    try client.follow(&desk)
    var changed = RowWriter()
    try #require(client.model).store(since: old, into: &changed)
    #expect(changed.rows.count == 1)
    var all = RowWriter()
    try #require(client.model).store(since: nil, into: &all)
    let rows = all.rows.map { ($0.key, $0.value ?? []) }
    #expect(try TableModel<Tasks>(stored: RowReader(rows)) == client.model)
    #expect(throws: StoredFormError.self) { try TableModel<MoreTasks>(stored: RowReader(rows)) }
    var swapped = rows
    (swapped[0].1, swapped[1].1) = (rows[1].1, rows[0].1)
    #expect(throws: StoredFormError.self) { try TableModel<Tasks>(stored: RowReader(swapped)) }
  }
}

struct TableSyncDeletionTests {
  @Test(arguments: [false, true])
  func `a deleted row comes as ID and flag alone, also to a device that was away`(
    wasAway: Bool
  ) throws {
    var desk = try TableDesk.filled()
    var client = TableFollower()
    try client.follow(&desk)
    if wasAway { desk.server.restart() }
    try desk.make(.delete(session(100)))
    let came = try client.follow(&desk).filter { $0.key == session(100) }
    #expect(came.map(\.content) == [nil] && came.map(\.version) == [2])
    #expect(client.model?.state.rows[session(100)] == nil)
    #expect(client.shown == desk.shown)
  }

  @Test func `bugs 39 and 71: an ID stays taken after a deletion`() throws {
    var desk = try TableDesk.filled()
    try desk.make(.delete(session(100)), .delete(node(1)))
    for key in [session(100), session(110), action(10), node(1)] {
      #expect(throws: ChangeRefusal("taken")) { try desk.insert(key) }
    }
  }

  @Test func `a small cascade comes row by row`() throws {
    var desk = try TableDesk.filled()
    var client = TableFollower()
    try client.follow(&desk)
    try desk.make(.delete(action(10)))
    #expect(try client.follow(&desk).map(\.key) == [session(100), action(10)])
    #expect(client.shown == desk.shown && desk.server.allRows.count == 6)
  }

  @Test(arguments: [false, true])
  func `a deleted node comes alone, and takes what is two levels below along`(
    wasAway: Bool
  ) throws {
    var desk = try TableDesk.filled()
    var client = TableFollower()
    try client.follow(&desk)
    if wasAway { desk.server.restart() }
    try desk.make(.delete(node(1)))
    let came = try client.follow(&desk).filter { $0.stamp.milliseconds == 107 }
    #expect(came.map(\.key) == [node(1)])
    #expect(client.keys == [node(2)] && client.shown == desk.shown)
    // Nobody keeps a trace of what was below it.
    #expect(desk.server.allRows.map(\.key) == [node(1), node(2)])
    #expect(client.model?.staged.count == 0)
  }

  @Test(arguments: [false, true])
  func `a row that was moved out before survives, with what is below it`(wasAway: Bool) throws {
    var desk = try TableDesk.filled()
    var client = TableFollower()
    try client.follow(&desk)
    if wasAway { desk.server.restart() }
    try desk.make(.move(action(10), parent: 2), .delete(node(1)))
    let came = try client.follow(&desk)
    #expect(!came.contains { $0.key == session(100) })  // So it must not be lost.
    #expect(client.keys == [node(2), action(10), session(100)])
    #expect(client.shown == desk.shown)
  }

  /// The client holds the action below node 2. Nothing but a trace of its own can tell that it is
  /// gone.
  @Test func `a row that was moved in goes, also on a device that missed the move`() throws {
    var desk = try TableDesk.filled()
    try desk.insert(action(20), under: 2)
    try desk.insert(session(200), under: 20)
    var client = TableFollower()
    try client.follow(&desk)
    desk.server.restart()
    try desk.make(.move(action(20), parent: 1), .delete(node(1)))
    try client.follow(&desk)
    #expect(client.keys == [node(2)] && client.shown == desk.shown)
    #expect(desk.server.allRows.map(\.key) == [node(1), node(2), action(20)])
  }

  @Test func `bug 44: a notification of a row that went with its node is dropped`() throws {
    var desk = try TableDesk.filled()
    var client = TableFollower()
    try client.ask(&desk)
    try desk.make(.set(session(100), fields("day", 1)), .delete(node(1)))
    // The session was never fetched, so its action is not here, and never will be.
    #expect(try client.follow(&desk).map(\.key).contains(session(100)))
    #expect(client.keys == [node(2)] && client.shown == desk.shown)
  }
}

struct TableSyncWindowTests {
  static let days = (10...13).map { TableWindow.sorted(2, in: $0...$0, limit: 100) }
  static let below = [node(1), node(2), action(10), action(11)].map {
    TableWindow.children(of: $0, limit: 100)
  }

  /// Returns which windows a change concerns.
  static func concerned(by changes: TableChange...) throws -> [TableWindow] {
    var desk = try TableDesk.filled()
    try desk.insert(action(20), under: 2)
    var client = TableFollower()
    try client.follow(&desk)
    let old = try #require(client.model?.state)
    for change in changes { try desk.make(change) }
    try client.follow(&desk)
    let new = try #require(client.model?.state)
    let concerned = (days + below).filter { $0.mayDiffer(from: old, to: new) }
    #expect(concerned == (days + below).filter { $0.answer(in: old) != $0.answer(in: new) })
    return concerned
  }

  @Test func `an event that is moved between days tells exactly two windows of days`() throws {
    let concerned = try Self.concerned(by: .set(session(100), fields("day", 12)))
    #expect(concerned == [Self.days[0], Self.days[2], Self.below[2]])
  }

  @Test func `a window holds keys, and tells a change of a row in it`() throws {
    #expect(try Self.concerned(by: .set(session(100), fields("x", 1))).first == Self.days[0])
    var desk = try TableDesk.filled()
    var client = TableFollower()
    try client.follow(&desk)
    let state = try #require(client.model?.state)
    #expect(Self.days[1].answer(in: state).map(\.row) == [session(110)])
    #expect(Self.below[0].answer(in: state).map(\.row) == [action(10), action(11)])
  }

  @Test func `a node's deletion tells the windows concerned, and no others`() throws {
    let concerned = try Self.concerned(by: .delete(node(1)))
    #expect(
      concerned == [Self.days[0], Self.days[1], Self.below[0], Self.below[2], Self.below[3]])
    #expect(try Self.concerned(by: .delete(node(2))) == [Self.below[1]])
  }

  @Test func `a long list reads only what it is scrolled to`() throws {
    var desk = TableDesk()
    try desk.insert(node(1))
    for id in 0..<500 as Range<Int64> { try desk.insert(action(id), under: 1, day: id) }
    var client = TableFollower()
    try client.follow(&desk)
    let old = try #require(client.model?.state)
    try desk.make(.set(action(300), fields("x", 1)), .delete(action(301)))
    try client.follow(&desk)
    let new = try #require(client.model?.state)
    for window in [
      TableWindow.children(of: node(1), limit: 20), .sorted(1, in: 0...1000, limit: 20),
    ] {
      #expect(window.answer(in: old).map(\.row.id) == Array(0..<20))
      #expect(!window.mayDiffer(from: old, to: new))
      var scrolled = window
      scrolled.limit = 301
      #expect(scrolled.mayDiffer(from: old, to: new))
    }
  }
}
