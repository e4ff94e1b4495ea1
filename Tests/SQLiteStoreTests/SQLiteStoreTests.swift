import Foundation
import TestSupport
import Testing
import UpdateMachine

@testable import SQLiteStore

/// Tests what a store promises, on a file that is left alone.
@Suite struct SQLiteStoreTests {
  @Test func `written rows are there after a restart, in key order`() async throws {
    let shelf = try Shelf()
    do {
      let file = try await SQLiteFile.open(at: shelf.path)
      let store = file.store(named: "directory")
      #expect(try await store.load() == nil)
      try await store.checkpoint(
        form(5, (key(16, 2), [2]), (key(0), []), (key(16, 1, 9), [9]), (key(16, 1), [1])))
      try await store.append(entry(6, (key(16, 2), nil), (key(255, 0), [7]), (key(0), [8])))
      await file.close()
    }
    #expect(shelf.names == ["replicas.db", "replicas.db-lock"])
    let file = try await SQLiteFile.open(at: shelf.path)
    #expect(await file.movedAside == nil)
    let loaded = try #require(try await file.store(named: "directory").load())
    #expect(loaded.writtenAt == WallTime(milliseconds: 6))
    #expect(loaded.rows.map(\.key) == [key(0), key(16, 1), key(16, 1, 9), key(255, 0)])
    #expect(loaded.rows.map(\.value) == [[8], [1], [9], [7]])
  }

  @Test func `a checkpoint replaces everything`() async throws {
    let shelf = try Shelf()
    let file = try await SQLiteFile.open(at: shelf.path)
    let store = file.store(named: "directory")
    try await store.checkpoint(form(1, (key(16, 1), [1]), (key(16, 2), [2])))
    try await store.checkpoint(form(2, (key(16, 3), [3])))
    #expect(try await Saved(store.load())?.rows == [key(16, 3): [3]])
  }

  @Test func `replicas in one file are independent`() async throws {
    let shelf = try Shelf()
    let file = try await SQLiteFile.open(at: shelf.path)
    let (one, other) = (file.store(named: "one"), file.store(named: "önother's \"name\"\n"))
    try await one.checkpoint(form(1, (key(16, 1), [1])))
    #expect(try await other.load() == nil)
    try await other.checkpoint(form(2, (key(16, 1), [2])))
    try await other.append(entry(3, (key(16, 2), [3])))
    #expect(try await Saved(one.load())?.rows == [key(16, 1): [1]])
    try await one.erase()
    #expect(try await one.load() == nil)
    #expect(try await Saved(other.load())?.rows.count == 2)
    #expect(try await file.replicas().map(\.name) == ["önother's \"name\"\n"])
  }

  @Test func `a step that follows another form is refused, and writes nothing`() async throws {
    let shelf = try Shelf()
    let store = try await SQLiteFile.open(at: shelf.path).store(named: "directory")
    try await store.checkpoint(form(1, (key(16, 1), [1])))
    var step = entry(3, (key(16, 1), [3]))
    step.follows = WallTime(milliseconds: 2)
    do throws(StoreError) {
      try await store.append(step)
      Issue.record("it was written")
    } catch {
      guard case .taken = error else { throw error }
    }
    #expect(Saved(try await store.load())?.rows == [key(16, 1): [1]])
    step.follows = WallTime(milliseconds: 1)
    try await store.append(step)
    #expect(Saved(try await store.load())?.rows == [key(16, 1): [3]])
  }

  @Test func `a step without a checkpoint is refused`() async throws {
    let shelf = try Shelf()
    let store = try await SQLiteFile.open(at: shelf.path).store(named: "directory")
    let refusal = await #expect(throws: StoreError.self) {
      try await store.append(entry(1, (key(0), [1])))
    }
    #expect("\(refusal!)".contains("nothing is saved that this could be a step from"))
    #expect(try await store.load() == nil)
  }

  @Test func `a form that is set aside is kept, reported, and no longer read`() async throws {
    let shelf = try Shelf()
    let file = try await SQLiteFile.open(at: shelf.path)
    let store = file.store(named: "directory")
    for time in 1...3 {
      try await store.replace(with: form(Int64(time), (key(16, 1), [UInt8(time)])))
      #expect(try await Saved(store.load())?.rows == [key(16, 1): [UInt8(time)]])
    }
    let kept = try await file.replicas()
    #expect(
      kept.map(\.description) == [
        "directory", "directory, set aside (1)", "directory, set aside (2)",
      ])
    #expect(kept.map(\.writtenAt.milliseconds) == [3, 1, 2])
    try await file.erase(kept[1])
    #expect(try await file.replicas().map(\.aside) == [0, 2])
    #expect(try await Saved(store.load())?.rows == [key(16, 1): [3]])
  }

  @Test func `a log-out leaves nothing of the user in the file`() async throws {
    let shelf = try Shelf()
    let file = try await SQLiteFile.open(at: shelf.path)
    let store = file.store(named: "directory")
    let secret = Array("the user's secret".utf8)
    try await store.checkpoint(form(1, (key(16, 1), secret)))
    try await store.replace(with: form(1, (key(16, 1), secret)))
    try await store.append(entry(2, (key(16, 1), secret + [1]), (key(16, 2), secret)))
    try await store.erase()
    #expect(try await file.replicas() == [])
    for name in shelf.names {
      #expect(Data(shelf.bytes(name)).range(of: Data(secret)) == nil, "\(name)")
    }
    try await store.erase()
    try await store.checkpoint(form(3, (key(0), [3])))
    #expect(try await store.load() != nil)
  }

  @Test func `rows are read in a range, in either order, up to the limit`() async throws {
    let shelf = try Shelf()
    let store = try await SQLiteFile.open(at: shelf.path).store(named: "messages")
    func range(_ first: [UInt8], _ last: [UInt8]) -> RowRange {
      RowRange(StoredTable(16), from: first, through: last)
    }
    #expect(try await store.rows(for: [RowQuery(range([], [255]))])[0].isEmpty)
    var all = form(1, (key(15, 9), [0]), (key(17, 0), [0]))
    for number in UInt8(0)..<100 { all.rows.append((key: key(16, number * 2), value: [number])) }
    try await store.checkpoint(all)
    func read(
      _ first: [UInt8], _ last: [UInt8], _ order: RowOrder, _ limit: Int
    ) async throws -> [UInt8] {
      let rows = try await store.rows(for: [RowQuery(range(first, last), order, limit: limit)])[0]
      #expect(rows.allSatisfy { $0.key.table == StoredTable(16) })
      return rows.map { $0.value[0] }
    }
    #expect(try await read([], [255], .ascending, 3) == [0, 1, 2])
    #expect(try await read([], [255], .descending, 3) == [99, 98, 97])
    #expect(try await read([10], [255], .ascending, 2) == [5, 6])
    #expect(try await read([11], [255], .ascending, 2) == [6, 7])
    #expect(try await read([], [11], .descending, 2) == [5, 4])
    #expect(try await read([], [10], .descending, 100) == [5, 4, 3, 2, 1, 0])
    #expect(try await read([10], [14], .ascending, 100) == [5, 6, 7])
    #expect(try await read([10], [14], .descending, 2) == [7, 6])
    #expect(try await read([12], [11], .ascending, 100) == [])
    #expect(try await read([199], [255], .ascending, 5) == [])
    #expect(try await read([], [255], .ascending, -1) == [0])
  }

  @Test func `tables can be left unread, and ranges cleared`() async throws {
    let shelf = try Shelf()
    let store = try await SQLiteFile.open(at: shelf.path).store(named: "messages")
    var all = form(1)
    for table in UInt8(15)...19 {
      for number in UInt8(0)..<4 { all.rows.append((key: key(table, number), value: [table])) }
    }
    try await store.checkpoint(all)
    func tables(_ left: [UInt8]) async throws -> [UInt8] {
      let form = try await store.load(leaving: left.map { StoredTable($0) })
      #expect(form?.unloaded == left.map { StoredTable($0) })
      return form?.rows.map { $0.key.table.number } ?? []
    }
    #expect(try await tables([16, 18]) == [15, 15, 15, 15, 17, 17, 17, 17, 19, 19, 19, 19])
    #expect(try await tables([19, 15, 15]) == [16, 16, 16, 16, 17, 17, 17, 17, 18, 18, 18, 18])
    // Clearing happens before putting.
    try await store.append(
      JournalEntry(
        cleared: [RowRange(StoredTable(16), from: [1], through: [2])],
        rows: [StoredRow(key(16, 2), [7]), StoredRow(key(17, 0), nil)],
        writtenAt: WallTime(milliseconds: 2)))
    let rows = try await store.load(leaving: [])?.rows.filter {
      (16...17).contains($0.key.table.number)
    }
    #expect(rows?.map { $0.key.bytes } == [[0], [2], [3], [1], [2], [3]])
    #expect(rows?[1].value == [7])
  }

  @Test func `values of any bytes and length are read back unchanged`() async throws {
    let shelf = try Shelf()
    let store = try await SQLiteFile.open(at: shelf.path).store(named: "")
    var dice = SplitMix(7)
    var saved = Saved()
    for length in [0, 1, 7, 8, 9, 300, 4096, 70_000, 1_000_000] {
      let value = (0..<length).map { _ in UInt8(truncatingIfNeeded: dice.next()) }
      saved.rows[StoredKey(StoredTable(200), Array(value.prefix(1000)))] = value
    }
    try await store.checkpoint(saved.form)
    #expect(try await Saved(store.load()) == saved)
  }

  @Test func `a replica is saved and loaded step by step`() async throws {
    let shelf = try Shelf()
    var dice = SplitMix(1)
    var saved = Saved()
    var file = try await SQLiteFile.open(at: shelf.path)
    try await file.store(named: "directory").checkpoint(saved.form)
    for time in 1...200 {
      let step = dice.entry(Int64(time))
      saved.take(step)
      try await file.store(named: "directory").append(step)
      if dice.below(20) == 0 {
        await file.close()
        file = try await SQLiteFile.open(at: shelf.path)
      }
      guard time % 10 == 0 else { continue }
      #expect(try await Saved(file.store(named: "directory").load()) == saved)
    }
  }

  @Test func `using a closed file is an error`() async throws {
    let shelf = try Shelf()
    let file = try await SQLiteFile.open(at: shelf.path)
    await file.close()
    await #expect(throws: StoreError.failed("\(shelf.path) was closed.")) {
      try await file.store(named: "directory").load()
    }
  }

  @Test func `concurrent calls are served one at a time`() async throws {
    let shelf = try Shelf()
    let file = try await SQLiteFile.open(at: shelf.path)
    await withTaskGroup { group in
      for number in UInt8(0)..<8 {
        group.addTask {
          let store = file.store(named: "\(number)")
          try? await store.checkpoint(Saved().form)
          for time in Int64(1)...20 {
            try? await store.append(entry(time, (key(16, UInt8(time)), [number])))
          }
        }
      }
    }
    for number in UInt8(0)..<8 {
      let saved = try await Saved(file.store(named: "\(number)").load())
      #expect(saved?.rows.count == 20 && saved?.rows.values.allSatisfy { $0 == [number] } == true)
    }
  }

  @Test func `a first save that is longer than the log writes each page once`() async throws {
    let shelf = try Shelf()
    let disk = FaultyDisk()
    let file = try await SQLiteFile.open(at: shelf.path, settings: disk.settings(logPages: 20))
    let store = file.store(named: "directory")
    try await store.checkpoint(bigForm(2000))
    let long = disk.changes.filter { $0.isLongWrite(to: "") }
    #expect(!long.contains { $0.isLongWrite(to: "-wal") })
    let pages = shelf.bytes("replicas.db").count / 4096
    #expect(pages > 150 && long.count < pages * 6 / 5)
    #expect(!shelf.names.contains("replicas.db-journal"))
    // Another form takes its place, without the log, too.
    try await store.replace(with: bigForm(1000))
    #expect(!disk.changes.contains { $0.isLongWrite(to: "-wal") })
    try await store.append(entry(2, (key(0), [2])))
    #expect(disk.changes.contains { $0.isLongWrite(to: "-wal") })
    #expect(try await store.load()?.rows.count == 1001)
    #expect(try await file.replicas().map(\.aside) == [0, 1])
  }

  @Test func `many rows of one step are written in the order in which they came`() async throws {
    let shelf = try Shelf()
    let store = try await SQLiteFile.open(at: shelf.path).store(named: "directory")
    try await store.checkpoint(form(1))
    var dice = SplitMix(3)
    var rows: [StoredRow] = []
    var saved = Saved()
    // Counts around those that one statement writes; keys in any order, some of them twice.
    for count in [1, 15, 16, 17, 127, 128, 129, 300] {
      for _ in 0..<count {
        let length = dice.below(20) == 0 ? 5000 : dice.below(40)
        let value = [UInt8](repeating: UInt8(truncatingIfNeeded: dice.next()), count: length)
        let place = StoredKey(StoredTable(16), UInt64(dice.below(500)).keyBytes)
        rows.append(StoredRow(place, dice.below(40) == 0 ? nil : value))
        saved.rows[place] = rows[rows.count - 1].value
      }
      saved.writtenAt = WallTime(milliseconds: Int64(count))
      try await store.append(JournalEntry(rows: rows, writtenAt: saved.writtenAt))
      #expect(try await Saved(store.load()) == saved)
      rows = []
    }
  }

  @Test func `the log is checkpointed regularly and stays short`() async throws {
    let shelf = try Shelf()
    var settings = SQLiteSettings()
    settings.logPages = 20
    let file = try await SQLiteFile.open(at: shelf.path, settings: settings)
    let store = file.store(named: "directory")
    try await store.checkpoint(bigForm(2000))
    for time in 2...200 {
      try await store.append(entry(Int64(time), (key(0), [UInt8(time)])))
      // A frame is a page plus 24 bytes. The step that finds 20 pages in the log may add a few.
      #expect(time < 3 || shelf.bytes("replicas.db-wal").count <= 32 + 25 * 4120)
    }
  }
}

extension SplitMix {
  /// An entry that changes some rows of a few tables: small and big rows, put and removed.
  mutating func entry(_ time: Int64) -> JournalEntry {
    var rows: [StoredKey: [UInt8]?] = [key(0): [UInt8(truncatingIfNeeded: time)]]
    for _ in 0..<below(8) {
      let place = StoredKey(StoredTable(16 + UInt8(below(2))), UInt64(below(60)).keyBytes)
      let byte = UInt8(truncatingIfNeeded: next())
      let length = below(10) == 0 ? below(9000) : below(400)
      rows[place] = .some(below(4) == 0 ? nil : [UInt8](repeating: byte, count: length))
    }
    return JournalEntry(
      rows: rows.map { StoredRow($0.key, $0.value) }, writtenAt: WallTime(milliseconds: time))
  }
}
