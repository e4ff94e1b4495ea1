import Foundation
import MessageSync
import SyncProtocols
import Testing
import UpdateMachine
import ZulipSync

/// Tests that no secret of the server's is held, shown or saved.
@Suite("Secrets in a realm's state") struct ZulipSecretTests {
  private static let bots = """
    [{"user_id":64,"full_name":"a","api_key":"SECRET1","services":[
       {"base_url":"u","interface":1,"token":"SECRET2"},
       {"service_name":"giphy","config_data":{"key":"SECRET3"}}]},
     {"user_id":65,"full_name":"b","api_key":"SECRET4","services":null}]
    """
  private static let channel = #"{"stream_id":5,"name":"a","email_address":"a.SECRET5@x.org"}"#
  private static let register = """
    {"realm_bots":\(bots),"realm_name":"a","streams":[\(channel)],"subscriptions":[\(channel)],
     "unsubscribed":[\(channel)],"never_subscribed":[\(channel)]}
    """

  /// All that a state holds, and all that printing shows of it.
  private static func texts(_ state: ZulipState) -> String {
    var text = "\(state) \(String(reflecting: state))"
    dump(state, to: &text)
    for row in state.rows { text += "\n\(row.key): \(row.value)" }
    return text
  }

  @Test func `secrets of a register are dropped, and nothing else of their objects`() throws {
    let state = try ZulipState(Self.register)
    #expect(!Self.texts(state).contains("SECRET"))
    #expect(
      state[ZulipKey("realm_bots", 64)]
        == [
          "user_id": 64, "full_name": "a",
          "services": [["base_url": "u", "interface": 1], ["service_name": "giphy"]],
        ])
    #expect(
      state[ZulipKey("realm_bots", 65)] == ["user_id": 65, "full_name": "b", "services": .null])
    for field in ["streams", "subscriptions", "unsubscribed", "never_subscribed"] {
      #expect(state[ZulipKey(field, 5)] == ["stream_id": 5, "name": "a"])
    }
  }

  @Test(arguments: [
    #"{"type":"realm_bot","op":"add","bot":{"user_id":66,"api_key":"SECRET"}}"#,
    """
    {"type":"realm_bot","op":"add","bot":{"user_id":66,"services":[{"token":"SECRET"},
     {"config_data":{"key":"SECRET"}}]}}
    """,
    #"{"type":"realm_bot","op":"update","bot":{"user_id":64,"api_key":"SECRET"}}"#,
    #"{"type":"realm_bot","op":"update","bot":{"user_id":65,"services":[{"token":"SECRET"}]}}"#,
    #"{"type":"stream","op":"create","streams":[{"stream_id":6,"email_address":"SECRET"}]}"#,
    """
    {"type":"stream","op":"update","stream_id":5,"name":"a","property":"email_address",
     "value":"SECRET"}
    """,
    """
    {"type":"stream","op":"update","stream_id":5,"name":"a","property":"name","value":"b",
     "email_address":"SECRET"}
    """,
    """
    {"type":"subscription","op":"add","subscriptions":[{"stream_id":7,"email_address":"SECRET"}]}
    """,
  ]) func `secrets of an event are dropped`(_ event: String) throws {
    var state = try ZulipState(Self.register)
    let old = state
    try state.apply(try ZulipEvent(event))
    #expect(!Self.texts(state).contains("SECRET"))
    #expect(state.counts.strays == 0 && state.counts.notHeld == 0)
    // The event was applied, unless it was about secrets only.
    let isOnlySecret =
      event.contains("64,\"api_key") || event.contains(#""property":"email_address""#)
    #expect((state != old) == !isOnlySecret)
  }

  @Test func `a snapshot does not show its fields`() throws {
    let fields = try #require(try ZulipValue(json: Data(Self.register.utf8)).fields)
    let snapshot = ZulipSnapshot(fields)
    let whole = ZulipAccount.Snapshot(snapshot, .rendered)
    var text = "\(snapshot) \(String(reflecting: snapshot)) \(whole) \(String(reflecting: whole))"
    dump(snapshot, to: &text)
    dump(whole, to: &text)
    #expect(!text.contains("SECRET"))
    #expect("\(snapshot)" == "a register of 6 fields")
  }

  // MARK: Saved

  /// Returns an answer of the recorded server with its secrets. The recording has an ellipsis in
  /// place of each.
  /// - Parameter found: counts them, by the names that the server gives them.
  private static func restored(_ value: ZulipValue, _ found: inout [String: Int]) -> ZulipValue {
    switch value {
    case .fields(var fields):
      for entry in fields.entries {
        if ["api_key", "token"].contains(entry.name), entry.value.text != nil {
          found[entry.name, default: 0] += 1
          fields[entry.name] = "SECRET of a user's bot"
        } else {
          fields[entry.name] = restored(entry.value, &found)
        }
      }
      return .fields(fields)
    case .list(let list): return .list(list.map { restored($0, &found) })
    case .null, .bool, .number, .fraction, .text: return value
    }
  }

  private static func saved(_ account: ZulipAccount) -> [(key: StoredKey, value: [UInt8])] {
    SavedReplica(account, QueueFinger(queue: QueueID("q"), lastEventID: 7), .unspoken)
      .rows(since: nil).compactMap { row in row.value.map { (key: row.key, value: $0) } }
  }

  private static func has(
    _ secret: String, _ rows: [(key: StoredKey, value: [UInt8])]
  ) -> Bool {
    rows.contains { Data($0.key.bytes + $0.value).range(of: Data(secret.utf8)) != nil }
  }

  @Test func `a saved account of the recorded session has no byte of a secret`() async throws {
    var found: [String: Int] = [:]
    for observer in RecordedObserver.all {
      let fields = Self.restored(.fields(observer.start.fields), &found).fields
      let start = ZulipSnapshot(try #require(fields), observer.start.registration)
      var account = try ZulipAccount(snapshot: ZulipAccount.Snapshot(start, .rendered))
      let events = try observer.events.map { event in
        try ZulipEvent(Self.restored(.fields(event.fields), &found))
      }
      let store = MemoryStore()
      for part in [[], events] {
        for event in part { try account.apply(event) }
        try await store.checkpoint(
          SavedRows(rows: Self.saved(account), writtenAt: WallTime(milliseconds: 0)))
        let rows = try #require(try await store.load(leaving: [])).rows
        #expect(Self.has("http://localhost:9991", rows), "the rows are readable")
        #expect(!Self.has("SECRET", rows), "\(observer.name)")
      }
    }
    // Without secrets in the recording this test would say nothing.
    #expect(found["api_key"] ?? 0 >= 5 && found["token"] ?? 0 >= 1, "\(found)")
  }

  // MARK: Files of older versions

  private static let states = StoredTable.firstOfModel.advanced(by: 1)
  private static let heads = StoredTable.firstOfModel.advanced(by: 2)

  /// Changes one row, which must be there.
  private static func change(
    _ table: StoredTable, _ key: [UInt8] = [], in rows: inout [(key: StoredKey, value: [UInt8])],
    _ change: (inout [UInt8]) throws -> Void
  ) throws {
    let index = try #require(rows.firstIndex { $0.key == StoredKey(table, key) })
    try change(&rows[index].value)
  }

  /// What an older version saved of the same account: with secrets.
  private static func old(
    _ account: ZulipAccount, version: UInt64
  ) throws -> [(key: StoredKey, value: [UInt8])] {
    var rows = saved(account)
    try change(StoredTable(0), in: &rows) { head in
      #expect(head[1] == UInt8(ZulipAccount.storedVersion), "the model's version")
      head[1] = UInt8(version)
    }
    let fields = try #require(try ZulipValue(json: Data(register.utf8)).fields)
    for entry in fields.entries {
      for object in entry.value.list ?? [] {
        let id = object.fields?["user_id"]?.number ?? object.fields?["stream_id"]?.number ?? 0
        try change(states, ZulipKey(entry.name, id).keyBytes, in: &rows) {
          $0 = object.storedBytes
        }
      }
    }
    // Version 1 had an empty content in place of the head.
    if version == 1 {
      try change(heads, in: &rows) { $0 = ZulipContent("", .rendered).storedBytes }
    }
    return rows
  }

  @Test(arguments: [1, 2] as [UInt64])
  func `an account that an older version saved loses its secrets`(_ version: UInt64) throws {
    let fields = try #require(try ZulipValue(json: Data(Self.register.utf8)).fields)
    let account = try ZulipAccount(
      snapshot: .init(ZulipSnapshot(fields, .full), .rendered, client: ClientID(77)))
    let rows = try Self.old(account, version: version)
    for number in 1...5 { #expect(Self.has("SECRET\(number)", rows)) }
    let read = try SavedReplica<ZulipAccount, QueueFinger>(stored: RowReader(rows))
    #expect(read.model.realm == account.realm)
    #expect(read.model.client == ClientID(77) && read.model.form == .rendered)
    #expect(!Self.texts(read.model.realm).contains("SECRET"))
    let again = Self.saved(read.model)
    #expect(!Self.has("SECRET", again))
    #expect(again.map(\.key) == Self.saved(account).map(\.key))
    #expect(again.map(\.value) == Self.saved(account).map(\.value))
  }

  @Test func `a state that an older version saved loses its secrets`() throws {
    let state = try ZulipState(Self.register)
    var writer = RowWriter()
    state.store(since: nil, into: &writer)
    var rows = writer.rows.compactMap { row in row.value.map { (key: row.key, value: $0) } }
    let bot: ZulipValue = ["user_id": 64, "api_key": "SECRET"]
    try Self.change(Self.states, ZulipKey("realm_bots", 64).keyBytes, in: &rows) {
      $0 = bot.storedBytes
    }
    let migrated = try ZulipState.migrate(RowReader(rows), from: 1)
    #expect(!Self.has("SECRET", migrated.rows))
    let read = try ZulipState(stored: migrated)
    #expect(read[ZulipKey("realm_bots", 64)] == ["user_id": 64])
    #expect(read.rows.count == state.rows.count)
    #expect(throws: StoredFormError.self) { try ZulipState.migrate(RowReader(rows), from: 0) }
    #expect(throws: StoredFormError.self) { try ZulipAccount.migrate(RowReader(rows), from: 0) }
    // A damaged row is an error, as in the present version.
    try Self.change(Self.states, ZulipKey("realm_bots", 64).keyBytes, in: &rows) { $0 = [99] }
    #expect(throws: StoredFormError.self) { try ZulipState.migrate(RowReader(rows), from: 1) }
  }
}
