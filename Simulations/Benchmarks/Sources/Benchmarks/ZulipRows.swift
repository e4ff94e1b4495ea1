import Foundation
import UpdateMachine
import ZulipSync

// What a Zulip server wrote, from bytes to a model: the recorded session of five observers.

/// One observer's answers as they came.
struct RecordedAnswers {
  var register = Data()
  var polls: [Data] = []

  /// The first observer of the session.
  init() throws {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../../Recordings/observers.jsonl")
    for line in try Data(contentsOf: file).split(separator: UInt8(ascii: "\n")) {
      let fields = try ZulipValue(json: Data(line)).fields ?? [:]
      guard fields["client"] == "hamlet/modern" else { continue }
      let body = Data("\(fields["response"]?.fields?["body"] ?? .null)".utf8)
      switch (fields["request"]?.fields?["method"], register.isEmpty) {
      case ("POST", true): register = body
      case ("GET", _): polls.append(body)
      default: break
      }
    }
  }

  /// The register of a realm with so many times the users.
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
}

private func benchmarkRegisters(_ recorded: RecordedAnswers) throws {
  for (name, bytes) in [
    ("/register of 56 users", recorded.register),
    ("/register of 1,400 users", try recorded.register(times: 25)),
  ] {
    var rows = 0
    let model = seconds {
      guard let fields = try? ZulipValue(json: bytes).fields else { return }
      rows = (try? ZulipState(snapshot: ZulipSnapshot(fields)))?.rows.count ?? 0
    }
    precondition(rows > 400, "a state was made")
    line("\(name), \(bytes.count) bytes", "\(rows) rows")
    row(
      "  from bytes to a model", .time(model),
      beside: [
        "to values alone": .time(seconds { _ = try? ZulipValue(json: bytes) }),
        "JSONSerialization alone": .time(
          seconds { _ = try? JSONSerialization.jsonObject(with: bytes) }),
        "JSONDecoder alone, to the same values": .time(
          seconds { _ = try? JSONDecoder().decode(ZulipValue.self, from: bytes) }),
      ])
  }
}

private func benchmarkEvents(_ recorded: RecordedAnswers) throws {
  let fields = try ZulipValue(json: recorded.register).fields ?? [:]
  let start = try ZulipState(snapshot: ZulipSnapshot(fields))
  let answers = try recorded.polls.map { try ZulipError.decode(ZulipEvents.self, from: $0) }
  let events = answers.flatMap(\.events)
  let megabytes = Double(recorded.polls.reduce(0) { $0 + $1.count }) / 1e6
  var end = start
  let both = seconds {
    end = start
    for bytes in recorded.polls {
      guard let answer = try? ZulipError.decode(ZulipEvents.self, from: bytes) else { continue }
      for event in answer.events { try? end.apply(event) }
    }
  }
  precondition(end != start, "events were applied")
  let decoded = seconds {
    for bytes in recorded.polls { _ = try? ZulipError.decode(ZulipEvents.self, from: bytes) }
  }
  let applied = seconds {
    end = start
    for event in events { try? end.apply(event) }
  }
  let count = Double(events.count)
  line("a session's events", "\(events.count) in \(answers.count) answers")
  row(
    "  decoded and applied, each", .time(both / count),
    beside: [
      "decoded alone": .time(decoded / count), "applied alone": .time(applied / count),
      "JSONDecoder alone, to values": .time(
        seconds {
          for bytes in recorded.polls {
            _ = try? JSONDecoder().decode(ZulipValue.self, from: bytes)
          }
        } / count),
    ])
  row("  the same", .rate(megabytes / both, "MB/s"))
  var rows = 0
  var state = start
  for answer in answers {
    let old = state
    for event in answer.events { try state.apply(event) }
    var writer = RowWriter()
    state.store(since: old, into: &writer)
    rows += writer.rows.count
  }
  line("  rows to be written for all of them", "\(rows)")
}
