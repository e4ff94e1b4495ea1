import CDiskFaults
import Foundation
import TestSupport
import Testing
import UpdateMachine

@testable import SQLiteStore

/// Tests that after a crash a file opens as a state that was saved, and as none older than the last
/// save that returned.
@Suite struct CrashTests {
  /// The recorded history of a file: all changes of the disk, and after how many changes each state
  /// was saved.
  struct Life {
    let shelf: Shelf
    let start: [String: [UInt8]]
    var changes: [FaultyDisk.Change] = []
    /// The saved states, each with the number of changes when the call returned.
    var states: [(saved: Saved?, changes: Int)] = [(nil, 0)]
    /// How many pages the log has before it is checkpointed into the file.
    let logPages: Int64

    /// - Parameter seed: the seed of the steps. The log is short, so that it is often merged into
    ///   the file.
    init(seed: UInt64, steps: Int) async throws {
      let shelf = try Shelf()
      self.shelf = shelf
      shelf.write([], to: "replicas.db")
      // The empty file and the lock are not made by SQLite. A crash leaves all of that or nothing.
      start = [shelf.path: []]
      var dice = SplitMix(seed)
      let disk = FaultyDisk()
      logPages = [4, 12, 1000][dice.below(3)]
      let settings = disk.settings(logPages: logPages)
      var file = try await SQLiteFile.open(at: shelf.path, settings: settings)
      // Longer than the shortest log: then it is written without the log.
      var saved = Saved(bigForm(60 + dice.below(30))) ?? Saved()
      try await file.store(named: "directory").checkpoint(saved.form)
      states.append((saved, disk.changes.count))
      for time in 2..<Int64(steps) + 2 {
        let entry = dice.entry(time)
        saved.take(entry)
        try await file.store(named: "directory").append(entry)
        states.append((saved, disk.changes.count))
        if dice.below(8) == 0 {
          await file.close()
          file = try await SQLiteFile.open(at: shelf.path, settings: settings)
        }
        guard dice.below(8) == 0 else { continue }
        let store = file.store(named: "directory")
        // One form takes the place of another, or of none: at each moment one of them is there.
        let isReplaced = dice.below(2) == 0
        if !isReplaced {
          try await store.erase()
          states.append((nil, disk.changes.count))
        }
        saved = Saved(bigForm(dice.below(90))) ?? Saved()
        if isReplaced {
          try await store.replace(with: saved.form)
        } else {
          try await store.checkpoint(saved.form)
        }
        states.append((saved, disk.changes.count))
      }
      changes = disk.changes
      await file.close()
    }

    /// Whether the first form was written without the log.
    var firstIsWithoutLog: Bool {
      guard let first = states.dropFirst().first else { return false }
      return !changes[..<first.changes].contains { $0.isLongWrite(to: "-wal") }
    }

    /// Opens what is on the disk after `count` changes.
    func check(_ image: DiskImage, after count: Int, _ what: String) async throws {
      let shelf = try Shelf()
      for (path, bytes) in image.files {
        shelf.write(bytes, to: String(path.dropFirst(self.shelf.folder.count + 1)))
      }
      let file = try await SQLiteFile.open(at: shelf.path)
      let aside = await file.movedAside
      let loaded = try await Saved(file.store(named: "directory").load())
      // The last state whose save had returned, and the one whose save was under way.
      let last = states.lastIndex { $0.changes <= count } ?? 0
      let allowed = states[last...].prefix(2).map(\.saved)
      #expect(aside == nil && allowed.contains(loaded), "\(what), after \(count) changes")
      // The store must be usable afterwards.
      if loaded != nil { try await file.store(named: "directory").append(entry(99, (key(0), [9]))) }
    }
  }

  @Test(arguments: 1...6 as ClosedRange<UInt64>)
  func `a process that dies at any change leaves a state that was saved`(
    _ seed: UInt64
  ) async throws {
    let life = try await Life(seed: seed, steps: 12)
    #expect(life.changes.count > 40)
    #expect(life.firstIsWithoutLog == (life.logPages == 4))
    var dice = SplitMix(seed)
    for count in 0...life.changes.count {
      let image = DiskImage.afterDeath(life.start, life.changes[..<count], &dice)
      try await life.check(image, after: max(count - 1, 0), "seed \(seed), death")
    }
  }

  @Test(arguments: 11...20 as ClosedRange<UInt64>)
  func `a power cut at any change leaves a state that was saved`(_ seed: UInt64) async throws {
    let life = try await Life(seed: seed, steps: 12)
    var dice = SplitMix(seed)
    for count in 0...life.changes.count {
      let image = DiskImage.afterPowerCut(life.start, life.changes[..<count], &dice)
      try await life.check(image, after: count, "seed \(seed), power cut")
    }
  }

  /// Shows that the tests above can fail: without syncs a power cut does lose a save that has
  /// returned.
  @Test func `a disk that lies about its syncs is detected`() async throws {
    let life = try await Life(seed: 31, steps: 12)
    let honest = life.changes
    let liar = honest.filter { if case .sync = $0 { false } else { true } }
    #expect(liar.count < honest.count - life.states.count)
    var dice = SplitMix(31)
    var lost = false
    for _ in 0..<20 where !lost {
      let image = DiskImage.afterPowerCut(life.start, liar[...], &dice)
      let shelf = try Shelf()
      for (path, bytes) in image.files {
        shelf.write(bytes, to: String(path.dropFirst(life.shelf.folder.count + 1)))
      }
      let file = try? await SQLiteFile.open(at: shelf.path)
      let loaded = try? await Saved(file?.store(named: "directory").load())
      lost = loaded != life.states.last?.saved
    }
    #expect(lost)
  }

  // MARK: Failures that the process survives

  /// In each run another change fails. The step then throws and has changed nothing. The next step,
  /// which brings everything that has changed, is saved.
  @Test(arguments: [
    (DISK_WRITE, DISK_IS_FULL, 0), (DISK_WRITE, DISK_WRITE_FAILED, 5),
    (DISK_WRITE, DISK_IS_FULL, 11), (DISK_SYNC, DISK_SYNC_FAILED, 0),
  ])
  func `a step that fails has changed nothing, and the next one is saved`(
    _ kind: disk_change_kind, _ failure: disk_failure, _ sixteenths: Int
  ) async throws {
    for place in 0..<12 {
      let shelf = try Shelf()
      let disk = FaultyDisk()
      let settings = disk.settings(logPages: 6)
      var dice = SplitMix(UInt64(place))
      var saved = Saved(bigForm(40)) ?? Saved()
      do {
        let file = try await SQLiteFile.open(at: shelf.path, settings: settings)
        let store = file.store(named: "directory")
        try await store.checkpoint(saved.form)
        disk.fail(
          FaultyDisk.Fault(
            kind: kind, place: place, length: 3, failure: failure, sixteenths: sixteenths))
        var unsaved: [StoredKey: [UInt8]?] = [:]
        for time in Int64(2)..<20 {
          for row in dice.entry(time).rows { unsaved[row.key] = .some(row.value) }
          let entry = JournalEntry(
            rows: unsaved.map { StoredRow($0.key, $0.value) },
            writtenAt: WallTime(milliseconds: time))
          do throws(StoreError) {
            try await store.append(entry)
            saved.take(entry)
            unsaved = [:]
          } catch {
            guard case .failed(let text) = error else { throw error }
            #expect(text.contains(shelf.path))
          }
          #expect(try await Saved(store.load()) == saved, "place \(place), time \(time)")
        }
        #expect(disk.failures == 3 && unsaved.isEmpty)
        await file.close()
      }
      let file = try await SQLiteFile.open(at: shelf.path)
      #expect(await file.movedAside == nil)
      #expect(try await Saved(file.store(named: "directory").load()) == saved)
    }
  }

  /// In each run another change fails, until the first save has no more changes. A first save that
  /// throws has written all or nothing. Either way, the next step is saved, and by way of the log.
  @Test(arguments: [
    (DISK_WRITE, DISK_IS_FULL, 0), (DISK_WRITE, DISK_WRITE_FAILED, 5),
    (DISK_SYNC, DISK_SYNC_FAILED, 0),
  ])
  func `a first save without the log that fails leaves no part, and the next one is saved`(
    _ kind: disk_change_kind, _ failure: disk_failure, _ sixteenths: Int
  ) async throws {
    var refusals = 0
    for place in 0..<300 {
      let shelf = try Shelf()
      let disk = FaultyDisk()
      let file = try await SQLiteFile.open(at: shelf.path, settings: disk.settings(logPages: 6))
      let store = file.store(named: "directory")
      try await file.store(named: "another").checkpoint(bigForm(2))
      disk.fail(
        FaultyDisk.Fault(
          kind: kind, place: place, length: 3, failure: failure, sixteenths: sixteenths))
      do throws(StoreError) {
        try await store.checkpoint(bigForm(200))
      } catch {
        guard case .failed = error else { throw error }
        refusals += 1
        disk.fail(nil)
        // A save may fail when it is already whole: while the journal that could undo it ends.
        let found = Saved(try await store.load())
        #expect(found == nil || found == Saved(bigForm(200)), "place \(place)")
        try await store.checkpoint(bigForm(200))
      }
      let isLast = disk.failures == 0
      disk.fail(nil)
      let before = disk.changes.count
      try await store.append(entry(2, (key(0), [2])))
      // If the log could not be used again after the save, it is now.
      #expect(disk.changes[before...].contains { $0.isLongWrite(to: "-wal") }, "place \(place)")
      await file.close()
      #expect(shelf.names == ["replicas.db", "replicas.db-lock"])
      let again = try await SQLiteFile.open(at: shelf.path)
      #expect(await again.movedAside == nil)
      #expect(try await again.store(named: "directory").load()?.rows.count == 201)
      #expect(try await again.store(named: "another").load()?.rows.count == 3)
      if isLast { break }
      #expect(place < 299, "the places end before the changes")
    }
    #expect(refusals > 3)
  }

  @Test func `a full disk while the file is created is a typed error, and a retry succeeds`()
    async throws
  {
    for place in 0..<16 {
      let shelf = try Shelf()
      let disk = FaultyDisk()
      disk.fail(
        FaultyDisk.Fault(
          kind: DISK_WRITE, place: place, length: 1000, failure: DISK_IS_FULL, sixteenths: place))
      do throws(SQLiteFileError) {
        let file = try await SQLiteFile.open(at: shelf.path, settings: disk.settings)
        await file.close()
      } catch {
        #expect(error == .full(path: shelf.path), "place \(place)")
      }
      disk.fail(nil)
      let file = try await SQLiteFile.open(at: shelf.path, settings: disk.settings)
      #expect(await file.movedAside == nil, "place \(place)")
      try await file.store(named: "directory").checkpoint(bigForm(3))
      await file.close()
    }
  }

  @Test func `a full disk is reported, and nothing that was saved is lost`() async throws {
    let shelf = try Shelf()
    var settings = SQLiteSettings()
    settings.pageMaximum = 40
    let store = try await SQLiteFile.open(at: shelf.path, settings: settings)
      .store(named: "directory")
    try await store.checkpoint(bigForm(100))
    let refusal = await #expect(throws: StoreError.self) {
      try await store.append(entry(2, (key(16, 1), [UInt8](repeating: 1, count: 500_000))))
    }
    #expect("\(refusal!)".contains("Free some space"))
    #expect("\(refusal!)".contains(shelf.path))
    await #expect(throws: StoreError.self) { try await store.checkpoint(bigForm(10_000)) }
    #expect(try await Saved(store.load()) == Saved(bigForm(100)))
    try await store.append(entry(3, (key(16, 1), [1])))
    #expect(try await store.load()?.rows.count == 102)
  }
}
