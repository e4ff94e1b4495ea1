import Foundation
import SQLiteStore
import SyncProtocols
import UpdateMachine

// A whole replica of messages on a real disk: what a batch of events costs, and a start.

/// A model that is messages and nothing else.
struct Mail: PagedModel, StorableModel {
  typealias Refusal = Never
  var messages: MessageStore<MessageFilter<String>>

  init(snapshot: [ChannelID]) { messages = MessageStore(following: snapshot) }
  mutating func apply(_ event: MessageEvent<String>) { messages.apply(event) }

  func store(since old: Mail?, into rows: inout RowWriter) {
    messages.store(since: old?.messages, into: &rows, from: .firstOfModel)
  }

  init(stored rows: StoredRows) throws(StoredFormError) {
    messages = try MessageStore(stored: rows, from: .firstOfModel)
  }

  static var sleepingTables: [StoredTable] {
    MessageStore<MessageFilter<String>>.sleepingTables(from: .firstOfModel)
  }

  static func message(_ number: Int64) -> Message<String> {
    Message(
      id: MessageID(number), sender: UserID(number % 50),
      place: .channel(ChannelID(number % 20), topic: Topic("topic \(number % 7)")),
      content: String(repeating: "word ", count: 40))
  }

  /// So many messages in 20 channels, and ten lists that show them.
  init(count: Int64) {
    self.init(snapshot: (0..<20).map { ChannelID($0) })
    var lists = (0..<10 as Range<Int64>).map { MessageFilter<String>([.channel(ChannelID($0))]) }
    lists.append(MessageFilter())
    for (number, list) in lists.enumerated() {
      // Nothing is there, and that is known: so what comes is held.
      messages.open(list)
      let id = FetchID(life: Life(1), number: UInt64(number))
      messages.begin(id, PageRequest(list, .newest, before: 10, after: 0))
      _ = messages.take(MessagePage(messages: [], foundOldest: true, foundNewest: true), for: id)
    }
    for number in 1...count { apply(.new(Mail.message(number))) }
    precondition(messages.count == Int(count), "all are held")
  }
}

typealias SavedMail = SavedReplica<Mail, QueueFinger>

func benchmarkMailOnDisk() async {
  let folder = FileManager.default.temporaryDirectory.appending(path: "mail-\(UUID().uuidString)")
  try! FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  let terms = Terms(longDeadline: .seconds(100), lifetime: .seconds(600))
  func saved(_ mail: Mail, _ event: Int64) -> SavedMail {
    SavedMail(
      model: mail, finger: QueueFinger(queue: QueueID("q"), lastEventID: event), terms: terms)
  }
  for count in [100_000, 1_000_000] as [Int64] {
    let path = folder.appending(path: "\(count).db").path
    let file = try! await SQLiteFile.open(at: path)
    let store = file.store(named: "mail")
    var old = saved(Mail(count: count), 0)
    let first = ContinuousClock.now
    try! await store.checkpoint(form(of: old))
    line("\(count) messages: first save", Figure.time(since(first)).text)
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
    line("  the file, bytes a message", "\(bytes / count)")
  }
}

private func form(of saved: SavedMail) -> StoredForm {
  StoredForm(
    rows: saved.rows(since: nil).map { (key: $0.key, value: $0.value!) },
    writtenAt: WallTime(milliseconds: 1))
}

/// From a file to the first window that is shown: with what is shown, and with everything.
private func benchmarkStart(_ path: String) async {
  var times: [[Double]] = [[], [], []]
  for _ in 0..<5 {
    for (index, sleeps) in [true, false].enumerated() {
      let start = ContinuousClock.now
      let file = try! await SQLiteFile.open(at: path, checkLimit: 0)
      let store = file.store(named: "mail")
      let form = try! await store.load(leaving: sleeps ? Mail.sleepingTables : [])!
      var mail = try! SavedMail(stored: try! StoredRows(form.rows, asleep: form.asleep)).model
      mail.restored()
      await show(&mail, store)
      times[index].append(since(start))
      await file.close()
      precondition(mail.messages.sleeps == sleeps, "asleep, but for what is shown")
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

/// The newest 50 of a list, as a window shows them.
private func show(_ mail: inout Mail, _ store: SQLiteStore) async {
  let narrow = MessageFilter<String>([.channel(ChannelID(3))])
  while true {
    let queries = mail.messages.asleep(under: .newest(50), of: narrow)
    if queries.isEmpty { break }
    for (query, rows) in zip(queries, try! await store.rows(for: queries)) {
      try! mail.messages.wake(RowAnswer(query, rows))
    }
  }
  let excerpt = mail.messages.list(of: narrow)!.excerpt(of: .newest(50))
  precondition(excerpt.rows.count == 50 && excerpt.wants.isEmpty, "what is there")
  for case .message(let id) in excerpt.rows { precondition(mail.messages[id] != nil, "held") }
}
