import CDiskFaults
import Foundation
import SyncProtocols
import Testing
import UpdateMachine

@testable import SQLiteStore

/// A server's state: names.
private struct People: ServerTruth, Equatable {
  var names: [String] = ["Ada"]

  var snapshot: [String] { names }
  var checksum: UInt64 { UInt64(names.count) }
  mutating func apply(_ event: String) { names.append(event) }
  static func merged(_ pending: String, _ newer: String) -> String? { nil }
  static func isDeletion(_ event: String) -> Bool { false }
}

private struct Names: StorableModel, Equatable, Codable {
  typealias Refusal = Never
  var names: [String]

  init(snapshot: [String]) { names = snapshot }
  mutating func apply(_ event: String) { names.append(event) }
}

/// An app whose file is useless, or whose disk fails. It must learn what is wrong and what to do,
/// overwrite nothing, and follow its server as well as it can.
@Suite struct BadInputTests {
  private typealias Machine = UpdateMachine<LocalEventQueueSource<People, Names>>

  private let server = LocalEventQueue(truth: People())

  /// Opens the file like the article's app, but goes on without a store if that fails.
  private func open(_ path: String) async -> (store: SQLiteStore?, refusal: SQLiteFileError?) {
    do throws(SQLiteFileError) {
      return (try await SQLiteFile.open(at: path).store(named: "directory"), nil)
    } catch {
      return (nil, error)
    }
  }

  private func machine(_ store: SQLiteStore?, _ reports: Reports) -> Machine {
    let source = server.source(for: Names.self)
    guard let store else { return UpdateMachine(source: source, reporter: { reports.note($0) }) }
    return UpdateMachine(source: source, store: store, reporter: { reports.note($0) })
  }

  /// Waits until the machine holds `count` names and, if there is a store, has saved them.
  private func wait(_ machine: Machine, for count: Int) async {
    for await state in await machine.states() where state.model?.names.count == count {
      if state.status?.outstanding?.waits == true { return }
    }
  }

  // MARK: What is no file of ours

  @Test func `a folder in place of the file is reported, and the app follows without a store`()
    async throws
  {
    let shelf = try Shelf()
    shelf.write([1, 2, 3], to: "something")
    let (store, refusal) = await open(shelf.folder)
    #expect(refusal == .isFolder(path: shelf.folder))
    #expect(refusal?.description.hasSuffix("Say the name of a file in it.") == true)
    let reports = Reports()
    let machine = machine(store, reports)
    async let following: Void = machine.run()
    await wait(machine, for: 1)
    await machine.stop()
    await following
    #expect(reports.all == [])
    #expect(shelf.names == ["something"])
    #expect(shelf.bytes("something") == [1, 2, 3])
  }

  @Test func `a file that is not a database is reported, and the app follows without a store`()
    async throws
  {
    let shelf = try Shelf()
    let diary = Array(String(repeating: "Dear diary, ", count: 1000).utf8)
    shelf.write(diary, to: "replicas.db")
    let (store, refusal) = await open(shelf.path)
    #expect(refusal == .notADatabase(path: shelf.path))
    #expect(refusal?.description.contains("choose another path, or move it away") == true)
    let machine = machine(store, Reports())
    async let following: Void = machine.run()
    await wait(machine, for: 1)
    await machine.stop()
    await following
    #expect(shelf.bytes("replicas.db") == diary)
  }

  /// This runs in a process of its own as a user who is not root, because root may do everything.
  @Test func `a read-only folder is reported, and the app follows without a store`() async throws {
    let shelf = try Shelf()
    let before: [UInt8]
    do {
      let file = try await SQLiteFile.open(at: shelf.path)
      try await file.store(named: "directory").checkpoint(bigForm(10))
      await file.close()
      before = shelf.bytes("replicas.db")
    }
    let folder = shelf.folder
    for (mode, name) in [(0o666, "/replicas.db-lock"), (0o644, "/replicas.db"), (0o555, "")] {
      try FileManager.default.setAttributes(
        [.posixPermissions: mode], ofItemAtPath: folder + name)
    }
    await #expect(processExitsWith: .exitCode(42)) { [folder = folder as String] in
      if geteuid() == 0, setuid(65534) != 0 { exit(1) }
      let tests = BadInputTests()
      for name in ["/new.db", "/replicas.db"] {
        let (store, refusal) = await tests.open(folder + name)
        guard case .notPermitted = refusal else { exit(2) }
        guard refusal!.description.contains("Change its permissions") else { exit(3) }
        let machine = tests.machine(store, Reports())
        async let following: Void = machine.run()
        await tests.wait(machine, for: 1)
        await machine.stop()
        await following
      }
      exit(42)
    }
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder)
    #expect(shelf.bytes("replicas.db") == before)
    #expect(shelf.names == ["replicas.db", "replicas.db-lock"])
  }

  // MARK: What fails under a machine

  @Test(arguments: [
    (DISK_IS_FULL, "Free some space; nothing that is saved was lost."),
    (DISK_WRITE_FAILED, "Look whether it is well."),
    (DISK_SYNC_FAILED, "Look whether it is well."),
  ])
  func `a client on a failing disk shows states, says what to do, and acknowledges nothing`(
    failure: disk_failure, advice: String
  ) async throws {
    let shelf = try Shelf()
    let disk = FaultyDisk()
    let file = try await SQLiteFile.open(at: shelf.path, settings: disk.settings)
    let reports = Reports()
    let machine = machine(file.store(named: "directory"), reports)
    async let following: Void = machine.run()
    await wait(machine, for: 1)

    let kind = failure == DISK_SYNC_FAILED ? DISK_SYNC : DISK_WRITE
    disk.fail(FaultyDisk.Fault(kind: kind, place: 0, length: .max, failure: failure))
    await server.commit("Grace")
    for await state in await machine.states() {
      if state.model?.names.count == 2, state.status?.description == "pollFailed" { break }
    }
    let first = try #require(reports.all.first)
    guard case .store(.failed(let words)) = first else {
      Issue.record("\(first)")
      return
    }
    #expect(words.hasSuffix(advice) || words.contains(advice))
    #expect(disk.failures > 0)

    // The machine saves by itself as soon as it can.
    disk.fail(nil)
    await wait(machine, for: 2)
    await machine.stop()
    await following
    let form = try #require(try await file.store(named: "directory").load())
    let names = try #require(form.rows.first { $0.key.table == .firstOfModel })
    #expect(String(decoding: names.value, as: UTF8.self).contains("Grace"))
    await file.close()
  }

  @Test func `a damaged row is reported and kept, and the replica starts stale`() async throws {
    let shelf = try Shelf()
    let file = try await SQLiteFile.open(at: shelf.path)
    let before = machine(file.store(named: "directory"), Reports())
    async let first: Void = before.run()
    await wait(before, for: 1)
    await before.stop()
    await first
    await file.close()

    try shelf.run("UPDATE row SET value = x'00FF' WHERE tab = 16")
    let again = try await SQLiteFile.open(at: shelf.path)
    let reports = Reports()
    let machine = machine(again.store(named: "directory"), reports)
    async let following: Void = machine.run()
    await wait(machine, for: 1)
    await machine.stop()
    await following
    guard case .store(.unreadable(let words)) = reports.all.first else {
      Issue.record("\(reports.all)")
      return
    }
    #expect(words.contains("table 16 is not what was written"))
    #expect(try await again.replicas().map(\.aside) == [0, 1])
    await again.close()
    let connection = try Connection(path: shelf.path, vfs: nil)
    let kept = try connection.text(
      """
      SELECT hex(value) FROM row JOIN replica ON replica = id WHERE aside = 1 AND tab = 16
      """)
    #expect(kept == "00FF")
  }
}
