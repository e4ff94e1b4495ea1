import CAllocations
import Foundation
import MessageSync
import UpdateMachine
import ZulipSync

// A Zulip server's answers, from bytes to a model: the recorded session of five observers.

/// The answers that one observer received.
struct RecordedAnswers {
  var register = Data()
  var polls: [Data] = []

  /// Reads those of the session's first observer.
  init() throws {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../Recordings/observers.jsonl")
    for line in try Data(contentsOf: file).split(separator: UInt8(ascii: "\n")) {
      let fields = try ZulipValue(json: Data(line)).fields ?? [:]
      guard fields["client"] == "hamlet/modern" else { continue }
      let request = fields["request"]?.fields ?? [:]
      let body = Data("\(fields["response"]?.fields?["body"] ?? .null)".utf8)
      switch (request["method"], request["path"]) {
      // The observer's second register was only for comparison.
      case ("POST", "/api/v1/register") where register.isEmpty: register = body
      case ("GET", "/api/v1/events"): polls.append(body)
      default: break
      }
    }
  }

  /// Returns the register of a realm with this many times the users.
  func register(times: Int64) throws -> Data {
    var fields = try ZulipValue(json: register).fields ?? [:]
    var users: [ZulipValue] = []
    for copy in 0..<times {
      for user in fields["realm_users"]?.list ?? [] {
        guard var user = user.fields, let id = user["user_id"]?.number else { continue }
        user["user_id"] = .number(id + copy * 1_000)
        users.append(.fields(user))
      }
    }
    fields["realm_users"] = .list(users)
    return Data("\(ZulipValue.fields(fields))".utf8)
  }
}

func benchmarkZulip() throws {
  let recorded = try RecordedAnswers()
  try benchmarkRegisters(recorded)
  try benchmarkEvents(recorded)
  try benchmarkHeld(recorded)
}

// MARK: A register

private func benchmarkRegisters(_ recorded: RecordedAnswers) throws {
  for (name, bytes) in [
    ("/register of 56 users", recorded.register),
    ("/register of 1,512 users", try recorded.register(times: 27)),
  ] {
    var rows = 0
    let model = seconds {
      guard let fields = try? ZulipValue(json: bytes).fields else { return }
      rows = (try? ZulipState(snapshot: ZulipSnapshot(fields)))?.rows.count ?? 0
    }
    precondition(rows > 400, "a state was made")
    let plain = try JSONDecoder().decode(PlainRegister.self, from: bytes)
    precondition(plain.realmUsers.count > 40, "the users were read")
    line("\(name), \(bytes.count) bytes", "\(rows) rows")
    row(
      "  from bytes to a model", .time(model),
      beside: [
        "JSONDecoder alone, to the plainest types": .time(
          seconds { _ = try? JSONDecoder().decode(PlainRegister.self, from: bytes) }),
        "JSONSerialization alone": .time(
          seconds { _ = try? JSONSerialization.jsonObject(with: bytes) }),
        "to values alone": .time(seconds { _ = try? ZulipValue(json: bytes) }),
      ])
  }
}

// MARK: Events

private func benchmarkEvents(_ recorded: RecordedAnswers) throws {
  let fields = try ZulipValue(json: recorded.register).fields ?? [:]
  let start = try knowing(ZulipAccount(snapshot: .init(ZulipSnapshot(fields), .rendered)))
  let answers = try recorded.polls.map { try ZulipError.decode(ZulipEvents.self, from: $0) }
  let events = answers.flatMap(\.events)
  let count = Double(events.count)
  let megabytes = Double(recorded.polls.reduce(0) { $0 + $1.count }) / 1e6
  line(
    "a session's events",
    "\(events.count) in \(answers.count) answers, \(Int(megabytes * 1e6)) bytes")

  var end = start
  let both = seconds {
    end = start
    for bytes in recorded.polls {
      guard let answer = try? ZulipError.decode(ZulipEvents.self, from: bytes) else { continue }
      end.lists.asked()
      for event in answer.events { try? end.apply(event) }
      end.lists.answered()
    }
  }
  precondition(end.realm != start.realm && end.messages.count > 0, "events were applied")
  let decoded = seconds {
    for bytes in recorded.polls { _ = try? ZulipError.decode(ZulipEvents.self, from: bytes) }
  }
  let applied = seconds {
    end = start
    for event in events { try? end.apply(event) }
  }
  let plain = try recorded.polls.map { try JSONDecoder().decode(PlainEvents.self, from: $0) }
  precondition(plain.reduce(0) { $0 + $1.events.count } == events.count, "the same were read")
  let alone = seconds {
    for bytes in recorded.polls { _ = try? JSONDecoder().decode(PlainEvents.self, from: bytes) }
  }
  row(
    "  decoded and applied, to state and messages", .rate(count / both, "events/s"),
    beside: ["JSONDecoder alone, to the plainest types": .rate(count / alone, "events/s")])
  row(
    "  the same", .rate(megabytes / both, "MB/s"),
    beside: ["JSONDecoder alone, to the plainest types": .rate(megabytes / alone, "MB/s")])
  row(
    "  the same, each", .time(both / count),
    beside: [
      "decoded alone": .time(decoded / count), "applied alone": .time(applied / count),
      "JSONDecoder alone, to the plainest types": .time(alone / count),
      "JSONSerialization alone": .time(
        seconds {
          for bytes in recorded.polls { _ = try? JSONSerialization.jsonObject(with: bytes) }
        } / count),
    ])
  try benchmarkRowsWritten(start, answers)
}

private func benchmarkRowsWritten(_ start: ZulipAccount, _ answers: [ZulipEvents]) throws {
  var rows = 0
  var account = start
  for answer in answers {
    let old = account
    for event in answer.events { try account.apply(event) }
    var writer = RowWriter()
    account.store(since: old, into: &writer)
    rows += writer.rows.count
  }
  line("  rows to be written for all of them", "\(rows)")
}

/// Returns the account with a list of all messages open, and known to be empty.
private func knowing(_ account: ZulipAccount) -> ZulipAccount {
  var account = account
  let everything = account.list(ZulipNarrow([]))
  let fetch = RequestID(incarnation: Incarnation(1), part: .pages, number: 1)
  account.lists.open(everything)
  account.lists.begin(fetch, PageRequest(everything, .newest, before: 1, after: 0))
  _ = account.lists.take(
    MessagePage(messages: [], foundOldest: true, foundNewest: true), for: fetch)
  return account
}

// MARK: Messages that are held

/// Holds the session's messages many times over, each copy with its own IDs and texts.
private func benchmarkHeld(_ recorded: RecordedAnswers) throws {
  let copies: Int64 = 200
  let fields = try ZulipValue(json: recorded.register).fields ?? [:]
  var account = try knowing(ZulipAccount(snapshot: .init(ZulipSnapshot(fields), .rendered)))
  var text = 0
  let start = allocated_bytes()
  for copy in 0..<copies {
    for bytes in recorded.polls {
      for event in try ZulipError.decode(ZulipEvents.self, from: bytes).events {
        guard case .sent(var message) = event.kind else { continue }
        message.id = MessageID(message.id.number + copy * 100_000)
        text += message.content.text.utf8.count
        account.lists.apply(.new(message.message))
      }
    }
  }
  let count = Int64(account.messages.count)
  let held = start < 0 ? -1 : (allocated_bytes() - start) / count
  let begun = allocated_bytes()
  var plain: [PlainMessage] = []
  for copy in 0..<copies {
    for bytes in recorded.polls {
      for event in try JSONDecoder().decode(PlainEvents.self, from: bytes).events {
        guard var message = event.message else { continue }
        message.id += copy * 100_000
        plain.append(message)
      }
    }
  }
  let alone = start < 0 ? -1 : (allocated_bytes() - begun) / Int64(plain.count)
  precondition(count > 20_000 && plain.count >= count, "all are there")
  row(
    "a message held, of \(count) in one list", .bytes(held),
    beside: [
      "JSONDecoder alone, to the plainest types": .bytes(alone),
      "its text alone": .bytes(Int64(text) / count),
    ])
}
