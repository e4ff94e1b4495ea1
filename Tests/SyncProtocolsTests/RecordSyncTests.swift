import SyncProtocols
import Testing
import UpdateMachine

/// What a pull does to the records of a client, and a push to those of the server.
struct RecordSyncTests {
  // MARK: Pulled as created

  @Test func `created and known here: it is replaced, and twice is nothing`() throws {
    var desk = RecordDesk()
    desk.set("a", ["x": 1])
    desk.pull(\.one)
    desk.delete("a")
    desk.set("a", ["y": 2])
    let answer = try desk.ask(\.one)
    #expect(answer.created.map(\.key) == ["a"] && answer.deleted.isEmpty)
    desk.one.take(answer)
    #expect(desk.one.view.text == #"a{"y":2}"#)
    var twice = try #require(desk.one.model)
    try twice.apply(answer)
    #expect(twice == desk.one.model)
  }

  @Test func `created and deleted here: it is restored, and the deletion is overruled`() {
    var desk = RecordDesk()
    desk.set("a", ["x": 1])
    desk.pull(\.one)
    desk.one.make(.delete, "a")
    desk.delete("a")
    desk.set("a", ["x": 2])
    #expect(desk.push(\.one) == "behind")
    desk.pull(\.one)
    #expect(desk.one.view.text == #"a{"x":2}"#)
    #expect(desk.one.overruled.map(\.action) == [.delete])
    #expect(desk.one.status("a") == .synced)
  }

  @Test func `bug 69: an own creation that comes back restores nothing that was deleted since`() {
    var desk = RecordDesk()
    desk.pull(\.one)
    desk.one.make(.create(row(["x": 1])), "a")
    desk.push(\.one, isLost: true)
    desk.one.make(.delete, "a")
    desk.pull(\.one)
    #expect(desk.one.view.text == "" && desk.one.status("a") == .deleted)
    #expect(desk.push(\.one) == "accepted")
    desk.pull(\.one)
    #expect(desk.server.text == "" && desk.one.pending.isEmpty && desk.one.overruled.isEmpty)
  }

  @Test func `a deletion made before an expiry is not overruled by the new first pull`() {
    var desk = RecordDesk()
    desk.set("a", ["x": 1])
    desk.pull(\.one)
    desk.one.make(.delete, "a")
    desk.set("b", [:])
    desk.server.renew(epoch: 2)
    #expect(desk.pull(\.one) == ["expired", "level"])
    #expect(desk.one.view.text == "b{}" && desk.one.overruled.isEmpty)
    #expect(desk.push(\.one) == "accepted")
    #expect(desk.server.text == "b{}")
  }

  // MARK: Pulled as updated

  @Test func `updated and synced: replaced, and a column that is left out keeps its value`() throws
  {
    var desk = RecordDesk()
    desk.set("a", ["x": 1, "y": 1])
    desk.pull(\.one)
    let since = try #require(desk.one.finger).lastPulledAt
    desk.one.take(
      PulledRecords(
        client: ClientID(1), epoch: 1, pulledAt: RecordStamp(2000), content: .changes(since: since),
        updated: [RecordRow("a", row(["x": 2]))]))
    #expect(desk.one.view.text == #"a{"x":2,"y":1}"#)
  }

  @Test func `updated and changed here: only the columns changed here are kept, still pending`() {
    var desk = RecordDesk()
    desk.set("a", ["x": 1, "y": 1, "z": 1])
    desk.pull(\.one)
    desk.one.make(.update(row(["y": 2])), "a")
    desk.set("a", ["x": 3, "y": 3])
    #expect(desk.push(\.one) == "behind")
    desk.pull(\.one)
    #expect(desk.one.view.text == #"a{"x":3,"y":2,"z":1}"#)
    #expect(desk.one.status("a") == .updated(["y"]))
    #expect(desk.push(\.one) == "accepted")
    #expect(desk.server.text == #"a{"x":3,"y":2,"z":1}"#)
  }

  @Test func `updated and deleted here: ignored, and the deletion is pushed`() {
    var desk = RecordDesk()
    desk.set("a", ["x": 1])
    desk.pull(\.one)
    desk.one.make(.delete, "a")
    desk.set("a", ["x": 2])
    desk.pull(\.one)
    #expect(desk.one.view.text == "" && desk.one.status("a") == .deleted)
    #expect(desk.sync(\.one) == "accepted")
    #expect(desk.server.text == "")
  }

  @Test func `updated and absent: created`() throws {
    var desk = RecordDesk()
    desk.set("b", [:])
    desk.pull(\.one)
    let since = try #require(desk.one.finger).lastPulledAt
    desk.one.take(
      PulledRecords(
        client: ClientID(1), epoch: 1, pulledAt: RecordStamp(2000), content: .changes(since: since),
        updated: [RecordRow("a", row(["x": 2]))]))
    #expect(desk.one.view.text == #"a{"x":2} b{}"#)
  }

  // MARK: Pulled as deleted

  @Test func `deleted: gone even if changed here, said to be overruled, and children stay`() {
    var desk = RecordDesk()
    desk.set("a", ["x": 1])
    desk.set("u/child", ["parent": "a"])
    desk.pull(\.one)
    desk.one.make(.update(row(["x": 2])), "a")
    desk.delete("a")
    desk.pull(\.one)
    #expect(desk.one.view.text == #"u/child{"parent":"a"}"#)
    #expect(desk.one.overruled.map(\.key) == ["a"] && desk.one.pending.isEmpty)
    desk.delete("u/child")
    desk.pull(\.one)
    #expect(desk.one.view.text == "")
  }

  @Test func `bug 67: created and deleted within one pull, it stays gone`() throws {
    var desk = RecordDesk()
    desk.pull(\.one)
    // The creation is our own, and its answer was lost.
    desk.one.make(.create(row([:])), "a")
    desk.push(\.one, isLost: true)
    desk.delete("a")
    desk.set("b", [:])
    desk.delete("b")
    desk.pull(\.one)
    #expect(desk.one.view.text == "" && desk.one.overruled.map(\.key) == ["a"])
    #expect(desk.push(\.one) == "nothing" && desk.server.text == "")
    // A server that names it in both lists means the same.
    let since = try #require(desk.one.finger).lastPulledAt
    desk.one.take(
      PulledRecords(
        client: ClientID(1), epoch: 1, pulledAt: RecordStamp(5000), content: .changes(since: since),
        created: [RecordRow("c", row([:]))], deleted: ["c"]))
    #expect(desk.one.view.text == "")
  }

  // MARK: Pushes

  @Test func `bug 66: a change made while a push is out is pushed by the next`() {
    var desk = RecordDesk()
    desk.set("a", ["x": 1])
    desk.pull(\.one)
    desk.one.make(.update(row(["x": 2])), "a")
    let items = desk.one.push() ?? []
    desk.one.make(.update(row(["x": 3])), "a")
    if let finger = desk.one.finger {
      #expect(desk.server.push(RecordPush(items, at: finger), at: desk.now) == [])
    }
    desk.one.take(.accepted, to: items)
    desk.pull(\.one)
    #expect(desk.server.text == #"a{"x":2}"# && desk.one.view.text == #"a{"x":3}"#)
    #expect(desk.one.status("a") == .updated(["x"]))
    #expect(desk.sync(\.one) == "accepted")
    #expect(desk.server.text == #"a{"x":3}"# && desk.one.status("a") == .synced)
  }

  @Test func `a push has the new moment and what is left of the changes, and no status`() throws {
    var desk = RecordDesk()
    for key in ["b", "c", "e"] as [RecordKey] { desk.set(key, ["x": 0]) }
    desk.pull(\.one)
    let finger = try #require(desk.one.finger)
    #expect(finger.lastPulledAt == desk.server.last)
    let changes: [RecordChange] = [
      RecordChange(.create(row(["x": 1])), "a"), RecordChange(.update(row(["x": 2])), "b"),
      RecordChange(.update(row(["y": 2])), "a"), RecordChange(.update(row(["y": 2])), "b"),
      RecordChange(.delete, "c"), RecordChange(.create(row(["z": 1])), "c"),
      RecordChange(.create(row(["x": 1])), "d"), RecordChange(.delete, "d"),
      RecordChange(.update(row(["x": 1])), "e"), RecordChange(.create(row(["y": 1])), "e"),
    ]
    let push = RecordPush(
      changes.map { .init(id: MutationID(1), ticket: MutationTicket(1), change: $0) }, at: finger)
    #expect(push.lastPulledAt == desk.server.last && push.epoch == 1)
    #expect(
      push.created == [
        RecordRow("a", row(["x": 1, "y": 2])), RecordRow("c", row(["z": 1])),
        RecordRow("e", row(["x": 1, "y": 1])),
      ])
    #expect(push.updated == [RecordRow("b", row(["x": 2, "y": 2]))])
    #expect(push.deleted == ["c", "d"])
    #expect(desk.server.push(push, at: desk.now) == [])
    #expect(
      desk.server.text == #"a{"x":1,"y":2} b{"x":2,"y":2} c{"z":1} e{"x":1,"y":1}"#)
  }

  @Test func `one record changed since: nothing is applied, and the next sync resolves it`() {
    var desk = RecordDesk()
    desk.set("a", ["x": 1])
    desk.set("b", ["x": 1])
    desk.pull(\.one)
    desk.one.make(.update(row(["x": 2])), "a")
    desk.one.make(.update(row(["x": 2])), "b")
    desk.set("b", ["y": 9])
    let before = desk.server.last
    #expect(desk.push(\.one) == "behind")
    #expect(desk.server.text == #"a{"x":1} b{"x":1,"y":9}"# && desk.server.last == before)
    #expect(desk.sync(\.one) == "accepted")
    #expect(desk.server.text == #"a{"x":2} b{"x":2,"y":9}"# && desk.one.pending.isEmpty)
  }

  @Test func `a server may name the records that it refused, and take the rest`() {
    var desk = RecordDesk()
    desk.server.takesRest = true
    desk.set("a", ["x": 1])
    desk.set("b", ["x": 1])
    desk.pull(\.one)
    desk.one.make(.update(row(["x": 2])), "a")
    desk.one.make(.update(row(["x": 2])), "b")
    desk.set("b", ["y": 9])
    #expect(desk.push(\.one) == "accepted only [1]")
    #expect(desk.server.text == #"a{"x":2} b{"x":1,"y":9}"#)
    #expect(desk.push(\.one) == "behind")
    #expect(desk.sync(\.one) == "accepted")
    #expect(desk.server.text == #"a{"x":2} b{"x":2,"y":9}"# && desk.one.pending.isEmpty)
  }

  @Test func `bug 68: a record that changes between each pull and push is pushed once it rests`() {
    var desk = RecordDesk()
    desk.set("a", ["x": 0])
    desk.pull(\.one)
    desk.one.make(.update(row(["mine": 1])), "a")
    for round in 1...20 as ClosedRange<Int64> {
      desk.set("a", ["x": JSONValue(integerLiteral: round)])
      #expect(desk.push(\.one) == "behind")
      desk.pull(\.one)
      #expect(desk.one.view.text == #"a{"mine":1,"x":\#(round)}"#)
    }
    #expect(desk.push(\.one) == "accepted")
    desk.pull(\.one)
    #expect(desk.server.text == #"a{"mine":1,"x":20}"# && desk.one.pending.isEmpty)
  }

  @Test func `bugs 69 and 70: pushed again after a lost answer, it is the same state, and synced`()
  {
    var desk = RecordDesk()
    desk.set("b", ["x": 1])
    desk.set("c", ["x": 1])
    desk.pull(\.one)
    desk.one.make(.create(row(["x": 1])), "a")
    desk.one.make(.update(row(["x": 2])), "b")
    desk.one.make(.delete, "c")
    desk.push(\.one, isLost: true)
    let text = desk.server.text
    #expect(desk.push(\.one) == "behind", "the copy, at the old finger")
    #expect(desk.sync(\.one) == "accepted", "the copy, at the new one")
    #expect(desk.server.text == text)
    #expect(desk.one.pending.isEmpty && desk.one.view.text == text)
    for key in ["a", "b", "c"] as [RecordKey] { #expect(desk.one.status(key) == .synced) }
  }

  @Test func `a push that comes late, after later changes, has no effect`() throws {
    var desk = RecordDesk()
    desk.set("b", ["x": 1])
    desk.pull(\.one)
    desk.one.make(.create(row([:])), "a")
    desk.one.make(.update(row(["x": 2])), "b")
    let items = desk.one.push() ?? []
    let late = RecordPush(items, at: try #require(desk.one.finger))
    // It is thought lost. The user goes on, and a second push overtakes it.
    desk.one.make(.delete, "a")
    desk.one.make(.update(row(["x": 3])), "b")
    #expect(desk.push(\.one) == "accepted")
    #expect(desk.server.push(late, at: desk.now) == ["a", "b"])
    #expect(desk.server.text == #"b{"x":3}"#)
    desk.server.prune(through: desk.server.last)
    #expect(desk.server.push(late, at: desk.now).isEmpty == false)
    #expect(desk.server.text == #"b{"x":3}"#)
  }

  @Test(arguments: [true, false])
  func `bug 71: deleted and created again, both are sent, and our own echo overrules neither`(
    isLost: Bool
  ) {
    var desk = RecordDesk()
    desk.set("a", ["x": 1, "y": 1])
    desk.pull(\.one)
    desk.one.make(.delete, "a")
    desk.push(\.one, isLost: isLost)
    desk.one.make(.create(row(["x": 2])), "a")
    desk.pull(\.one)
    #expect(desk.one.view.text == #"a{"x":2}"# && desk.one.overruled.isEmpty)
    #expect(desk.push(\.one) == "accepted")
    desk.pull(\.one)
    #expect(desk.server.text == #"a{"x":2}"# && desk.one.view.text == desk.server.text)
    #expect(desk.one.pending.isEmpty)
  }

  @Test func `bug 71: with every answer lost, no own echo revives a column or a record`() {
    var desk = RecordDesk()
    desk.pull(\.one)
    let steps: [RecordChange.Action] = [
      .create(row(["y": 1])), .delete, .delete, .create(row(["x": 2])), .create(row(["z": 3])),
    ]
    for step in steps {
      desk.one.make(step, "a")
      desk.push(\.one, isLost: true)
      desk.pull(\.one)
    }
    #expect(desk.one.view.text == #"a{"x":2,"z":3}"#)
    desk.one.make(.delete, "a")
    desk.one.make(.delete, "a")
    desk.sync(\.one)
    #expect(desk.one.view.text == "" && desk.server.text == "" && desk.one.pending.isEmpty)
  }

  @Test func `a copy of a deletion that comes after its tombstone was pruned has no effect`() throws
  {
    var desk = RecordDesk()
    desk.set("a", ["x": 1])
    desk.pull(\.one)
    desk.one.make(.delete, "a")
    desk.push(\.one, isLost: true)
    desk.pull(\.one)
    let horizon = desk.server.last
    let items = desk.one.push() ?? []
    let copy = RecordPush(items, at: try #require(desk.one.finger))
    #expect(desk.sync(\.one) == "accepted")
    desk.server.prune(through: horizon)
    desk.one.make(.create(row(["x": 2])), "a")
    #expect(desk.server.push(copy, at: desk.now) == ["a"])
    #expect(desk.sync(\.one) == "accepted")
    #expect(desk.server.text == #"a{"x":2}"# && desk.one.overruled.isEmpty)
  }

  // MARK: Stamps, pages, expiry

  @Test func `two changes in one millisecond do not hide each other`() {
    var desk = RecordDesk()
    desk.set("a", ["x": 1])
    desk.pull(\.one)
    desk.set("a", ["x": 2])
    #expect(desk.pull(\.one) == ["level"])
    #expect(desk.one.view.text == #"a{"x":2}"#)
    #expect(desk.pull(\.one) == ["level"], "and then there is nothing")
  }

  @Test func `bug 82: a first pull comes in small pages, and shows nothing until it is whole`()
    throws
  {
    var desk = RecordDesk(pages: 10)
    for number in 10..<45 { desk.set(RecordKey("t", "\(number)"), ["x": 1]) }
    var sizes: [Int] = []
    while !desk.one.isLevel {
      let answer = try desk.ask(\.one)
      sizes.append(answer.created.count + answer.updated.count + answer.deleted.count)
      #expect(desk.one.view.text == "", "nothing of the pages is shown")
      desk.one.take(answer)
      if sizes.count == 2 {  // Changes behind the cursor and before it, while pages are pulled.
        desk.set("10", ["x": 2])
        desk.delete("11")
        desk.set("44", ["x": 2])
        desk.set("12a", ["x": 3])
      }
      desk.one = try desk.one.restored()  // A crash after each page.
      if answer.isWhole { break }
    }
    #expect(sizes == [10, 10, 10, 5, 4])
    #expect(desk.one.view.text == desk.server.text)
  }

  @Test func `pages after an expiry show and overrule nothing before they are whole`() throws {
    var desk = RecordDesk(pages: 1)
    for key in ["a", "b", "c"] as [RecordKey] { desk.set(key, ["x": 1]) }
    desk.pull(\.one)
    desk.one.make(.update(row(["x": 2])), "c")
    desk.delete("b")
    desk.server.prune(through: desk.server.last)
    let request = desk.one.pull()
    #expect(request != nil && request.flatMap { desk.server.pull($0) } == nil)
    desk.one.expire()
    let page = try desk.ask(\.one)
    desk.one.take(page)
    #expect(!desk.one.isLevel && desk.push(\.one) == "nothing")
    #expect(desk.one.view.text == #"a{"x":1} b{"x":1} c{"x":2}"# && desk.one.overruled.isEmpty)
    #expect(desk.pull(\.one) == ["level"])
    #expect(desk.one.view.text == #"a{"x":1} c{"x":2}"#)
    #expect(desk.push(\.one) == "accepted" && desk.server.text == desk.one.view.text)
  }

  @Test func `records can be created before the first pull`() {
    var desk = RecordDesk()
    desk.set("b", [:])
    #expect(desk.one.make(.create(row([:])), "a") == true)
    #expect(desk.one.make(.update(row([:])), "b") == false)
    #expect(desk.push(\.one) == "nothing")
    #expect(desk.sync(\.one) == "accepted")
    #expect(desk.server.text == "a{} b{}" && desk.one.view.text == "a{} b{}")
  }

  @Test func `a level client with nothing to push gets nothing, and writes nothing`() throws {
    var desk = RecordDesk()
    desk.set("a", [:])
    desk.pull(\.one)
    let (model, finger) = (desk.one.model, desk.one.finger)
    #expect(desk.pull(\.one) == ["level"])
    #expect(desk.one.model == model && desk.one.finger == finger)
    #expect(!desk.server.hasNews(since: try #require(finger)))
  }

  // MARK: Bad answers

  @Test func `bug 75: changes without a later moment, and other impossible answers, are gaps`()
    throws
  {
    let finger = RecordFinger(
      epoch: 1, lastPulledAt: RecordStamp(5), schema: 9, cursor: nil,
      isWhole: true)
    let rows = [RecordRow("b", row([:])), RecordRow("a", row([:]))]
    func advance(
      _ at: UInt64, since: UInt64 = 5, epoch: UInt64 = 1, schema: UInt64? = nil,
      current: Bool = true, _ created: [RecordRow] = []
    ) -> SyncAdvance<RecordFinger> {
      RecordSync.advance(
        finger,
        over: PulledRecords(
          client: ClientID(1), epoch: epoch, pulledAt: RecordStamp(at),
          content: .changes(since: RecordStamp(since)),
          schema: schema,
          isCurrent: current, created: created))
    }
    #expect(advance(5, [rows[0]]) == .gap)
    #expect(advance(6, rows) == .gap, "out of order")
    #expect(advance(6, [rows[0], rows[0]]) == .gap, "named twice")
    #expect(advance(6, epoch: 2) == .gap, "of another server")
    #expect(advance(6, schema: 8) == .gap, "of an older schema")
    #expect(advance(4, since: 5) == .gap, "backwards")
    #expect(advance(5) == .seen)
    #expect(advance(5, current: false) == .incomplete)
    #expect(advance(4, since: 3) == .incomplete, "an older answer")
    #expect(advance(5, since: 3, [rows[0]]) == .incomplete, "an answer that was taken already")
    #expect(advance(9, since: 7) == .lost, "5 to 7 are missing")
    var next = finger
    next.lastPulledAt = RecordStamp(6)
    #expect(advance(6, [rows[0]]) == .next(next, first: 0))
    #expect(advance(6, current: false) == .next(next, first: 0, isComplete: false))
  }

  @Test func `pages are taken in their order only`() throws {
    func page(_ after: RecordKey?, _ through: RecordKey?, at: UInt64, _ rows: [RecordKey])
      -> PulledRecords
    {
      PulledRecords(
        client: ClientID(1), epoch: 1, pulledAt: RecordStamp(at),
        content: .page(after: after, through: through),
        created: rows.map { RecordRow($0, row([:])) })
    }
    let finger = page(nil, "b", at: 7, ["b"]).finger
    #expect(RecordSync.advance(finger, over: page(nil, "b", at: 7, ["b"])) == .incomplete)
    #expect(RecordSync.advance(finger, over: page("a", "b", at: 7, ["b"])) == .incomplete)
    #expect(RecordSync.advance(finger, over: page("c", nil, at: 7, [])) == .lost)
    #expect(RecordSync.advance(finger, over: page("b", nil, at: 8, [])) == .lost)
    #expect(RecordSync.advance(finger, over: page("b", nil, at: 7, ["a"])) == .gap)
    #expect(RecordSync.advance(finger, over: page("b", "d", at: 7, ["c"])) == .gap)
    #expect(throws: RecordRefusal.notAPage) {
      try RecordModel(snapshot: page("b", nil, at: 7, ["c"]))
    }
    #expect(throws: RecordRefusal.disordered("b")) {
      try RecordModel(snapshot: page(nil, "b", at: 7, []))
    }
  }

  @Test func `keys sort as their bytes do`() throws {
    let keys = [("", ""), ("", "b"), ("a", ""), ("a", "z"), ("a\0", "a"), ("ab", "a"), ("é", "")]
      .map { RecordKey($0.0, $0.1) }
    for (one, next) in zip(keys, keys.dropFirst()) {
      #expect(one < next && one.keyBytes.lexicographicallyPrecedes(next.keyBytes))
    }
    for key in keys { #expect(try RecordKey(keyBytes: key.keyBytes) == key) }
    #expect(RecordKey("t", "e\u{301}") != RecordKey("t", "é"))
    #expect(throws: StoredFormError.self) { try RecordKey(keyBytes: [98]) }
  }

  /// It may have been made over a state that an update of the app could not read.
  @Test func `a change of a record that is yet to be pulled is not overruled`() {
    let change = RecordChange(.update(["title": "Milk"]), RecordKey("tasks", "1"))
    var state = RecordState()
    #expect(throws: RecordChange.Refusal.notPulled) { try change.apply(to: &state) }
    #expect(!change.isOverruled(by: .notPulled))
    state.lastPulledAt = RecordStamp(5)
    #expect(throws: RecordChange.Refusal.gone) { try change.apply(to: &state) }
    #expect(change.isOverruled(by: .gone))
  }
}
