import Foundation
import SyncProtocols
import UpdateMachine

/// One conversation with one machine, as data: what the machine is given, and what it must answer.
/// The format is that of `Simulations/Recordings/machine.jsonl`, where each line is a conversation.
struct Conversation: Decodable {
  typealias Input = Machine<QueueFinger>.Input
  typealias Effect = Machine<QueueFinger>.Effect

  var name: String
  var settings: MachineSettings
  var restored: Restored?
  var steps: [Step]

  struct Restored: Decodable {
    var finger: QueueFinger
    var terms: ServerTerms
    var age: TimeSpan?

    init(from decoder: any Decoder) throws {
      let fields = try decoder.container(keyedBy: Key.self)
      finger = try fields.finger("finger")
      terms = try fields.terms("terms")
      age = try fields.decodeIfPresent(Int64.self, forKey: "age").map(TimeSpan.milliseconds)
    }
  }

  struct Step: Decodable {
    var at: Moment
    var input: Said
    var status: String
    var effects: [Effect]
    var freshness: String

    init(from decoder: any Decoder) throws {
      let fields = try decoder.container(keyedBy: Key.self)
      at = Moment(milliseconds: try fields.decode(Int64.self, forKey: "at"))
      input = try fields.decode(Said.self, forKey: "input")
      status = try fields.decode(String.self, forKey: "status")
      effects = try fields.decode([ExpectedEffect].self, forKey: "effects").map(\.effect)
      freshness = try fields.decode(String.self, forKey: "freshness")
    }
  }

  init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: Key.self)
    name = try fields.decode(String.self, forKey: "name")
    settings = try fields.decode(ChangedSettings.self, forKey: "settings").settings
    restored = try fields.decodeIfPresent(Restored.self, forKey: "restored")
    steps = try fields.decode([Step].self, forKey: "steps")
  }
}

/// Every request of a conversation belongs to this incarnation.
let conversationIncarnation = Incarnation(1)

/// The input of a step as it is written, before the machine's finger is known.
enum Said: Decodable {
  case look
  case input(Conversation.Input)
  case polled(RequestID, lastEventID: Int64)

  init(from decoder: any Decoder) throws {
    if let word = try? decoder.singleValueContainer().decode(String.self) {
      self = try Said(word: word, decoder)
      return
    }
    let fields = try decoder.container(keyedBy: Key.self)
    func id(_ key: Key) throws -> UInt64 { try fields.decode(UInt64.self, forKey: key) }
    func request(_ key: Key) throws -> RequestID {
      RequestID(incarnation: conversationIncarnation, number: try id(key))
    }
    if fields.contains("started") {
      let place = try fields.decode(String.self, forKey: "started")
      guard place == "foreground" || place == "background" else {
        throw unexpected(decoder, "started \"foreground\" or \"background\", found \"\(place)\"")
      }
      self = .input(.app(.started(foreground: place == "foreground")))
    } else if fields.contains("snapshotArrived") {
      self = .input(
        .snapshotArrived(
          try request("snapshotArrived"), finger: try fields.finger("finger"),
          terms: try fields.terms("terms")))
    } else if fields.contains("polled") {
      self = .polled(
        try request("polled"), lastEventID: try fields.decode(Int64.self, forKey: "lastEventID"))
    } else if fields.contains("failed") {
      self = .input(.failed(try request("failed"), try fields.failure("failure")))
    } else if fields.contains("fired") {
      self = .input(.fired(TimerID(try id("fired"))))
    } else if fields.contains("written") {
      self = .input(.written(WriteID(try id("written"))))
    } else if fields.contains("writeFailed") {
      self = .input(.writeFailed(WriteID(try id("writeFailed"))))
    } else {
      throw unexpected(decoder, "an input")
    }
  }

  private init(word: String, _ decoder: any Decoder) throws {
    switch word {
    case "look": self = .look
    case "stopped": self = .input(.app(.stopped))
    case "loggedOut": self = .input(.app(.loggedOut))
    case "foregrounded": self = .input(.app(.foregrounded))
    case "backgrounded": self = .input(.app(.backgrounded))
    case "networkChanged": self = .input(.app(.networkChanged))
    case "retryRequested": self = .input(.app(.retryRequested))
    case "credentialsChanged": self = .input(.app(.credentialsChanged))
    default: throw unexpected(decoder, "an input, found \"\(word)\"")
    }
  }
}

private struct ExpectedEffect: Decodable {
  var effect: Conversation.Effect

  init(from decoder: any Decoder) throws {
    if let word = try? decoder.singleValueContainer().decode(String.self) {
      guard word == "erase" else { throw unexpected(decoder, "an effect, found \"\(word)\"") }
      effect = .erase
      return
    }
    let fields = try decoder.container(keyedBy: Key.self)
    func id(_ key: Key) throws -> UInt64 { try fields.decode(UInt64.self, forKey: key) }
    func request(_ key: Key) throws -> RequestID {
      RequestID(incarnation: conversationIncarnation, number: try id(key))
    }
    func moment(_ key: Key) throws -> Moment {
      Moment(milliseconds: try fields.decode(Int64.self, forKey: key))
    }
    if fields.contains("cancel") {
      effect = .cancel(try request("cancel"))
    } else if fields.contains("disarm") {
      effect = .disarm(TimerID(try id("disarm")))
    } else if fields.contains("report") {
      let what = try fields.decode(String.self, forKey: "report")
      effect = .report(what == "store" ? .store : .failure(try fields.failure("report")))
    } else if fields.contains("release") {
      effect = .release(QueueID(try fields.decode(String.self, forKey: "release")))
    } else if fields.contains("persist") {
      effect = .persist(WriteID(try id("persist")))
    } else if fields.contains("register") {
      effect = .register(try request("register"))
    } else if fields.contains("poll") {
      effect = .poll(
        try request("poll"), finger: try fields.finger("finger"),
        waits: try fields.decode(Bool.self, forKey: "waits"))
    } else if fields.contains("arm") {
      effect = .arm(
        TimerID(try id("arm")), MomentRange(from: try moment("earliest"), to: try moment("latest")))
    } else {
      throw unexpected(decoder, "an effect")
    }
  }
}

/// The settings that differ from the defaults, by their names in TheMachine §1.
private struct ChangedSettings: Decodable {
  var settings = MachineSettings()

  init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: Key.self)
    for key in fields.allKeys {
      if key.stringValue == "durable" {
        settings.isDurable = try fields.decode(Bool.self, forKey: key)
        continue
      }
      let number = try fields.decode(Int64.self, forKey: key)
      guard settings.set(key.stringValue, to: number) else {
        throw unexpected(decoder, "a setting, found \"\(key.stringValue)\"")
      }
    }
  }
}

extension MachineSettings {
  /// Sets one number by its name in TheMachine §1. Returns `false` if there is none of that name.
  mutating func set(_ name: String, to number: Int64) -> Bool {
    switch name {
    case "paceBurst": retry.paceBurst = number
    case "wakeBurst": retry.wakeBurst = number
    default: return set(name, to: .milliseconds(number))
    }
    return true
  }
}

private struct Key: CodingKey, ExpressibleByStringLiteral {
  var stringValue: String
  var intValue: Int? { nil }

  init(stringValue: String) { self.stringValue = stringValue }
  init(stringLiteral value: String) { stringValue = value }
  init?(intValue: Int) { nil }
}

private func unexpected(_ decoder: any Decoder, _ what: String) -> DecodingError {
  .dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "expected \(what)"))
}

extension KeyedDecodingContainer where Key == RecordingCheck.Key {
  fileprivate func finger(_ key: Key) throws -> QueueFinger {
    let fields = try nestedContainer(keyedBy: RecordingCheck.Key.self, forKey: key)
    return QueueFinger(
      queue: QueueID(try fields.decode(String.self, forKey: "queue")),
      lastEventID: try fields.decode(Int64.self, forKey: "event"))
  }

  fileprivate func terms(_ key: Key) throws -> ServerTerms {
    let fields = try nestedContainer(keyedBy: RecordingCheck.Key.self, forKey: key)
    return ServerTerms(
      longDeadline: .milliseconds(try fields.decode(Int64.self, forKey: "longDeadline")),
      lifetime: .milliseconds(try fields.decode(Int64.self, forKey: "lifetime")))
  }

  fileprivate func failure(_ key: Key) throws -> SyncFailure {
    let name = try decode(String.self, forKey: key)
    switch name {
    case "unreachable": return .unreachable
    case "timedOut": return .timedOut
    case "serverFault": return .serverFault
    case "rateLimited":
      let after = try decodeIfPresent(Int64.self, forKey: "after")
      return .rateLimited(after: after.map(TimeSpan.milliseconds))
    case "unauthorized": return .unauthorized
    case "unsupported": return .unsupported
    case "expired": return .expired
    case "rejected": return .rejected(.none)
    case "malformed": return .malformed
    case "modelRefused": return .modelRefused
    default:
      throw DecodingError.dataCorruptedError(
        forKey: key, in: self, debugDescription: "expected a failure, found \"\(name)\"")
    }
  }
}
