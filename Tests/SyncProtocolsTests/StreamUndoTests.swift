import SyncProtocols
import Testing
import UpdateMachine

/// What takes back a change of a stream, and what it must find in its place of the causal order.
struct StreamUndoTests {
  /// A stream, and what its readers make of it.
  private struct Stream {
    var law = StreamConflictLaw.firstWriterWins
    var events: [StreamEvent] = []
    private var tickets: UInt64 = 0

    init(_ law: StreamConflictLaw = .firstWriterWins) { self.law = law }

    /// What a client shows that holds so many events; by default all.
    func state(of client: ClientID, first count: Int? = nil) throws -> StreamState {
      let events = events.prefix(count ?? events.count)
      let batch = StreamBatch(
        stream: StreamID(1), latest: StreamSequence(Int64(events.count) - 1),
        steps: events.map { .event($0) })
      return try StreamModel(
        snapshot: StreamSnapshot(client: client, law: law, scope: nil, batch: batch)
      ).state
    }

    /// Makes a change that was made over the first `count` events. Returns what takes it back.
    mutating func write(
      _ change: StreamChange, by client: ClientID, over count: Int? = nil
    ) throws -> StreamChange? {
      tickets += 1
      var change = change
      let before = try state(of: client)
      let seen = try state(of: client, first: count)
      change.stamp(from: seen, ticket: MutationTicket(tickets), inPlaceOf: nil)
      events.append(
        StreamEvent(
          sequence: StreamSequence(Int64(events.count)), client: client, change: change))
      return change.inverse(from: before, to: try state(of: client))
    }

    mutating func write(
      _ kind: StreamChange.Kind, by client: ClientID, over count: Int? = nil
    ) throws -> StreamChange? {
      let id = StreamEventID(high: 7, low: tickets + 1)
      return try write(StreamChange(id, "milk", kind), by: client, over: count)
    }

    /// How a change ends that is made here, before it is sent.
    func refusal(of change: StreamChange?, by client: ClientID) throws -> StreamChangeRefusal? {
      var (change, state) = (try #require(change), try state(of: client))
      change.stamp(from: state, ticket: MutationTicket(99), inPlaceOf: nil)
      do throws(StreamChangeRefusal) {
        try change.apply(to: &state)
        return nil
      } catch {
        return error
      }
    }

    var shown: [StreamFields] {
      get throws { try state(of: ClientID(1)).objects.map { $0.value.fields } }
    }
  }

  private let me = ClientID(1)
  private let her = ClientID(2)

  @Test(arguments: StreamConflictLaw.allCases)
  func `undo, then redo, shows what was shown, for everybody`(law: StreamConflictLaw) throws {
    let kinds: [StreamChange.Kind] = [
      .update(["a": 2]), .update(["b": 2]), .update(["a": .null]), .delete, .insert(["a": 3]),
    ]
    for kind in kinds {
      var stream = Stream(law)
      _ = try stream.write(
        StreamChange(StreamEventID(high: 1, low: 1), "egg", .insert([:])), by: her)
      if case .insert = kind {
      } else {
        _ = try stream.write(.insert(["a": 1]), by: her)
      }
      _ = try stream.write(
        StreamChange(StreamEventID(high: 1, low: 2), "tea", .insert([:])), by: her)
      let before = try stream.shown
      var next = try stream.write(kind, by: me)
      let (after, list) = (try stream.shown, try stream.state(of: her).list)
      #expect(before != after)
      for _ in 0..<3 {
        next = try stream.write(try #require(next), by: me)
        #expect(try stream.shown == before)
        next = try stream.write(try #require(next), by: me)
        #expect(try stream.shown == after && stream.state(of: her).list == list)
      }
      #expect(Set(stream.events.map { $0.change.id }).count == stream.events.count)
    }
  }

  @Test func `what did nothing has no inverse`() throws {
    var stream = Stream()
    #expect(try stream.write(.delete, by: me) == nil)
    #expect(try stream.write(.insert([:]), by: me) != nil)
    #expect(try stream.write(.update([:]), by: me) == nil)
    #expect(try stream.write(.update(["a": 1]), by: me) != nil)
    #expect(try stream.write(.update(["a": 1]), by: me) == nil)
  }

  @Test func `an update is undone unless others have changed the same field`() throws {
    var stream = Stream()
    _ = try stream.write(.insert(["a": 1, "b": 1]), by: her)
    let undo = try stream.write(.update(["a": 2]), by: me)
    _ = try stream.write(.update(["b": 3]), by: her)
    #expect(try stream.refusal(of: undo, by: me) == nil)
    var other = stream
    _ = try other.write(.update(["a": 3]), by: her)
    #expect(try other.refusal(of: undo, by: me) == .changed)
    _ = try other.write(.delete, by: her)
    #expect(try other.refusal(of: undo, by: me) == .changed)
    #expect(!StreamChange(StreamEventID(high: 0, low: 0), "p", .delete).isOverruled(by: .changed))
    _ = try stream.write(try #require(undo), by: me)
    #expect(try stream.shown == [["a": 1, "b": 3]])
  }

  @Test func `what others wrote before an undo has no less effect if it comes late`() throws {
    var stream = Stream()
    _ = try stream.write(.insert(["a": 1]), by: her)
    let undo = try stream.write(.update(["a": 2]), by: me)
    let count = stream.events.count
    _ = try stream.write(try #require(undo), by: me)
    #expect(try stream.shown == [["a": 1]])
    // She had seen the update, and not the undo. Her event is before it in the causal order.
    _ = try stream.write(.update(["a": 3]), by: ClientID(0), over: count)
    #expect(try stream.shown == [["a": 3]])
    #expect(try stream.state(of: me).hasDropped(stream.events[count].change.id))
  }

  @Test func `an insert is undone only as it was made`() throws {
    var stream = Stream()
    let undo = try stream.write(.insert(["a": 1]), by: me)
    var other = stream
    _ = try other.write(.update(["b": 1]), by: her)
    #expect(try other.refusal(of: undo, by: me) == .changed)
    _ = try stream.write(try #require(undo), by: me)
    #expect(try stream.shown.isEmpty)
  }

  @Test(arguments: StreamConflictLaw.allCases)
  func `a deletion is undone only if it was ours alone`(law: StreamConflictLaw) throws {
    var stream = Stream(law)
    _ = try stream.write(.insert(["a": 1]), by: her)
    let count = stream.events.count
    let undo = try stream.write(.delete, by: me)
    for kind in [StreamChange.Kind.delete, .insert(["c": 1])] {
      var other = stream
      _ = try other.write(kind, by: her)
      #expect(try other.refusal(of: undo, by: me) == .changed)
    }
    // She has deleted it, too, and did not know of ours.
    var other = stream
    _ = try other.write(.delete, by: her, over: count)
    #expect(try other.refusal(of: undo, by: me) == .changed)
    // She has updated it, and did not know of ours: where users are asked, there is a question.
    other = stream
    _ = try other.write(.update(["a": 2]), by: her, over: count)
    #expect(
      try other.refusal(of: undo, by: me) == (law == .firstWriterWins ? nil : .changed))
    _ = try stream.write(try #require(undo), by: me)
    #expect(try stream.shown == [["a": 1]])
  }

  @Test(arguments: StreamConflictLaw.allCases)
  func `what others wrote before a deletion comes back with its undo, however late it came`(
    law: StreamConflictLaw
  ) throws {
    var stream = Stream(law)
    _ = try stream.write(.insert(["a": 1]), by: her)
    let count = stream.events.count
    let undo = try stream.write(.delete, by: me)
    var late = stream
    _ = try stream.write(.update(["a": 2]), by: ClientID(0), over: count)
    _ = try stream.write(try #require(undo), by: me)
    #expect(try stream.shown == [["a": 2]])
    _ = try late.write(try #require(undo), by: me)
    _ = try late.write(.update(["a": 2]), by: ClientID(0), over: count)
    #expect(try late.shown == [["a": 2]])
  }

  @Test func `an object that was deleted before it was sent can come back`() throws {
    var stream = Stream()
    let state = try stream.state(of: me)
    var both = StreamChange(StreamEventID(high: 1, low: 1), "milk", .insert(["a": 1]))
    var deletion = StreamChange(StreamEventID(high: 1, low: 2), "milk", .delete)
    both.stamp(from: state, ticket: MutationTicket(1), inPlaceOf: nil)
    var (inserted, gone) = (state, state)
    try both.apply(to: &inserted)
    gone = inserted
    deletion.stamp(from: inserted, ticket: MutationTicket(2), inPlaceOf: nil)
    try deletion.apply(to: &gone)
    let undo = deletion.inverse(from: inserted, to: gone)
    _ = try stream.write(try #require(both.coalesced(with: deletion)), by: me)
    _ = try stream.write(try #require(undo), by: me)
    #expect(try stream.shown == [["a": 1]])
  }

  @Test func `an undo keeps its condition in every form, under names of its own`() throws {
    var stream = Stream()
    var changes = [try stream.write(.insert(["a": 1]), by: me)]
    changes.append(try stream.write(.update(["a": 2]), by: me))
    changes.append(try stream.write(.delete, by: me))
    #expect(changes.map { $0?.name } == ["undo-delete", "undo-update", "undo-insert"])
    for change in changes {
      let change = try #require(change)
      var bytes = ByteWriter()
      change.put(into: &bytes)
      var reader = ByteReader(bytes.bytes)
      #expect(try StreamChange(from: &reader) == change)
      #expect(change.coalesced(with: change) == nil)
      // Another kind makes it a change like any other.
      var other = change
      other.kind = .delete
      #expect(other.name == "delete")
      // What is missing is not taken for a change without a condition.
      var json = try #require(change.arguments(ticket: nil).object)
      json["found"] = change.name == "undo-insert" ? [:] : nil
      #expect(StreamChange(arguments: .object(json)) == nil)
    }
  }
}
