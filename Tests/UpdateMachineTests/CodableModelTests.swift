import Testing

@testable import UpdateMachine

/// Tests what an app's own code can spoil: encoding, decoding, comparing, and the protocol's rules.
@Suite struct CodableModelTests {
  private struct Place: Finger, Storable {
    var number: Int64
    var log: Int64 { 0 }
    var description: String { "\(number)" }
    init(_ number: Int64) { self.number = number }
    func put(into bytes: inout ByteWriter) { bytes.put(number) }
    init(from bytes: inout ByteReader) throws(StoredFormError) { number = try bytes.take() }
  }

  /// A model whose comparison says that all are equal.
  private struct Careless: StorableModel, Codable, Equatable {
    typealias Refusal = Never
    var volume: Int

    init(snapshot: Int) { volume = snapshot }
    mutating func apply(_ event: Int) { volume += event }
    static func == (one: Careless, other: Careless) -> Bool { true }
  }

  @Test func `a model whose comparison is broken is saved with its finger`() async throws {
    let memory = MemoryStore()
    let store = RowStore<Careless, Place>(memory)
    _ = try await store.load()
    var saved = SavedReplica<Careless, Place>(
      model: Careless(snapshot: 4), finger: Place(1), terms: testTerms)
    let now = WallTime(milliseconds: 5)
    try await store.save(DatedReplica(replica: saved, writtenAt: now))
    saved.model.apply(2)
    saved.finger = Place(2)
    try await store.save(DatedReplica(replica: saved, writtenAt: now))
    let read = try #require(try await RowStore<Careless, Place>(memory).load())
    #expect(read.replica.finger == Place(2))
    #expect(read.replica.model.volume == 6)
  }

  /// A value whose comparison says that all are equal.
  private struct Blind: Storable, Codable, Equatable {
    var text: String
    static func == (one: Blind, other: Blind) -> Bool { true }
  }

  @Test func `rows are compared by their bytes, not by the app's comparison`() {
    var (old, new) = (VersionedMap<Int64, Blind>(), VersionedMap<Int64, Blind>())
    old[1] = Blind(text: "a")
    new = old
    new[1] = Blind(text: "b")
    var rows = RowWriter()
    rows.put(.firstOfModel, new, since: old)
    rows.put(StoredTable(17), Blind(text: "b"), since: Blind(text: "a"))
    rows.put(StoredTable(18), Blind(text: "a"), since: Blind(text: "a"))
    #expect(rows.rows.map(\.key.table.number) == [16, 17])
  }

  // MARK: Code that throws

  private struct Secret: Error {}

  /// A model that cannot be encoded while it is negative.
  private struct Moody: StorableModel, Codable, Equatable {
    typealias Refusal = Never
    var volume: Int

    init(snapshot: Int) { volume = snapshot }
    mutating func apply(_ event: Int) { volume += event }

    func encode(to encoder: any Encoder) throws {
      guard volume >= 0 else { throw Secret() }
      var container = encoder.singleValueContainer()
      try container.encode(volume)
    }

    init(from decoder: any Decoder) throws {
      volume = try decoder.singleValueContainer().decode(Int.self)
    }
  }

  @Test func `a model whose encoding throws fails its save and leaves the store as it was`()
    async throws
  {
    let memory = MemoryStore()
    let store = RowStore<Moody, Place>(memory)
    _ = try await store.load()
    var saved = SavedReplica<Moody, Place>(
      model: Moody(snapshot: 4), finger: Place(1), terms: testTerms)
    let now = WallTime(milliseconds: 5)
    try await store.save(DatedReplica(replica: saved, writtenAt: now))
    saved.model.apply(-5)
    saved.finger = Place(2)
    let error = StoreError.unwritable(
      "this state cannot be saved: expected a Moody that can be encoded")
    await #expect(throws: error) {
      try await store.save(DatedReplica(replica: saved, writtenAt: now))
    }
    #expect(try await RowStore<Moody, Place>(memory).load()?.replica.finger == Place(1))
    // As soon as it can be encoded, it is saved.
    saved.model.apply(7)
    saved.finger = Place(3)
    try await store.save(DatedReplica(replica: saved, writtenAt: now))
    let read = try #require(try await RowStore<Moody, Place>(memory).load())
    #expect(read.replica.model.volume == 6 && read.replica.finger == Place(3))
  }

  /// A change that cannot be encoded.
  private enum Step: Mutation, Storable, Codable, Equatable {
    case good
    case bad
    var name: String { "step" }
    func apply(to count: inout Int) throws(Never) { count += 1 }
    func encode(to encoder: any Encoder) throws {
      guard self == .good else { throw Secret() }
      var container = encoder.singleValueContainer()
      try container.encode("good")
    }
    init(from decoder: any Decoder) throws { self = .good }
  }

  private struct Stairs: StorableModel, Codable, Equatable {
    typealias Change = Step
    typealias Refusal = Never
    var state: Int
    init(snapshot: Int) { state = snapshot }
    mutating func apply(_ event: Int) { state += event }
    var client: ClientID? { ClientID(1) }
    var confirmation: MutationConfirmation { MutationConfirmation(last: .none) }
  }

  private struct Batch: EventBatch {
    var events: [Int]
    var first = 0
    var count: Int { events.count }
    func event(at index: Int) -> Int? { events[index] }
  }

  /// Rules that may point anywhere.
  private enum Sync: SyncProtocol {
    static func advance(
      _ finger: CodableModelTests.Place, over batch: Batch
    ) -> SyncAdvance<CodableModelTests.Place> {
      .next(CodableModelTests.Place(finger.number + 1), first: batch.first)
    }
  }

  /// A client that follows.
  private func following() -> ClientHand<Stairs, Sync> {
    var hand = ClientHand<Stairs, Sync>()
    hand.put(.app(.started(foreground: true)))
    hand.put(.snapshotArrived(hand.request!, 0, finger: Place(1), terms: testTerms))
    return hand
  }

  @Test func `a change whose encoding throws is refused when it is made`() throws {
    var hand = following()
    let failure = StoredFormError(expected: "a Step that can be encoded")
    #expect(throws: MutationError<Never>.unstorable(failure)) { try hand.mutate(.bad) }
    #expect(hand.client.view == 0 && hand.client.pending.isEmpty)
    try hand.mutate(.good)
    #expect(hand.client.view == 1)
  }

  @Test func `an edit whose encoding throws leaves the change as it was`() throws {
    var hand = following()
    try hand.mutate(.good)
    let push = try #require(hand.pushes.last)
    hand.put(.pushAnswered(push.id, .refused(MutationRefusal(MutationID(1)))))
    let refused = try #require(hand.client.setAside.first)
    hand.put(.mutation(.edited(refused.ticket, .bad)))
    #expect(hand.client.setAside.map(\.change) == [.good] && hand.client.pending.isEmpty)
    hand.put(.mutation(.edited(refused.ticket, .good)))
    #expect(hand.client.setAside.isEmpty && hand.client.pending.count == 1)
  }

  @Test(arguments: [-1, 3, Int.max, Int.min])
  func `rules that point outside the batch end in a register, and in no trap`(first: Int) {
    var hand = following()
    let texts = hand.put(.batchArrived(hand.request!, Batch(events: [1, 2], first: first)))
    #expect(texts.contains("report malformed"), "\(texts)")
    #expect(hand.client.model?.state == 0 && hand.client.finger == nil)
    hand.fire(.machine)
    #expect("\(hand.client.status)".hasPrefix("registering"))
  }

  @Test func `rules that point at a batch's end take nothing of it`() {
    var hand = following()
    hand.put(.batchArrived(hand.request!, Batch(events: [1, 2], first: 2)))
    #expect(hand.client.model?.state == 0 && hand.client.finger == Place(2))
  }

  // MARK: Where a decoder stopped

  private struct Shelf: Storable, Codable {
    struct Item: Codable {
      var title: String
      var count: Int
    }
    var items: [Item]
    var names: [String: Item]
    var numbers: [Int: Item]?
  }

  @Test(arguments: [
    (#"{"items":[{"title":"a","count":1},{"count":2}],"names":{}}"#, "; items[1].title: missing"),
    (#"{"items":[{"title":7,"count":1}],"names":{}}"#, "; items[0].title: not a String"),
    (#"{"items":[],"names":{"Ada's diary":{"title":"x"}}}"#, "; names[…].count: missing"),
    (#"{"items":[],"names":{"Ada's":{"title":null,"count":1}}}"#, "; names[…].title: missing"),
    (
      #"{"items":[],"names":{},"numbers":{"4711":{"title":"x"}}}"#,
      "; numbers[…].count: missing"
    ),
    (#"{"items":[]}"#, "; names: missing"),
    (#"{"items":[}"#, ": not readable"),
  ])
  func `an error of a decoder says where it stopped, and quotes nothing`(
    json: String, place: String
  ) {
    var bytes = ByteWriter()
    bytes.put(Array(json.utf8))
    #expect(throws: StoredFormError(expected: "a Shelf\(place)")) {
      try Shelf(storedBytes: bytes.bytes)
    }
  }
}
