import CSQLite
import Foundation
import UpdateMachine

@testable import SQLiteStore

/// A folder for one test. It is deleted when nothing refers to it any more.
final class Shelf: Sendable {
  let folder: String
  /// The path of the file that most tests use.
  var path: String { folder + "/replicas.db" }

  /// - Parameter inMemory: whether to use a disk in memory, if the system has one. Not for tests
  ///   that need a real disk.
  init(inMemory: Bool = true) throws {
    let memory = "/dev/shm"
    let place =
      inMemory && FileManager.default.isWritableFile(atPath: memory)
      ? URL(filePath: memory) : FileManager.default.temporaryDirectory
    let folder = place.appending(path: "sqlite-store-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    self.folder = folder.path
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  var names: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
  }

  func bytes(_ name: String) -> [UInt8] {
    FileManager.default.contents(atPath: "\(folder)/\(name)").map { [UInt8]($0) } ?? []
  }

  func write(_ bytes: [UInt8], to name: String) {
    _ = FileManager.default.createFile(atPath: "\(folder)/\(name)", contents: Data(bytes))
  }

  func mode(_ name: String) -> Int {
    let attributes = try? FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)")
    return (attributes?[.posixPermissions] as? NSNumber)?.intValue ?? -1
  }

  /// Runs SQL on the file, as any other program might.
  func run(_ sql: String) throws(SQLiteFailure) {
    try Connection(path: path, vfs: nil).run(sql)
  }
}

/// What is saved, as a value that tests can compare.
struct Saved: Equatable, Sendable {
  var rows: [StoredKey: [UInt8]] = [:]
  var writtenAt = WallTime(milliseconds: 0)

  init() {}

  init?(_ form: SavedRows?) {
    guard let form else { return nil }
    rows = Dictionary(uniqueKeysWithValues: form.rows.map { ($0.key, $0.value) })
    writtenAt = form.writtenAt
  }

  mutating func take(_ entry: JournalEntry) {
    for row in entry.rows { rows[row.key] = row.value }
    writtenAt = entry.writtenAt
  }

  var form: SavedRows {
    SavedRows(rows: rows.map { (key: $0.key, value: $0.value) }, writtenAt: writtenAt)
  }
}

func key(_ table: UInt8, _ bytes: UInt8...) -> StoredKey { StoredKey(StoredTable(table), bytes) }

func entry(_ time: Int64, _ rows: (StoredKey, [UInt8]?)...) -> JournalEntry {
  JournalEntry(
    rows: rows.map { StoredRow($0.0, $0.1) }, writtenAt: WallTime(milliseconds: time))
}

func form(_ time: Int64, _ rows: (StoredKey, [UInt8])...) -> SavedRows {
  SavedRows(
    rows: rows.map { (key: $0.0, value: $0.1) }, writtenAt: WallTime(milliseconds: time))
}

/// A form with `count` rows of 300 bytes in table 16, and one row in table 0.
func bigForm(_ count: Int) -> SavedRows {
  var rows = [(key: key(0), value: [UInt8](repeating: 1, count: 20))]
  for number in 0..<count {
    var value = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 300)
    value[7] = UInt8(truncatingIfNeeded: number >> 8)
    rows.append((key: StoredKey(StoredTable(16), UInt64(number).keyBytes), value: value))
  }
  return SavedRows(rows: rows, writtenAt: WallTime(milliseconds: 1))
}
