import Foundation
import MessageSync
import SQLiteStore
import SyncProtocols
import UpdateMachine

// A whole replica of messages on a real disk: the costs of a batch of events, and of a start.

/// A model that holds only messages.
struct Mail: MessageModel, StorableModel {
  typealias Refusal = Never
  typealias Narrow = MessageFilter<String>
  var lists: MessageStore<MessageFilter<String>>

  init(snapshot: [ChannelID]) { lists = MessageStore(following: snapshot) }
  mutating func apply(_ event: MessageEvent<String>) { lists.apply(event) }

  func store(since old: Mail?, into rows: inout RowWriter) {
    lists.store(since: old?.lists, into: &rows, from: .firstOfModel)
  }

  init(stored rows: RowReader) throws(StoredFormError) {
    lists = try MessageStore(stored: rows, from: .firstOfModel)
  }

  static var unloadedTables: [StoredTable] {
    MessageStore<MessageFilter<String>>.unloadedTables(from: .firstOfModel)
  }

  static func message(_ number: Int64) -> ChatMessage<String> {
    ChatMessage(
      id: MessageID(number), sender: UserID(number % 50),
      place: .channel(ChannelID(number % 20), topic: MessageTopic("topic \(number % 7)")),
      content: String(repeating: "word ", count: 40))
  }

  /// Creates a model of `count` messages in 20 channels, with a list of each of ten channels and
  /// one of everything.
  init(count: Int64) {
    self.init(snapshot: (0..<20).map { ChannelID($0) })
    var narrows = (0..<10 as Range<Int64>).map { MessageFilter<String>([.channel(ChannelID($0))]) }
    narrows.append(MessageFilter())
    for (number, narrow) in narrows.enumerated() {
      // The list is known to be empty, so it holds whatever comes.
      lists.open(narrow)
      let id = RequestID(incarnation: Incarnation(1), part: .pages, number: UInt64(number))
      lists.begin(id, PageRequest(narrow, .newest, before: 10, after: 0))
      _ = lists.take(MessagePage(messages: [], foundOldest: true, foundNewest: true), for: id)
    }
    for number in 1...count { apply(.new(Mail.message(number))) }
    precondition(lists.count == Int(count), "all are held")
  }
}

typealias SavedMail = SavedReplica<Mail, QueueFinger>

func benchmarkMailOnDisk() async {
  let folder = FileManager.default.temporaryDirectory.appending(path: "mail-\(UUID().uuidString)")
  try! FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  let terms = ServerTerms(longDeadline: .seconds(100), lifetime: .seconds(600))
  func saved(_ mail: Mail, _ event: Int64) -> SavedMail {
    SavedMail(
      model: mail, finger: QueueFinger(queue: QueueID("q"), lastEventID: event), terms: terms)
  }
  let counts: [Int64] = options.isSmoke ? [20_000] : [100_000, 1_000_000]
  for count in counts {
    let path = folder.appending(path: "\(count).db").path
    let file = try! await SQLiteFile.open(at: path)
    let store = file.store(named: "mail")
    var old = saved(Mail(count: count), 0)
    let first = ContinuousClock.now
    let whole = form(of: old)
    let made = since(first)
    try! await store.checkpoint(whole)
    line("\(count) messages: first save", Figure.time(since(first)).text)
    line("  its \(whole.rows.count) rows made alone", Figure.time(made).text)
    line("  their bytes in a plain file alone", Figure.time(written(whole, into: folder)).text)
    var next = count
    for batch in [1, 10, 100] as [Int64] {
      var times: [Double] = []
      for _ in 0..<100 {
        var mail = old.model
        for _ in 0..<batch {
          next += 1
          mail.apply(.new(Mail.message(next)))
        }
        let new = saved(mail, next)
        let start = ContinuousClock.now
        let entry = JournalEntry(rows: new.rows(since: old), writtenAt: WallTime(milliseconds: 1))
        try! await store.append(entry)
        times.append(since(start))
        old = new
      }
      line("  a batch of \(batch): median; 95 %", Spread(times).text)
    }
    await file.close()
    await benchmarkStart(path)
    let bytes = (try! FileManager.default.attributesOfItem(atPath: path))[.size] as! Int64
    counted("  the file, bytes a message", bytes / count)
  }
}

/// Writes what a form's rows have in one plain file; returns the seconds.
private func written(_ form: SavedRows, into folder: URL) -> Double {
  let start = ContinuousClock.now
  let path = folder.appending(path: "plain").path
  _ = FileManager.default.createFile(atPath: path, contents: nil)
  let file = FileHandle(forWritingAtPath: path)!
  var bytes: [UInt8] = []
  for row in form.rows {
    bytes += row.key.bytes
    bytes += row.value
    guard bytes.count > 1 << 20 else { continue }
    try! file.write(contentsOf: bytes)
    bytes.removeAll(keepingCapacity: true)
  }
  try! file.write(contentsOf: bytes)
  try! file.synchronize()
  try! file.close()
  return since(start)
}

private func form(of saved: SavedMail) -> SavedRows {
  SavedRows(
    rows: saved.rows(since: nil).map { (key: $0.key, value: $0.value!) },
    writtenAt: WallTime(milliseconds: 1))
}

/// Measures the time from a file to the first window: reading only what it shows, or everything.
private func benchmarkStart(_ path: String) async {
  var times: [[Double]] = [[], [], []]
  for _ in 0..<5 {
    for (index, leaves) in [true, false].enumerated() {
      let start = ContinuousClock.now
      let file = try! await SQLiteFile.open(at: path, checkLimit: 0)
      let store = file.store(named: "mail")
      let form = try! await store.load(leaving: leaves ? Mail.unloadedTables : [])!
      var mail = try! SavedMail(stored: try! RowReader(form.rows, unloaded: form.unloaded)).model
      mail.lists.restored()
      await show(&mail, store)
      times[index].append(since(start))
      await file.close()
      precondition(mail.hasUnloaded == leaves, "unloaded, except what is shown")
    }
    let start = ContinuousClock.now
    let file = try! await SQLiteFile.open(at: path, checkLimit: 0)
    _ = try! await file.store(named: "mail").load()
    times[2].append(since(start))
    await file.close()
  }
  row(
    "  from the file to the first window", .time(times[0].min()!),
    beside: [
      "everything read first": .time(times[1].min()!),
      "its rows read alone": .time(times[2].min()!),
    ])
}

/// Loads the newest 50 messages of a list, as a window shows them.
private func show(_ mail: inout Mail, _ store: SQLiteStore) async {
  let narrow = MessageFilter<String>([.channel(ChannelID(3))])
  while true {
    let queries = mail.lists.unloaded(under: .newest(50), of: narrow)
    if queries.isEmpty { break }
    for (query, rows) in zip(queries, try! await store.rows(for: queries)) {
      try! mail.load(RowAnswer(query, rows), isSaved: false)
    }
  }
  let excerpt = mail.lists.list(of: narrow)!.excerpt(of: .newest(50))
  precondition(excerpt.rows.count == 50 && excerpt.wants.isEmpty, "what is there")
  for case .item(let id) in excerpt.rows { precondition(mail.lists[id] != nil, "held") }
}
