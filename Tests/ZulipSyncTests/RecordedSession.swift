import Foundation
import SyncProtocols
import UpdateMachine
import ZulipSync

/// One observer of the shipped session: its register, the events it was told, and the later
/// register that it made to compare.
struct RecordedObserver {
  var name: String
  var start: ZulipSnapshot
  /// The answers to the observer's polls.
  var answers: [ZulipEvents]
  var closing: ZulipSnapshot

  var events: [ZulipEvent] { answers.flatMap(\.events) }

  /// All five observers.
  static let all: [RecordedObserver] = {
    do { return try read() } catch { preconditionFailure("\(error)") }
  }()

  static func named(_ name: String) -> RecordedObserver {
    guard let observer = all.first(where: { $0.name == name }) else {
      preconditionFailure("nobody is called \(name)")
    }
    return observer
  }

  private static func read() throws -> [RecordedObserver] {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../Simulations/Recordings/observers.jsonl")
    var observers: [RecordedObserver] = []
    for line in try Data(contentsOf: file).split(separator: UInt8(ascii: "\n")) {
      let value = try ZulipValue(json: Data(line)).fields ?? [:]
      let request = value["request"]?.fields ?? [:]
      let parameters = request["params"]?.fields ?? [:]
      let body = value["response"]?.fields?["body"] ?? .null
      let name = value["client"]?.text ?? ""
      let place = observers.firstIndex { $0.name == name }
      switch (request["method"], request["path"]) {
      case ("POST", "/api/v1/register"):
        let snapshot = ZulipSnapshot(
          body.fields ?? [:], ZulipRegistration(parameters: parameters))
        if let place {
          observers[place].closing = snapshot
        } else {
          observers.append(
            RecordedObserver(name: name, start: snapshot, answers: [], closing: snapshot))
        }
      case ("GET", "/api/v1/events"):
        guard let place else { continue }
        observers[place].answers.append(
          try ZulipError.decode(ZulipEvents.self, from: Data("\(body)".utf8)))
      default: break
      }
    }
    return observers
  }
}

extension ZulipEvent {
  /// Reads an event as a server writes it. `id` may be left out.
  init(_ json: String) throws {
    var fields = try ZulipValue(json: Data(json.utf8)).fields ?? [:]
    if fields["id"] == nil { fields["id"] = 0 }
    try self.init(.fields(fields))
  }

  init(_ value: ZulipValue) throws {
    self = try ZulipError.decode(ZulipEvent.self, from: Data("\(value)".utf8))
  }
}

extension ZulipState {
  /// Makes a state from the text of some fields of a register.
  init(_ json: String, _ registration: ZulipRegistration = ZulipRegistration()) throws {
    let fields = try ZulipValue(json: Data(json.utf8)).fields ?? [:]
    try self.init(snapshot: ZulipSnapshot(fields, registration))
  }

  /// The differences from another state, as "key: theirs → ours".
  func differences(from other: ZulipState) -> [String] {
    rows.difference(from: other.rows).changes.map { change in
      "\(change.key): \(change.old.map { "\($0)" } ?? "nothing") → "
        + "\(change.new.map { "\($0)" } ?? "nothing")"
    }
  }
}
