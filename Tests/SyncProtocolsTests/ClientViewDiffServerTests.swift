import SyncProtocols
import Testing
import UpdateMachine

struct ClientViewDiffServerTests {
  private func state(_ number: UInt64, epoch: UInt64 = 1) -> ServerStateID {
    ServerStateID(epoch: epoch, number: number)
  }

  @Test func `a client without a state gets the full view, others get a delta`() throws {
    var desk = ViewDesk()
    desk.put(["a": 1, "b": 2, "c": 3])
    #expect(try desk.pull().text == "1.1:0 full: a=1 b=2 c=3")
    desk.put(["c": 4, "d": 5])
    desk.dataLayer.change { $0.del("a") }
    #expect(try desk.pull(from: state(1)).text == "1.2:0 from 1.1: a- c=4 d=5")
    #expect(try desk.pull(from: state(1)).text == "1.2:0 from 1.1: a- c=4 d=5")
    #expect(try desk.pull(from: state(0)).text == "1.2:0 from 1.0: b=2 c=4 d=5")
    #expect(try desk.pull(from: state(2)).text == "1.2:0 from 1.2: ")
    #expect(try desk.pull(from: state(7)).text == "1.2:0 full: b=2 c=4 d=5")
  }

  @Test func `the checksum is that of the whole view, in every answer`() throws {
    var desk = ViewDesk()
    desk.put(["a": 1])
    let full = try desk.pull()
    desk.put(["b": 2])
    let delta = try desk.pull(from: full.finger.state)
    let none = try desk.pull(from: delta.finger.state)
    #expect(full.finger.checksum != delta.finger.checksum)
    for pulled in [delta, none] {
      #expect(pulled.finger.checksum == desk.dataLayer.last.view.checksum)
    }
  }

  @Test func `a changed view gets a new ID, and every answer has the last mutation ID`() throws {
    var desk = ViewDesk()
    try desk.push(from: 1, ("add", 1))
    #expect(try desk.pull().text == "1.1:1 full: sum=1")
    try desk.push(from: 2, ("nothing", .null))
    #expect(try desk.pull(from: state(1)).text == "1.1:2 from 1.1: ")
    try desk.push(from: 3, ("fly", .null))
    #expect(try desk.pull(from: state(1)).text == "1.1:3 refused 3 from 1.1: ")
    #expect(try desk.pull(ViewDesk.two, from: state(1)).text == "1.1:0 from 1.1: ")
    #expect(desk.server.diffServer.states == [state(0), state(1)])
  }

  @Test func `a view that flaps gets its earlier IDs again`() throws {
    var desk = ViewDesk()
    desk.put(["a": 1])
    desk.put(["a": 2])
    _ = try desk.pull(asOf: 1)
    _ = try desk.pull(asOf: 2)
    #expect(try desk.pull(from: state(2), asOf: 1).text == "1.1:0 from 1.2: a=1")
    #expect(try desk.pull(from: state(1), asOf: 2).text == "1.2:0 from 1.1: a=2")
    #expect(desk.server.diffServer.states == [state(0), state(1), state(2)])
  }

  @Test func `the history is bounded, and a missing state costs a full view`() throws {
    var desk = ViewDesk()
    desk.server.diffServer.historyMaximum = 2
    for number in 1...3 as ClosedRange<Int64> {
      desk.put(["a": JSONValue(integerLiteral: number)])
      _ = try desk.pull()
    }
    #expect(desk.server.diffServer.states == [state(2), state(3)])
    #expect(try desk.pull(from: state(1)).text == "1.3:0 full: a=3")
    #expect(try desk.pull(from: state(2)).text == "1.3:0 from 1.2: a=3")
    desk.server.diffServer.historyMaximum = 0  // Even then the last state is kept.
    desk.put(["a": 4])
    #expect(try desk.pull(from: state(3)).text == "1.4:0 full: a=4")
    #expect(try desk.pull(from: state(4)).text == "1.4:0 from 1.4: ")
  }

  @Test func `no state ID is reused after a lost history`() throws {
    var desk = ViewDesk()
    desk.put(["a": 1])
    _ = try desk.pull()
    desk.server.diffServer.forget()
    #expect(try desk.pull(from: state(1)).text == "1.3:0 full: a=1")
    desk.server.diffServer.restart(epoch: 2)
    #expect(try desk.pull(from: state(1)).text == "2.1:0 full: a=1")
    #expect(try desk.pull(from: state(1, epoch: 2)).text == "2.1:0 from 2.1: ")
  }

  @Test func `a view that is too large is a typed error, and changes nothing`() throws {
    var desk = ViewDesk()
    desk.server.diffServer.byteCountMaximum = 20
    desk.put(["a": "12345", "b": 1])  // {"a":"12345","b":1}
    var model = try desk.model()
    desk.put(["c": 1])
    let tooLarge = ClientViewFailure.viewTooLarge(byteCount: 25, maximum: 20)
    #expect(throws: tooLarge) { try desk.pull(from: state(1)) }
    #expect(tooLarge.failure == .rejected(RejectionCode("VIEW_TOO_LARGE")))
    #expect(try desk.push(from: 1, ("add", 1)) == "accepted")
    #expect(throws: ClientViewFailure.viewTooLarge(byteCount: 33, maximum: 20)) { try desk.pull() }
    #expect(desk.server.diffServer.states == [state(0), state(1)])
    desk.dataLayer.change { $0.del("a") }
    #expect(throws: ClientViewFailure.viewTooLarge(byteCount: 21, maximum: 20)) { try desk.pull() }
    desk.dataLayer.change { $0.del("c") }
    try model.apply(try desk.pull(from: model.finger.state))
    #expect(model.view.text == "b=1 sum=1")
    #expect(model.lastMutation == MutationID(1))
  }

  @Test func `sizes are those of the JSON text`() throws {
    var size = ViewSize()
    #expect(size.byteCount == "{}".utf8.count)
    size.change("a\"", from: nil as JSONValue?, to: 12)
    #expect(size.byteCount == "{\"a\\\"\":12}".utf8.count)
    size.change("b", from: nil as JSONValue?, to: [true])
    #expect(size.byteCount == "{\"a\\\"\":12,\"b\":[true]}".utf8.count)
    size.change("b", from: [true] as JSONValue, to: .null)
    #expect(size.byteCount == "{\"a\\\"\":12,\"b\":null}".utf8.count)
    let delta = ViewContent<JSONValue>.delta(
      from: state(1), [ViewChange(key: "a", value: 1), ViewChange(key: "b", value: nil)])
    #expect(delta.byteCount == "[[\"a\",1],[\"b\"]]".utf8.count)
    #expect(
      ViewContent.full(["a": 1, "b": "" as JSONValue]).byteCount
        == "{\"a\":1,\"b\":\"\"}".utf8.count)
    #expect(ViewSize.byteCountMaximum == 20_000_000)
  }

  @Test func `a view that shares nothing is compared by its values`() throws {
    var server = DiffServer<JSONValue>(epoch: 1)
    func fetched(_ numbers: [Int64]) -> FetchedView<JSONValue> {
      let view = VersionedMap(
        sorted: numbers.map { (key: ViewKey("\($0)"), value: JSONValue(integerLiteral: $0)) })
      return FetchedView(client: ClientID(1), view: view, lastMutation: .none)
    }
    #expect(try server.pull(nil, fetched([1, 2, 3])).finger.state == state(1))
    #expect(try server.pull(nil, fetched([1, 2, 3])).finger.state == state(1))
    #expect(try server.pull(state(1), fetched([1, 3, 5])).text == "1.2:0 from 1.1: 2- 5=5")
    #expect(try server.pull(state(2), fetched([1, 2, 3])).text == "1.1:0 from 1.2: 2=2 5-")
  }

  @Test func `values may be encrypted with a key that the diff server does not have`() throws {
    var dataLayer = DataLayer(SealedNotes(key: 0x5A))
    var server = DiffServer<Sealed>(epoch: 1)
    let client = ClientID(1)
    func push(_ id: UInt64, _ text: String) -> MutationPush {
      MutationPush(
        client: client, knownRefusal: .none,
        mutations: [NamedMutation(id: MutationID(id), name: "note", arguments: .string(text))])
    }
    _ = dataLayer.run(push(1, "secret"))
    var model = try ClientViewModel(snapshot: try server.pull(nil, dataLayer.view(for: client)))
    _ = dataLayer.run(push(2, "more"))
    let delta = try server.pull(model.finger.state, dataLayer.view(for: client))
    #expect(delta.content.byteCount == "[[\"2\",\"36352837\"]]".utf8.count)
    try model.apply(delta)
    #expect(model.view.map.map { $0.value.opened(with: 0x5A) } == ["secret", "more"])
    #expect(model.view.map.map { $0.value.opened(with: 0) } != ["secret", "more"])
  }
}

/// Bytes that only the holder of the key can read.
struct Sealed: ViewValue, Equatable {
  var bytes: [UInt8]

  init(_ text: String, with key: UInt8) { bytes = text.utf8.map { $0 ^ key } }

  func opened(with key: UInt8) -> String { String(decoding: bytes.map { $0 ^ key }, as: UTF8.self) }
  func fold(into digest: inout StateDigest) { bytes.fold(into: &digest) }

  /// The size as text of hexadecimal digits in quotes.
  var byteCount: Int64 { Int64(2 + 2 * bytes.count) }
}

struct SealedNotes: ViewMutators {
  var key: UInt8

  func run(
    _ name: String, _ arguments: JSONValue, in transaction: inout ViewTransaction<Sealed>
  ) throws(ChangeRefusal) -> JSONValue {
    let number = transaction.view.count + 1
    transaction.put(ViewKey("\(number)"), Sealed(arguments.string ?? "", with: key))
    return .null
  }
}
