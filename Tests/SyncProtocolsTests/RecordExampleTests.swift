import Foundation
import SyncProtocols
import Testing
import UpdateMachine

/// Checks that the article about RecordSync does what it says.
@Suite struct RecordExampleTests {
  @Test func `the article's tasks are merged, and a deletion overrules`() async throws {
    var shown: [String] = []
    func show(_ task: SyncedRecord?) {
      shown.append(task.map { "\(JSONValue.object($0.columns))" } ?? "nothing")
    }
    func show(_ text: String) { shown.append(text) }

    // Article example begins: records
    let server = LocalRecordSync(pullingEvery: .seconds(1))
    let milk = RecordKey("tasks", "1")
    await server.set(milk, ["title": "Milk", "done": false])

    let machine = UpdateMachine(source: server.source())
    async let following: Void = machine.run()
    for await state in await machine.states() where state.model != nil { break }

    // Somebody else changes the title, and our user another column of the same record.
    await server.set(milk, ["title": "Oat milk"])
    let done = try await machine.mutate(RecordChange(.update(["done": true]), milk))
    show(await machine.state.view?.records[milk])  // It is done at once, offline, too.
    await machine.acknowledged(done.ticket)  // The server has it, and we have what it has.
    show(await machine.state.view?.records[milk])  // {"done":true,"title":"Oat milk"}

    // Our user makes a new one, under an ID that nobody else draws.
    let bread = RecordKey("tasks", UUID().uuidString)
    _ = try await machine.mutate(RecordChange(.create(["title": "Bread", "done": false]), bread))
    show(await machine.state.view?.records[bread])  // {"done":false,"title":"Bread"}

    // Somebody else deletes the record. As long as we do not know it, our user can change it.
    await server.delete(milk)
    do {
      let late = try await machine.mutate(RecordChange(.update(["title": "Soy milk"]), milk))
      if await machine.acknowledged(late.ticket) == .overruled { show("Your task was deleted.") }
    } catch {
      show("There is no such task.")  // We knew it: refused(.gone).
    }
    await machine.stop()
    // Article example ends

    await following
    let (merged, old) = (#"{"done":true,"title":"Oat milk"}"#, #"{"done":true,"title":"Milk"}"#)
    // On a slow machine a pull may come in between.
    let made = #"{"done":false,"title":"Bread"}"#
    #expect([old, merged].contains(shown.first))
    #expect(Array(shown.dropFirst().dropLast()) == [merged, made])
    #expect(["Your task was deleted.", "There is no such task."].contains(shown.last))
    let left = await server.records
    #expect(left[milk] == nil)
  }

  @Test func `the article's source follows a server of its own, and pushes to it`() async throws {
    let server = TaskServer()
    let (milk, tea) = (RecordKey("tasks", "1"), RecordKey("tasks", "2"))
    for number in 1...5 { await server.set(RecordKey("tasks", "\(number)"), ["title": "?"]) }
    let machine = UpdateMachine(source: TaskSource(server: server))
    async let following: Void = machine.run()
    for await state in await machine.states() where state.freshness.claim == .connected { break }
    #expect(await machine.state.view?.records.count == 5)

    await server.set(milk, ["title": "Milk"])
    _ = try await machine.mutate(RecordChange(.update(["done": true]), milk))
    _ = try await machine.mutate(RecordChange(.delete, tea))
    for await state in await machine.states() where state.pending.allSatisfy(\.isThere) { break }
    let present = await server.records
    #expect(present[milk] == ["title": "Milk", "done": true])
    #expect(present.count == 4)
    await machine.stop()
    await following
  }
}

extension PendingMutation {
  /// Whether the server has said that it has it.
  fileprivate var isThere: Bool { if case .accepted = stage { true } else { false } }
}

// Article example begins: record source
/// Follows the tasks of a server of your own.
struct TaskSource: SyncSource {
  typealias Model = RecordModel
  typealias Sync = RecordSync

  let server: TaskServer  // Your networking code. It has a method for each of the two requests.

  func register(
    as client: ClientID
  ) async throws(SyncFailure) -> Registered<PulledRecords, RecordFinger> {
    let first = try await pull(after: nil, as: client)
    return Registered(
      snapshot: first, finger: first.finger, terms: .recordSync(), isComplete: first.isWhole)
  }

  func poll(after finger: RecordFinger, waits: Bool) async throws(SyncFailure) -> PulledRecords {
    try await pull(after: finger)
  }

  private func pull(
    after finger: RecordFinger?, as client: ClientID? = nil
  ) async throws(SyncFailure) -> PulledRecords {
    let pull = try RecordPull(client: client, after: finger, schema: RecordSchema(1))
    let news = try await server.changes(after: pull.lastPulledAt, cursor: pull.cursor)
    return pull.answer(
      epoch: news.epoch, pulledAt: news.timestamp, through: news.cursor, created: news.created,
      updated: news.updated, deleted: news.deleted)
  }

  func release(_ log: RecordLog) async {}

  func push(
    _ push: PushRequest<RecordChange>, at finger: RecordFinger?
  ) async throws(PushFailure) -> PushAnswer {
    guard let finger else { return .behind }
    do throws(SyncFailure) {
      let conflicts = try await server.apply(RecordPush(push.mutations, at: finger))
      return RecordPush.answer(to: push.mutations, refusing: conflicts, tookRest: true)
    } catch {
      throw PushFailure(error)
    }
  }
}
// Article example ends

/// The networking code of an app, and the server behind it.
actor TaskServer {
  struct News {
    var epoch: UInt64
    var timestamp: RecordStamp
    var cursor: RecordKey?
    var created: [RecordRow]
    var updated: [RecordRow]
    var deleted: [RecordKey]
  }

  private var server = RecordServer(epoch: 1, pageMaximum: 2)
  private let now = Moment(milliseconds: 1000)

  init() { server.takesRest = true }

  var records: VersionedMap<RecordKey, JSONObject> { server.records }

  func set(_ key: RecordKey, _ columns: JSONObject) { server.set(key, columns, at: now) }

  func changes(
    after stamp: RecordStamp?, cursor: RecordKey?
  ) throws(SyncFailure) -> News {
    let version: UInt64 = 1
    let finger = stamp.map {
      RecordFinger(
        epoch: 1, lastPulledAt: $0, schema: version, cursor: cursor, isWhole: cursor == nil)
    }
    let pull = try RecordPull(client: ClientID(0), after: finger, schema: RecordSchema(version))
    guard let answer = server.pull(pull) else { throw .expired }
    var last: RecordKey?
    if case .page(_, let through) = answer.content { last = through }
    return News(
      epoch: 1, timestamp: server.last, cursor: last, created: answer.created.reversed(),
      updated: answer.updated.reversed(), deleted: answer.deleted.reversed())
  }

  func apply(_ push: RecordPush) throws(SyncFailure) -> [RecordKey] {
    server.push(push, at: now)
  }
}
