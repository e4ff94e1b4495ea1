import Foundation
import SyncProtocols
import Testing

@testable import EtcdSync
@testable import UpdateMachine

extension EtcdConnection {
  /// Settings whose waits are short.
  static func quick(silence: TimeSpan = .milliseconds(300)) -> EtcdSettings {
    var settings = EtcdSettings()
    settings.memberDeadline = .seconds(2)
    settings.deadline = .seconds(10)
    settings.silence = silence
    return settings
  }

  /// Performs operations, from outside of any model. Returns the revision.
  @discardableResult
  func perform(_ operations: EtcdTransaction.Operation...) async throws -> Int64 {
    var transaction = EtcdTransaction()
    transaction.success = operations
    let fields = try await ask(
      members[0], "/v3/kv/txn", transaction.json, within: settings.deadline)
    return try EtcdTransactionAnswer(fields).header.revision
  }

  @discardableResult
  func put(_ key: String, _ value: String) async throws -> Int64 {
    try await perform(.put(Array(key.utf8), Array(value.utf8)))
  }

  @discardableResult
  func delete(_ key: String) async throws -> Int64 {
    try await perform(.delete(Array(key.utf8)))
  }

  /// Throws the history before a revision away.
  func compact(at revision: Int64) async throws {
    _ = try await ask(
      members[0], "/v3/kv/compaction", ["revision": .long(revision), "physical": true],
      within: settings.deadline)
  }

  /// Sends a request of etcd's administration.
  func administer(_ path: String, _ body: JSONValue) async throws {
    _ = try await ask(members[0], "/v3/auth/\(path)", body, within: settings.deadline)
  }
}

/// A list of things to do: a key for each, with its title.
enum Chore: EtcdMutation, Storable, Equatable {
  /// Adds a thing. Refused if there is one of this name.
  case add(String, String)
  /// Changes a title. Refused if it is not what its maker saw.
  case rename(String, from: String, to: String)
  case remove(String)
  /// Adds one to a number.
  case count(String)
  /// Writes how many things there are.
  case tally

  var name: String {
    switch self {
    case .add: "add"
    case .rename: "rename"
    case .remove: "remove"
    case .count: "count"
    case .tally: "tally"
    }
  }

  func apply(to view: inout EtcdView) throws(ChangeRefusal) {
    switch self {
    case .add(let key, let title):
      guard view[EtcdKey(key)] == nil else { throw ChangeRefusal("EXISTS") }
      try view.put(title, for: EtcdKey(key))
    case .rename(let key, let old, let new):
      guard view[EtcdKey(key)]?.text == old else { throw ChangeRefusal("CHANGED") }
      try view.put(new, for: EtcdKey(key))
    case .remove(let key): try view.remove(EtcdKey(key))
    case .count(let key):
      let number = view[EtcdKey(key)].flatMap { $0.text }.flatMap { Int($0) } ?? 0
      try view.put("\(number + 1)", for: EtcdKey(key))
    case .tally: try view.put("\(view.entries(under: "thing/").count)", for: "tally")
    }
  }

  func put(into bytes: inout ByteWriter) {
    switch self {
    case .add(let key, let title): [name, key, title].put(into: &bytes)
    case .rename(let key, let old, let new): [name, key, old, new].put(into: &bytes)
    case .remove(let key), .count(let key): [name, key].put(into: &bytes)
    case .tally: [name].put(into: &bytes)
    }
  }

  init(from bytes: inout ByteReader) throws(StoredFormError) {
    let words: [String] = try bytes.takeArray()
    switch (words.first, words.count) {
    case ("add", 3): self = .add(words[1], words[2])
    case ("rename", 4): self = .rename(words[1], from: words[2], to: words[3])
    case ("remove", 2): self = .remove(words[1])
    case ("count", 2): self = .count(words[1])
    case ("tally", 1): self = .tally
    default: throw StoredFormError(expected: "a chore")
    }
  }
}

typealias Chores = EtcdModel<Chore>

extension PushRequest where Change == Chore {
  /// A push of changes numbered from a first one on.
  static func of(
    _ changes: Chore..., client: UInt64 = 7, from first: UInt64 = 1, knowing: UInt64 = 0,
    voided: [UInt64] = []
  ) -> PushRequest<Chore> {
    PushRequest(
      id: RequestID(incarnation: Incarnation(1), part: .outbox, number: 1),
      client: ClientID(client), knownRefusal: MutationID(knowing),
      voided: voided.map { MutationID($0) },
      mutations: changes.enumerated().map { index, change in
        PushRequest.Item(
          id: MutationID(first + UInt64(index)), ticket: MutationTicket(first + UInt64(index)),
          change: change)
      })
  }
}

extension MachineSettings {
  /// Settings whose waits are all very short.
  static var quick: MachineSettings {
    var settings = MachineSettings()
    settings.retry.paceInterval = .milliseconds(1)
    settings.retry.paceBurst = 1000
    settings.retry.transientFirst = .milliseconds(1)
    settings.retry.transientCap = .milliseconds(50)
    settings.retry.slowFirst = .milliseconds(1)
    settings.retry.slowCap = .milliseconds(50)
    settings.retry.retryAfterFloor = .milliseconds(1)
    settings.spread = .milliseconds(1)
    return settings
  }
}
