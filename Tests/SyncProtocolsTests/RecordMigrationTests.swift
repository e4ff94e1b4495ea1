import SyncProtocols
import Testing
import UpdateMachine

/// Syncs of an app whose schema has changed.
struct RecordMigrationTests {
  /// The table of migration syncs: last pulled at, enabled at, last synced; what is done. The
  /// current version is 10.
  struct Case: CustomStringConvertible {
    var pulled: UInt64?
    var enabled: UInt64?
    var synced: UInt64?
    var expected: String

    init(_ pulled: UInt64?, _ enabled: UInt64?, _ synced: UInt64?, _ expected: String) {
      (self.pulled, self.enabled, self.synced, self.expected) = (pulled, enabled, synced, expected)
    }

    var description: String {
      "\(pulled, default: "-") \(enabled, default: "-") \(synced, default: "-")"
    }
  }

  @Test(arguments: [
    Case(nil, nil, nil, "none, noted"), Case(nil, 9, nil, "none, noted"),
    Case(nil, 9, 9, "none, noted"), Case(100, nil, nil, "none"), Case(100, nil, 9, "none"),
    Case(100, 9, 10, "none"), Case(100, 9, 9, "v9–10, noted"), Case(100, 9, nil, "v9–10, noted"),
    Case(100, 9, 7, "v7–10, noted"), Case(100, 10, nil, "none, noted"),
    Case(100, 9, 11, "syncedByLaterVersion"), Case(nil, 9, 11, "syncedByLaterVersion"),
    Case(100, nil, 11, "syncedByLaterVersion"), Case(100, 11, 11, "syncedByLaterVersion"),
    Case(100, 11, 9, "enabledAtLaterVersion"), Case(nil, 11, nil, "enabledAtLaterVersion"),
  ])
  func `a migration is planned as in the table, errors first`(_ row: Case) {
    var text: String
    do throws(RecordMigration.Mistake) {
      let plan = try RecordMigration.plan(
        lastPulledAt: row.pulled.map { RecordStamp($0) },
        migrationsEnabledAt: row.enabled,
        lastSynced: row.synced, current: 10)
      text = plan.from.map { "v\($0)–10" } ?? "none"
      if plan.notesSchema { text += ", noted" }
    } catch {
      text = "\(error)"
    }
    #expect(text == row.expected)
  }

  /// A server whose schema got the column t.y in version 10 and the table u in version 11.
  private func desk(pages: Int = 100) -> RecordDesk {
    var desk = RecordDesk(pages: pages)
    desk.server.additions = [
      RecordServer.Addition(10, table: "t", column: "y"),
      RecordServer.Addition(11, table: "u"),
    ]
    desk.set("a", ["x": 1, "y": 1])
    desk.set("b", ["x": 1])
    desk.set("u/c", [:])
    return desk
  }

  @Test func `after a migration, tables and columns added since are complete`() {
    var desk = desk()
    let enabled: UInt64 = 9
    desk.one.schema = RecordSchema(9, migrationsEnabledAt: enabled)
    desk.pull(\.one)
    #expect(desk.one.view.text == #"a{"x":1} b{"x":1}"#)
    desk.set("b", ["y": 2])
    desk.delete("u/c")
    desk.set("u/d", [:])
    desk.pull(\.one)
    #expect(desk.one.view.text == #"a{"x":1} b{"x":1}"#, "nothing of what it does not know")
    desk.one.make(.update(row(["x": 5])), "a")
    desk.one.make(.delete, "b")
    // Not even another change is needed: the finger's schema moves.
    desk.one.schema.current = 11
    #expect(desk.pull(\.one) == ["level"])
    #expect(desk.one.view.text == #"a{"x":5,"y":1} u/d{}"# && desk.one.overruled.isEmpty)
    #expect(desk.one.finger?.schema == 11)
    #expect(desk.one.pull()?.migratesFrom == nil, "once is enough")
    desk.sync(\.one)
    #expect(desk.one.view.text == desk.server.text)
  }

  @Test func `an app without migration syncs notes nothing, and a later one makes up for it`() {
    var desk = desk()
    desk.one.schema = RecordSchema(9)
    desk.pull(\.one)
    desk.one.schema.current = 11
    desk.pull(\.one)
    #expect(desk.one.finger?.schema == 9)
    desk.one.schema.migrationsEnabledAt = 11
    desk.pull(\.one)
    #expect(desk.one.view.text == desk.server.text)
  }

  @Test func `a mistake in the app pulls nothing and notes nothing`() {
    var desk = desk()
    desk.one.schema = RecordSchema(11)
    desk.pull(\.one)
    let finger = desk.one.finger
    #expect(throws: SyncFailure.unsupported) {
      _ = try RecordPull(
        client: ClientID(1), after: finger, schema: RecordSchema(10))
    }
  }

  @Test func `an app that is updated between two pages starts over`() throws {
    var desk = desk(pages: 1)
    desk.one.schema = RecordSchema(
      9, migrationsEnabledAt: 9)
    let page = try desk.ask(\.one)
    desk.one.take(page)
    desk.one.schema.current = 11
    #expect(desk.pull(\.one) == ["expired", "more", "more", "level"])
    #expect(desk.one.view.text == desk.server.text)
  }
}
