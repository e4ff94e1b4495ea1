import Foundation
import SQLiteStore
import UpdateMachine

// What a durable replica costs on a real disk, compared with the simplest way: all of it, as JSON.

/// A replica of `count` messages of 300 bytes each.
struct Depot {
  var count: Int
  static let table = StoredTable.firstOfModel

  static func row(_ number: Int64, _ time: Int64) -> (key: StoredKey, value: [UInt8]) {
    var value = [UInt8](repeating: UInt8(truncatingIfNeeded: 97 + number % 26), count: 300)
    value[0] = UInt8(truncatingIfNeeded: 97 + time % 26)
    return (key: StoredKey(table, UInt64(number).keyBytes), value: value)
  }

  var form: SavedRows {
    var rows = [(key: StoredKey(StoredTable(0), []), value: [UInt8](repeating: 1, count: 30))]
    for number in 0..<Int64(count) { rows.append(Depot.row(number, 0)) }
    return SavedRows(rows: rows, writtenAt: WallTime(milliseconds: 1))
  }

  /// A step that changes the finger and this many messages, scattered over the whole replica.
  func entry(_ rows: Int, _ time: Int64) -> JournalEntry {
    var changed = [
      StoredRow(StoredKey(StoredTable(0), []), [UInt8](repeating: UInt8(time % 100), count: 30))
    ]
    for index in 0..<Int64(rows) {
      let place = StateDigest.mixed(UInt64(time * 1000 + index))
      let row = Depot.row(Int64(place % UInt64(count)), time)
      changed.append(StoredRow(row.key, row.value))
    }
    return JournalEntry(rows: changed, writtenAt: WallTime(milliseconds: time))
  }
}

/// A message as a line of JSON.
struct Line: Codable {
  var id: Int64
  var content: String
}

func benchmarkDisk() async {
  let folder = FileManager.default.temporaryDirectory.appending(path: "disk-\(UUID().uuidString)")
  try! FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  let sync = spread(200) { try! write(Data(repeating: 1, count: 4096), in: folder) }
  line("4 KB written to a new file and synced: median; 95 %", sync.text)
  await benchmarkSteps(in: folder)
  await benchmarkRestore(size(100_000, smoke: 20_000), in: folder)
  if !options.isSmoke { await benchmarkRestore(1_000_000, in: folder) }
}

/// Measures steps into 100,000 rows, each compared with writing the whole state.
func benchmarkSteps(in folder: URL) async {
  let depot = Depot(count: 100_000)
  let file = try! await SQLiteFile.open(at: folder.appending(path: "steps.db").path)
  let store = file.store(named: "messages")
  let form = depot.form
  let first = ContinuousClock.now
  try! await store.checkpoint(form)
  line("first save of 100,000 rows of 300 bytes", Figure.time(since(first)).text)
  var lines = form.rows.dropFirst().enumerated().map { index, row in
    Line(id: Int64(index), content: String(decoding: row.value, as: UTF8.self))
  }
  let whole = spread(5) {
    lines[0].content += "!"
    try! write(try! JSONEncoder().encode(lines), in: folder)
  }
  for count in [1, 10, 100] {
    var times: [Double] = []
    for time in 1...400 {
      let entry = depot.entry(count, Int64(count * 1000 + time))
      let start = ContinuousClock.now
      try! await store.append(entry)
      times.append(since(start))
    }
    line("a step of \(count) rows into 100,000: median; 95 %", Spread(times).text)
    row("  its median", .time(Spread(times).median), beside: ["all as JSON": .time(whole.median)])
  }
  await file.close()
}

/// Measures the time from a file to its rows, for which an app waits when it starts.
func benchmarkRestore(_ count: Int, in folder: URL) async {
  let path = folder.appending(path: "\(count).db").path
  let depot = Depot(count: count)
  do {
    let file = try! await SQLiteFile.open(at: path)
    try! await file.store(named: "messages").checkpoint(depot.form)
    await file.close()
  }
  let name = count == 1_000_000 ? "1,000,000 rows" : "\(count / 1000),000 rows"
  let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int64
  row("\(name): the file", .bytes(size ?? -1), beside: ["their bytes": .bytes(Int64(count) * 308)])
  var times: [[Double]] = [[], [], [], []]
  for _ in 0..<5 {
    for (index, limit) in [Int64.max, 0].enumerated() {
      let start = ContinuousClock.now
      let file = try! await SQLiteFile.open(at: path, checkLimit: limit)
      times[index].append(since(start))
      let store = file.store(named: "messages")
      let page = ContinuousClock.now
      let all = RowRange(Depot.table, from: [], through: [UInt8](repeating: .max, count: 16))
      let rows = try! await store.rows(for: [RowQuery(all, .descending, limit: 100)])
      precondition(rows[0].count == 100, "the newest")
      if index == 1 { times[2].append(since(page)) }
      let load = ContinuousClock.now
      let form = try! await store.load()
      precondition(form?.rows.count == count + 1, "all of them")
      if index == 1 { times[3].append(since(load)) }
      await file.close()
    }
  }
  let best = times.map { $0.min() ?? 0 }
  row("\(name): opened, and checked whole", .time(best[0]), beside: ["unchecked": .time(best[1])])
  row("\(name): the newest 100 read", .time(best[2]))
  row("\(name): all read as a saved form", .time(best[3]))
}

/// The distribution of many measured times.
struct Spread {
  var sorted: [Double]

  init(_ times: [Double]) { sorted = times.sorted() }

  var median: Double { sorted[sorted.count / 2] }

  var text: String {
    let most = sorted[min(sorted.count * 95 / 100, sorted.count - 1)]
    return "\(Figure.time(median).text); \(Figure.time(most).text)"
  }
}

func spread(_ count: Int, _ body: () -> Void) -> Spread {
  Spread((0..<count).map { _ in elapsed(body) })
}

/// Replaces a file atomically. The new content is on the disk when this returns.
func write(_ data: Data, in folder: URL) throws {
  let (new, place) = (folder.appending(path: "new.json"), folder.appending(path: "whole.json"))
  try Data().write(to: new)
  let handle = try FileHandle(forWritingTo: new)
  try handle.write(contentsOf: data)
  try handle.synchronize()
  try handle.close()
  _ = unsafe rename(new.path, place.path)
}
