import Foundation
import SQLiteStore
import SyncProtocols
import Testing
import UpdateMachine

/// A server's state: names, in the order in which people joined.
private struct People: ServerTruth, Equatable {
  var names: [String] = []

  var snapshot: [String] { names }
  var checksum: UInt64 { UInt64(names.count) }
  mutating func apply(_ event: String) { names.append(event) }
  static func merged(_ pending: String, _ newer: String) -> String? { nil }
  static func isDeletion(_ event: String) -> Bool { false }
}

/// An app's model of the names, in one row.
private struct PeopleModel: StorableModel, Equatable {
  typealias Refusal = Never
  var names: [String]

  init(snapshot: [String]) { names = snapshot }
  mutating func apply(_ event: String) { names.append(event) }

  func store(since old: PeopleModel?, into rows: inout RowWriter) {
    rows.put(.firstOfModel, names, since: old?.names)
  }

  init(stored rows: RowReader) throws(StoredFormError) {
    names = try rows.value(of: .firstOfModel) ?? []
  }
}

/// A machine that is stored in a file.
@Suite struct StoreExampleTests {
  @Test func `the article's machine goes on after a restart, before the server is asked`()
    async throws
  {
    let shelf = try Shelf()
    let path = shelf.path
    let server = LocalEventQueue(truth: People(names: ["Ada"]))
    let source = server.source(for: PeopleModel.self)
    do {
      // Article example begins: store
      let file = try await SQLiteFile.open(at: path)  // Refused if another process has it open.
      if let aside = await file.movedAside { print(aside) }  // Damaged, or a later version's.
      let directory = file.store(named: "directory")  // One of many replicas in the file.
      let machine = UpdateMachine(source: source, store: directory)
      async let following: Void = machine.run()  // Begins with what was saved.
      // Article example ends

      await server.commit("Grace")
      for await state in await machine.states() where state.model?.names.count == 2 {
        if state.isWritten { break }
      }
      await machine.stop()
      await following
      await file.close()
    }

    let file = try await SQLiteFile.open(at: path)
    let machine = UpdateMachine(source: source, store: file.store(named: "directory"))
    // In the background the machine asks the server for nothing.
    async let resting: Void = machine.run(inForeground: false)
    for await state in await machine.states() where state.status != nil { break }
    #expect(await machine.state.model?.names == ["Ada", "Grace"])
    try await machine.logOut()
    await resting
    #expect(try await file.replicas() == [])
  }

  /// The app's model is of a later version than the saved form, which is set aside and kept.
  @Test func `an unreadable form is set aside in the file, and the replica starts anew`()
    async throws
  {
    let shelf = try Shelf()
    let file = try await SQLiteFile.open(at: shelf.path)
    let store = file.store(named: "directory")
    try await store.checkpoint(
      SavedRows(
        rows: [(key: StoredKey(StoredTable(0), []), value: [99])],
        writtenAt: WallTime(milliseconds: 1)))
    let server = LocalEventQueue(truth: People(names: ["Ada"]))
    let machine = UpdateMachine(source: server.source(for: PeopleModel.self), store: store)
    async let following: Void = machine.run()
    for await state in await machine.states() where state.model?.names == ["Ada"] {
      if state.isWritten { break }
    }
    await machine.stop()
    await following
    #expect(try await file.replicas().map(\.aside) == [0, 1])
  }
}

extension ReplicaState {
  /// Whether everything was written. A waiting poll proves it, because it is sent only after the
  /// write.
  fileprivate var isWritten: Bool { status?.outstanding?.waits == true }
}
