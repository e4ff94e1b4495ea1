import Foundation
import TestSupport
import Testing
import UpdateMachine

@testable import SQLiteStore

/// Tests what may be found when a file is opened. Nothing is overwritten, and useless files are
/// kept.
@Suite struct OpeningTests {
  /// A closed file with one replica.
  func shelfWithReplica(_ count: Int = 1000) async throws -> Shelf {
    let shelf = try Shelf()
    let file = try await SQLiteFile.open(at: shelf.path)
    try await file.store(named: "directory").checkpoint(bigForm(count))
    await file.close()
    return shelf
  }

  func refusal(_ path: String) async -> SQLiteFileError? {
    do throws(SQLiteFileError) {
      try await SQLiteFile.open(at: path).close()
      return nil
    } catch {
      return error
    }
  }

  // MARK: Refused

  @Test func `a folder, or a path without a folder, is refused`() async throws {
    let shelf = try Shelf()
    #expect(await refusal(shelf.folder) == .isFolder(path: shelf.folder))
    #expect(
      await refusal(shelf.folder + "/no/replicas.db") == .noFolder(path: shelf.folder + "/no"))
    #expect(shelf.names == [])
  }

  @Test func `a file that is not a database is refused and left unchanged`() async throws {
    for text in [
      "Dear diary,", String(repeating: "Dear diary, ", count: 1000), "SQLite format 3\0",
    ] {
      let shelf = try Shelf()
      shelf.write(Array(text.utf8), to: "replicas.db")
      #expect(await refusal(shelf.path) == .notADatabase(path: shelf.path))
      #expect(shelf.bytes("replicas.db") == Array(text.utf8))
      #expect(shelf.names == ["replicas.db", "replicas.db-lock"])
    }
  }

  @Test(arguments: ["DELETE", "WAL"])
  func `another program's database is refused and left unchanged with its log`(
    _ mode: String
  ) async throws {
    let shelf = try Shelf()
    shelf.write([], to: "replicas.db")
    let theirs = try Connection(path: shelf.path, vfs: nil)
    try theirs.run("PRAGMA journal_mode = \(mode)")
    try theirs.run("CREATE TABLE diary(day TEXT)")
    let before = (shelf.bytes("replicas.db"), shelf.bytes("replicas.db-wal"))
    #expect(await refusal(shelf.path) == .foreign(path: shelf.path))
    #expect((shelf.bytes("replicas.db"), shelf.bytes("replicas.db-wal")) == before)
    try theirs.run("INSERT INTO diary VALUES('Monday')")
  }

  @Test func `an open file is refused to a second store until it is closed`() async throws {
    let shelf = try Shelf()
    let file = try await SQLiteFile.open(at: shelf.path)
    #expect(await refusal(shelf.path) == .inUse(path: shelf.path))
    // The refusal has not released the lock that the first store holds.
    #expect(await refusal(shelf.path) == .inUse(path: shelf.path))
    try await file.store(named: "directory").checkpoint(Saved().form)
    await file.close()
    #expect(await refusal(shelf.path) == nil)
  }

  @Test func `a link to an open file is refused`() async throws {
    let shelf = try await shelfWithReplica(1)
    let link = shelf.folder + "/link.db"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "replicas.db")
    let file = try await SQLiteFile.open(at: shelf.path)
    #expect(await refusal(link) == .inUse(path: link))
    await file.close()
    #expect(await refusal(link) == nil)
    #expect(shelf.names == ["link.db", "replicas.db", "replicas.db-lock"])
  }

  @Test func `another process is refused until this one closes the file`() async throws {
    let shelf = try Shelf()
    let path = shelf.path
    let file = try await SQLiteFile.open(at: path)
    await #expect(processExitsWith: .exitCode(42)) { [path = path as String] in
      do throws(SQLiteFileError) {
        _ = try await SQLiteFile.open(at: path)
      } catch {
        if error == .inUse(path: path) { exit(42) }
      }
    }
    try await file.store(named: "directory").checkpoint(Saved().form)
    await file.close()
    await #expect(processExitsWith: .exitCode(43)) { [path = path as String] in
      let file = try? await SQLiteFile.open(at: path)
      if (try? await file?.store(named: "directory").load()) != nil { exit(43) }
    }
  }

  @Test func `a dead process does not keep the file locked, and nothing is lost`() async throws {
    let shelf = try Shelf()
    let path = shelf.path
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
      let store = try await SQLiteFile.open(at: path).store(named: "directory")
      try await store.checkpoint(form(1, (key(16, 1), [1])))
      try await store.append(entry(2, (key(16, 2), [2])))
      kill(getpid(), SIGKILL)
    }
    let file = try await SQLiteFile.open(at: path)
    #expect(await file.movedAside == nil)
    #expect(try await Saved(file.store(named: "directory").load())?.rows.count == 2)
  }

  @Test func `a file that another program has open is reported as in use`() async throws {
    let shelf = try await shelfWithReplica()
    let theirs = try Connection(path: shelf.path, vfs: nil)
    try theirs.run("PRAGMA locking_mode = EXCLUSIVE")
    try theirs.run("BEGIN EXCLUSIVE")
    #expect(await refusal(shelf.path) == .inUse(path: shelf.path))
  }

  @Test func `another program is kept out while the file is open`() async throws {
    let shelf = try await shelfWithReplica()
    let file = try await SQLiteFile.open(at: shelf.path)
    #expect(throws: SQLiteFailure.self) { try shelf.run("SELECT count(*) FROM row") }
    await file.close()
    try shelf.run("SELECT count(*) FROM row")
  }

  /// This runs in a process of its own as a user who is not root, because root may do everything.
  @Test func `a folder or file that may not be written is refused`() async throws {
    let shelf = try await shelfWithReplica(1)
    let folder = shelf.folder
    func tell(_ mode: Int, _ name: String) throws {
      try FileManager.default.setAttributes(
        [.posixPermissions: mode], ofItemAtPath: folder + name)
    }
    let before = shelf.bytes("replicas.db")
    try tell(0o555, "")
    try tell(0o666, "/replicas.db-lock")
    try tell(0o644, "/replicas.db")
    await #expect(processExitsWith: .exitCode(42)) { [folder = folder as String] in
      if geteuid() == 0, setuid(65534) != 0 { exit(1) }
      var refused = 0
      for name in ["/new.db", "/replicas.db"] {
        do throws(SQLiteFileError) {
          _ = try await SQLiteFile.open(at: folder + name)
        } catch {
          if case .notPermitted = error { refused += 1 }
        }
      }
      exit(refused == 2 ? 42 : Int32(refused))
    }
    try tell(0o755, "")
    #expect(shelf.bytes("replicas.db") == before)
    #expect(shelf.names == ["replicas.db", "replicas.db-lock"])
  }

  @Test func `every refusal says what is wrong, where, and what to do`() {
    let refusals: [SQLiteFileError] = [
      .inUse(path: "/a/b.db"), .foreign(path: "/a/b.db"), .notADatabase(path: "/a/b.db"),
      .isFolder(path: "/a/b.db"), .noFolder(path: "/a/b.db"),
      .notPermitted(path: "/a/b.db", reason: "no"), .full(path: "/a/b.db"),
      .failed(path: "/a/b.db", reason: "no"),
    ]
    #expect(Set(refusals.map(\.description)).count == refusals.count)
    for refusal in refusals {
      #expect(refusal.description.contains("/a/b.db") && refusal.description.hasSuffix("."))
    }
  }

  // MARK: Who may read it

  @Test func `file, log and lock are private to the owner, whatever the umask`() async throws {
    let shelf = try Shelf()
    let path = shelf.path
    await #expect(processExitsWith: .exitCode(42)) { [path = path as String] in
      umask(0)
      let store = try await SQLiteFile.open(at: path).store(named: "directory")
      try await store.checkpoint(form(1, (key(16, 1), [1])))
      _exit(42)  // The log stays.
    }
    #expect(shelf.names == ["replicas.db", "replicas.db-lock", "replicas.db-wal"])
    for name in shelf.names { #expect(shelf.mode(name) == 0o600, "\(name)") }
  }

  @Test func `a file that others may read becomes private, and so does its log`() async throws {
    let shelf = try Shelf()
    let path = shelf.path
    await #expect(processExitsWith: .exitCode(42)) { [path = path as String] in
      let store = try await SQLiteFile.open(at: path).store(named: "directory")
      try await store.checkpoint(form(1, (key(16, 1), [1])))
      _exit(42)  // The log stays.
    }
    for name in shelf.names {
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o644], ofItemAtPath: "\(shelf.folder)/\(name)")
    }
    let file = try await SQLiteFile.open(at: shelf.path)
    try await file.store(named: "directory").append(entry(2, (key(0), [2])))
    for name in ["replicas.db", "replicas.db-wal"] { #expect(shelf.mode(name) == 0o600, "\(name)") }
    await file.close()
  }

  // MARK: Moved aside

  @Test func `a damaged file is moved aside and a new one is created`() async throws {
    let shelf = try await shelfWithReplica()
    for number in 1...3 {
      var bytes = shelf.bytes("replicas.db")
      for place in 4096..<bytes.count { bytes[place] = UInt8(truncatingIfNeeded: place &* 31) }
      shelf.write(bytes, to: "replicas.db")
      let file = try await SQLiteFile.open(at: shelf.path)
      let moved = try #require(await file.movedAside)
      #expect(moved.path == "\(shelf.path).aside-\(number)")
      guard case .damaged = moved.reason else {
        Issue.record("\(moved)")
        continue
      }
      #expect(shelf.bytes("replicas.db.aside-\(number)") == bytes)
      #expect(try await file.store(named: "directory").load() == nil)
      try await file.store(named: "directory").checkpoint(bigForm(1000))
      await file.close()
    }
    #expect(shelf.names.filter { $0.contains("aside") }.count == 3)
  }

  @Test func `a large file is not checked before damage was found in it`() async throws {
    let shelf = try await shelfWithReplica()
    var bytes = shelf.bytes("replicas.db")
    for place in 3 * 4096..<20 * 4096 { bytes[place] = UInt8(truncatingIfNeeded: place &* 31) }
    shelf.write(bytes, to: "replicas.db")
    for start in 1...3 {
      let file = try await SQLiteFile.open(at: shelf.path, checkLimit: 0)
      #expect(await (file.movedAside != nil) == (start == 2))
      if start == 1 {
        await #expect(throws: StoreError.self) {
          try await file.store(named: "directory").load()
        }
      }
      await file.close()
    }
    #expect(shelf.bytes("replicas.db.aside-1") == bytes)
  }

  @Test func `a file of zeros, as a power cut may leave it, is moved aside`() async throws {
    let shelf = try Shelf()
    shelf.write([UInt8](repeating: 0, count: 20_000), to: "replicas.db")
    let file = try await SQLiteFile.open(at: shelf.path)
    #expect(await file.movedAside?.path == shelf.path + ".aside-1")
    try await file.store(named: "directory").checkpoint(bigForm(10))
  }

  @Test func `a file of a later version is moved aside unchanged, with its log`() async throws {
    let shelf = try Shelf()
    var settings = SQLiteSettings()
    settings.schema.steps.append(["ALTER TABLE replica ADD COLUMN colour TEXT"])
    var copies: [String: [UInt8]] = [:]
    do {
      let newer = try await SQLiteFile.open(at: shelf.path, settings: settings)
      try await newer.store(named: "directory").checkpoint(bigForm(10))
      copies = [
        "replicas.db": shelf.bytes("replicas.db"),
        "replicas.db-wal": shelf.bytes("replicas.db-wal"),
      ]
      await newer.close()
    }
    // This is how a crash would have left the file: with its log.
    for (name, bytes) in copies { shelf.write(bytes, to: name) }
    let older = try await SQLiteFile.open(at: shelf.path)
    #expect(
      await older.movedAside
        == MovedAside(path: shelf.path + ".aside-1", reason: .newer(version: 2)))
    #expect(shelf.bytes("replicas.db.aside-1") == copies["replicas.db"])
    #expect(shelf.bytes("replicas.db.aside-1-wal") == copies["replicas.db-wal"])
    #expect(try await older.store(named: "directory").load() == nil)
    // The newer app finds its own form under the new name, whole.
    let again = try await SQLiteFile.open(at: shelf.path + ".aside-1", settings: settings)
    #expect(try await again.store(named: "directory").load()?.rows.count == 11)
  }

  @Test func `an older file is migrated with all its contents`() async throws {
    let shelf = try await shelfWithReplica(10)
    var settings = SQLiteSettings()
    settings.schema.steps.append(["ALTER TABLE replica ADD COLUMN colour TEXT"])
    settings.schema.steps.append(["UPDATE replica SET colour = 'red'"])
    let file = try await SQLiteFile.open(at: shelf.path, settings: settings)
    #expect(await file.movedAside == nil)
    #expect(try await file.store(named: "directory").load()?.rows.count == 11)
    await file.close()
    let connection = try Connection(path: shelf.path, vfs: nil)
    #expect(try connection.number("PRAGMA user_version") == 3)
    #expect(try connection.text("SELECT colour FROM replica") == "red")
  }

  @Test func `a failed migration leaves the file unchanged`() async throws {
    let shelf = try await shelfWithReplica(10)
    var settings = SQLiteSettings()
    settings.schema.steps.append(["ALTER TABLE replica ADD COLUMN colour TEXT", "SELECT nonsense"])
    await #expect(throws: SQLiteFileError.self) {
      _ = try await SQLiteFile.open(at: shelf.path, settings: settings)
    }
    let file = try await SQLiteFile.open(at: shelf.path)
    #expect(try await file.store(named: "directory").load()?.rows.count == 11)
  }

  @Test func `a log without its file is kept with the file that was moved aside`() async throws {
    let shelf = try Shelf()
    shelf.write([1, 2, 3], to: "replicas.db.aside-1")
    shelf.write([4, 5, 6], to: "replicas.db-wal")
    try await SQLiteFile.open(at: shelf.path).close()
    #expect(shelf.bytes("replicas.db.aside-1") == [1, 2, 3])
    #expect(shelf.bytes("replicas.db.aside-1-wal") == [4, 5, 6])
    shelf.write([], to: "replicas.db")
    shelf.write([7, 8, 9], to: "replicas.db-wal")
    try await SQLiteFile.open(at: shelf.path).close()
    #expect(shelf.bytes("replicas.db.aside-1-wal") == [4, 5, 6])
    #expect(shelf.bytes("replicas.db.aside-2-wal") == [7, 8, 9])
  }

  @Test func `a log without its file is kept with the newest of several files`() async throws {
    let shelf = try Shelf()
    for number in 1...4 { shelf.write([UInt8(number)], to: "replicas.db.aside-\(number)") }
    shelf.write([4, 5, 6], to: "replicas.db-wal")
    try await SQLiteFile.open(at: shelf.path).close()
    #expect(shelf.bytes("replicas.db.aside-4-wal") == [4, 5, 6])
  }

  /// A changed file opens as what was saved, or says that it is damaged. It never opens as anything
  /// else, and never traps.
  @Test func `a changed byte is noticed, or changes no row`() async throws {
    let shelf = try await shelfWithReplica(60)
    let whole = shelf.bytes("replicas.db")
    let saved = Saved(bigForm(60))
    var dice = SplitMix(3)
    var (unreadable, aside, refused) = (0, 0, 0)
    for _ in 0..<300 {
      let shelf = try Shelf()
      var bytes = whole
      let place = dice.below(bytes.count)
      bytes[place] ^= 1 << UInt8(dice.below(8))
      shelf.write(bytes, to: "replicas.db")
      do {
        let file = try await SQLiteFile.open(at: shelf.path)
        let loaded = try await file.store(named: "directory").load()
        if await file.movedAside != nil {
          aside += 1
          #expect(loaded == nil)
        } else if let loaded = Saved(loaded) {
          // No checksum covers the time and the name of a replica.
          #expect(loaded.rows == saved?.rows, "byte \(place)")
        }
      } catch is StoreError {
        unreadable += 1
      } catch is SQLiteFileError {
        refused += 1
        #expect(shelf.bytes("replicas.db") == bytes)
      }
    }
    #expect(unreadable > 100 && aside > 3, "\(unreadable) unreadable, \(aside) aside, \(refused)")
  }
}
