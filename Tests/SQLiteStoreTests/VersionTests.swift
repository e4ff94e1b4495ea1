import Foundation
import SyncProtocols
import Testing
import UpdateMachine

@testable import SQLiteStore

/// A model of names as one version of an app writes it.
private protocol AppVersion {
  static var number: UInt64 { get }
  /// The oldest version whose rows this one can migrate.
  static var oldest: UInt64 { get }
}

private enum App1: AppVersion { static let (number, oldest): (UInt64, UInt64) = (1, 1) }
private enum App2: AppVersion { static let (number, oldest): (UInt64, UInt64) = (2, 1) }
private enum App3: AppVersion { static let (number, oldest): (UInt64, UInt64) = (3, 3) }

private struct Names<Version: AppVersion>: StorableModel, Equatable {
  typealias Refusal = Never
  static var storedVersion: UInt64 { Version.number }
  var names: [String]

  init(snapshot: [String]) { names = snapshot }
  mutating func apply(_ event: String) { names.append(event) }

  /// Each version keeps its names in a table of its own.
  private static func table(_ version: UInt64) -> StoredTable {
    .firstOfModel.advanced(by: UInt8(version))
  }

  func store(since old: Names?, into rows: inout RowWriter) {
    rows.put(Names.table(Version.number), names, since: old?.names)
  }

  init(stored rows: RowReader) throws(StoredFormError) {
    let found: [String]? = try rows.value(of: Names.table(Version.number))
    guard let found else { throw StoredFormError(expected: "names") }
    names = found
  }

  static func migrate(
    _ rows: RowReader, from version: UInt64
  ) throws(StoredFormError) -> RowReader {
    guard version >= Version.oldest else { throw StoredFormError(expected: "a newer version") }
    var migrated = rows.rows
    for index in migrated.indices where migrated[index].key.table == table(version) {
      migrated[index].key.table = table(Version.number)
    }
    return try RowReader(migrated)
  }
}

/// A server's state: names.
private struct People: ServerTruth, Equatable {
  var names: [String] = ["Ada"]

  var snapshot: [String] { names }
  var checksum: UInt64 { UInt64(names.count) }
  mutating func apply(_ event: String) { names.append(event) }
  static func merged(_ pending: String, _ newer: String) -> String? { nil }
  static func isDeletion(_ event: String) -> Bool { false }
}

/// Tests one version of an app after another on the same file, each with a machine and a server.
@Suite struct VersionTests {
  private let server = LocalEventQueue(truth: People())

  /// What an app found in the file before it asked the server, what it reported, and what it held
  /// in the end.
  private struct Start: Equatable {
    var found: [String]?
    var reports: [DriverReport] = []
    var held: [String]?
  }

  /// Starts an app, and waits until it holds `count` names and has saved them.
  private func start<Version: AppVersion>(
    _ version: Version.Type, _ shelf: Shelf, until count: Int
  ) async throws -> Start {
    let file = try await SQLiteFile.open(at: shelf.path)
    let reports = Reports()
    let machine = UpdateMachine(
      source: server.source(for: Names<Version>.self), store: file.store(named: "directory"),
      reporter: { reports.note($0) })
    var start = Start()
    // In the background the machine asks the server for nothing.
    async let following: Void = machine.run(inForeground: false)
    for await state in await machine.states() where state.status != nil {
      start.found = state.model?.names
      break
    }
    await machine.enterForeground()
    for await state in await machine.states() where state.model?.names.count == count {
      if state.status?.outstanding?.waits == true { break }
    }
    start.held = await machine.state.model?.names
    await machine.stop()
    await following
    await file.close()
    start.reports = reports.all
    return start
  }

  private func asides(_ shelf: Shelf) async throws -> [Int64] {
    let file = try await SQLiteFile.open(at: shelf.path)
    let asides = try await file.replicas().map(\.aside)
    await file.close()
    return asides
  }

  /// Every byte of the form that was set aside under a number.
  private func rows(_ shelf: Shelf, aside: Int64) throws -> String {
    try Connection(path: shelf.path, vfs: nil).text(
      """
      SELECT group_concat(tab || ':' || hex(key) || '=' || hex(value), ' ') FROM row
      WHERE replica = (SELECT id FROM replica WHERE aside = \(aside))
      """)
  }

  @Test func `a form of an older app is migrated, shown at once, and followed`() async throws {
    let shelf = try Shelf()
    let old = try await start(App1.self, shelf, until: 1)
    #expect(old == Start(found: nil, held: ["Ada"]))
    await server.commit("Grace")
    let new = try await start(App2.self, shelf, until: 2)
    #expect(new == Start(found: ["Ada"], held: ["Ada", "Grace"]))
    // It is written in the new form, and nothing of the old form is left.
    let again = try await start(App2.self, shelf, until: 2)
    #expect(again.found == ["Ada", "Grace"])
    #expect(try await asides(shelf) == [0])
    #expect(try !rows(shelf, aside: 0).contains("17:="))
  }

  @Test
  func `a form of an older app that offers no migration is set aside, and the app starts stale`()
    async throws
  {
    let shelf = try Shelf()
    _ = try await start(App2.self, shelf, until: 1)
    let before = try rows(shelf, aside: 0)
    let new = try await start(App3.self, shelf, until: 1)
    #expect(new.found == nil)
    #expect(new.held == ["Ada"])
    #expect(new.reports.count == 1)
    #expect(try await asides(shelf) == [0, 1])
    #expect(try rows(shelf, aside: 1) == before)
  }

  /// The user goes back to an older app, and then forward again.
  @Test func `an older app never destroys what a newer one wrote`() async throws {
    let shelf = try Shelf()
    _ = try await start(App2.self, shelf, until: 1)
    let before = try rows(shelf, aside: 0)
    let older = try await start(App1.self, shelf, until: 1)
    #expect(older.found == nil)
    #expect(older.held == ["Ada"])
    #expect(
      older.reports == [.store(.unreadable("the saved form is of a newer version, 2"))])
    #expect(try rows(shelf, aside: 1) == before)
    // Anyone who wants the old form back can have it, because it is whole.
    try shelf.run("DELETE FROM replica WHERE aside = 0")
    try shelf.run("UPDATE replica SET aside = 0")
    let newer = try await start(App2.self, shelf, until: 1)
    #expect(newer == Start(found: ["Ada"], held: ["Ada"]))
  }

  @Test func `an app with an older library never destroys what a newer one wrote`() async throws {
    let shelf = try Shelf()
    _ = try await start(App1.self, shelf, until: 1)
    do {
      let file = try await SQLiteFile.open(at: shelf.path)
      let store = file.store(named: "directory")
      let saved = try #require(try await store.load())
      var head = try #require(saved.rows.first { $0.key == key(0) }).value
      head[0] += 1  // This byte is the library's version.
      try await store.append(
        JournalEntry(rows: [StoredRow(key(0), head)], writtenAt: saved.writtenAt))
      await file.close()
    }
    let before = try rows(shelf, aside: 0)
    let older = try await start(App1.self, shelf, until: 1)
    #expect(older.found == nil)
    #expect(older.held == ["Ada"])
    #expect(
      older.reports == [.store(.unreadable("the saved form is of a newer version, 4"))])
    #expect(try await asides(shelf) == [0, 1])
    #expect(try rows(shelf, aside: 1) == before)
  }

  /// An app that asks the server for nothing saves nothing, so nothing has to be set aside.
  @Test func `an older app that only reads leaves everything unchanged`() async throws {
    let shelf = try Shelf()
    _ = try await start(App2.self, shelf, until: 1)
    let before = try rows(shelf, aside: 0)
    let file = try await SQLiteFile.open(at: shelf.path)
    let machine = UpdateMachine(
      source: server.source(for: Names<App1>.self), store: file.store(named: "directory"))
    async let following: Void = machine.run(inForeground: false)
    for await state in await machine.states() where state.status != nil { break }
    await machine.stop()
    await following
    await file.close()
    #expect(try await asides(shelf) == [0])
    #expect(try rows(shelf, aside: 0) == before)
  }
}

/// What a driver has reported, in order.
final class Reports: Sendable {
  private let lock = NSLock()
  nonisolated(unsafe) private var noted: [DriverReport] = []

  var all: [DriverReport] { lock.withLock { unsafe noted } }

  func note(_ report: DriverReport) { lock.withLock { unsafe noted.append(report) } }
}
