import TestSupport
import Testing

@testable import MessageSync
@testable import UpdateMachine

/// Tests values as bytes and rows, and back.
@Suite struct StoredTests {
  private func roundTrip<Value: Storable & Equatable>(
    _ value: Value, bytes: Int? = nil, at place: SourceLocation = #_sourceLocation
  ) throws {
    #expect(try Value(storedBytes: value.storedBytes) == value, sourceLocation: place)
    if let bytes { #expect(value.storedBytes.count == bytes, sourceLocation: place) }
    // If bytes are cut off or something follows them, they are no value.
    for count in 0..<value.storedBytes.count {
      #expect(throws: StoredFormError.self, sourceLocation: place) {
        try Value(storedBytes: Array(value.storedBytes.prefix(count)))
      }
    }
    #expect(throws: StoredFormError.self, sourceLocation: place) {
      try Value(storedBytes: value.storedBytes + [0])
    }
  }

  @Test func `numbers, texts and lists are read back, and small ones are short`() throws {
    for number in [0, 1, 127, 128, 300, 1 << 62, .max] as [UInt64] { try roundTrip(number) }
    for number in [0, 1, -1, 63, -64, 64, .max, .min] as [Int64] { try roundTrip(number) }
    try roundTrip(UInt64(127), bytes: 1)
    try roundTrip(Int64(-64), bytes: 1)
    try roundTrip(UInt64.max, bytes: 10)
    for text in ["", "a", "Grüße", "👩‍👩‍👧", "\0"] { try roundTrip(text) }
    try roundTrip([1, 2, -3] as [Int64])
    try roundTrip([["a"], [], ["b", ""]])
    try roundTrip(true, bytes: 1)
  }

  @Test(arguments: [
    [0x80] as [UInt8], [0x80, 0], Array(repeating: 0xFF, count: 10),
    Array(repeating: 0x80, count: 9) + [2], Array(repeating: 0x80, count: 10) + [1],
  ])
  func `a number has one encoding`(bytes: [UInt8]) {
    #expect(throws: StoredFormError.self) { try UInt64(storedBytes: bytes) }
  }

  @Test func `a length without its bytes allocates nothing`() {
    let bytes = UInt64(1 << 60).storedBytes + [1, 2]
    #expect(throws: StoredFormError(expected: "a length")) { try [Int64](storedBytes: bytes) }
    #expect(throws: StoredFormError(expected: "a length")) { try String(storedBytes: bytes) }
    #expect(throws: StoredFormError(expected: "text")) { try String(storedBytes: [1, 0xFF]) }
  }

  @Test func `keys sort in the order of their values`() throws {
    let numbers: [Int64] = [.min, -300, -1, 0, 1, 255, 256, .max]
    let keys = numbers.map { StoredKey(StoredTable(1), $0.keyBytes) }
    #expect(keys == keys.sorted())
    for number in numbers { #expect(try Int64(keyBytes: number.keyBytes) == number) }
    #expect(throws: StoredFormError.self) { try Int64(keyBytes: [1, 2]) }
    #expect(StoredKey(StoredTable(1), [9]) < StoredKey(StoredTable(2), []))
  }

  @Test func `saving a changed map writes only the rows that changed`() throws {
    var map = VersionedMap<Int64, String>(sorted: (0..<10_000).map { (Int64($0), "\($0)") })
    var disk = RowDisk()
    let table = StoredTable.firstOfModel
    var writer = RowWriter()
    writer.put(table, map, since: nil)
    disk.write(writer.rows)
    let old = map
    map[7] = "seven"
    map.removeValue(forKey: 8)
    map[20_000] = "new"
    writer = RowWriter()
    writer.put(table, map, since: old)
    #expect(writer.rows.count == 3)
    #expect(writer.rows.map { $0.value == nil } == [false, true, false])
    disk.write(writer.rows)
    #expect(try disk.rows.map(of: table) == map)
    let none: VersionedMap<Int64, String> = try disk.rows.map(of: StoredTable(99))
    #expect(none.isEmpty)
  }

  @Test func `rows out of order or repeated are damage`() {
    let key = StoredKey(StoredTable(1), [1])
    #expect(throws: StoredFormError.self) { try RowReader([(key, []), (key, [])]) }
    #expect(throws: StoredFormError.self) {
      try RowReader([(key, []), (StoredKey(StoredTable(0), []), [])])
    }
  }

  /// Whatever the rows of an outbox contain, reading them gives an outbox that keeps its rules, or
  /// an error.
  @Test func `a damaged outbox is an error or a valid outbox`() throws {
    var desk = Desk.started(Board(["a": 1]))
    _ = try desk.send(.set("a", 2), .add("a", 1))
    desk.answer(.refused(MutationRefusal(MutationID(1), RejectionCode("NO"))))
    _ = try desk.mutate(.set("b", 1))
    var disk = RowDisk()
    disk.write(desk.box.rows(since: nil))
    let rows = disk.rows.rows
    var steps = SplitMix(1)
    var (errors, wholes) = (0, 0)
    for _ in 0..<20_000 {
      var damaged = rows
      let index = steps.below(damaged.count)
      switch steps.below(4) {
      case 0: damaged.remove(at: index)
      case 1: damaged[index].value = Array(damaged[index].value.dropLast())
      default:
        guard !damaged[index].value.isEmpty else { continue }
        let byte = steps.below(damaged[index].value.count)
        damaged[index].value[byte] = UInt8(steps.below(256))
      }
      do throws(StoredFormError) {
        var box = try Outbox<BoardChange>(stored: try RowReader(damaged))
        box.restored()
        #expect(box.violation() == nil)
        wholes += 1
      } catch {
        errors += 1
      }
    }
    #expect(errors > 1000)
    #expect(wholes > 1000)
  }

  // MARK: Bugs of other projects

  @Test
  func `bug 79: live rows stay and removed ones are gone after any number of steps`() throws {
    var steps = SplitMix(79)
    var map = VersionedMap<Int64, String>()
    var old = map
    var disk = RowDisk()
    for round in 0..<400 {
      for _ in 0..<steps.below(12) {
        let key = Int64(steps.below(200))
        map[key] = steps.below(3) == 0 ? nil : "\(round)"
      }
      var writer = RowWriter()
      writer.put(.firstOfModel, map, since: old)
      disk.write(writer.rows)
      old = map
      #expect(try disk.rows.map(of: .firstOfModel) == map)
    }
  }

  @Test func `bug 81: lists, their knowledge and the finger are saved in one step`() throws {
    let narrow = ShelfNarrow([.channel(ChannelID(1))])
    var shelf = Shelf(snapshot: [ChannelID(1)])
    shelf.lists.open(narrow)
    var saved = SavedReplica(model: shelf, finger: QueuePlace(0), terms: testTerms)
    var disk = RowDisk()
    disk.write(saved.rows(since: nil))
    let id = RequestID(incarnation: Incarnation(1), part: .pages, number: 1)
    saved.model.lists.begin(id, PageRequest(narrow, .newest, before: 10, after: 0))
    let message = ChatMessage(
      id: MessageID(5), sender: UserID(1), place: .channel(ChannelID(1), topic: "a"), content: 1)
    let page = MessagePage(messages: [message], foundOldest: true, foundNewest: true)
    #expect(saved.model.lists.take(page, for: id) == .taken)
    saved.model.apply(
      .new(
        ChatMessage(
          id: MessageID(6), sender: UserID(1), place: .channel(ChannelID(1), topic: "a"), content: 2
        )))
    saved.finger = QueuePlace(1)
    let before = SavedReplica(model: shelf, finger: QueuePlace(0), terms: testTerms)
    let step = saved.rows(since: before)
    #expect(
      Set(step.map(\.key.table.number)).count == 6,
      "two heads, messages, what is ahead, lists, and what is in them")
    disk.write(step)
    let read = try SavedReplica<Shelf, QueuePlace>(stored: disk.rows)
    #expect(read.finger == QueuePlace(1))
    let list = try #require(read.model.lists.list(of: narrow))
    #expect(list.knowledge == saved.model.lists.list(of: narrow)?.knowledge)
    #expect(list.ids.map(\.key) == [MessageID(5), MessageID(6)])
  }

  @Test func `bug 83: an empty poll writes nothing`() {
    var shelf = Shelf(snapshot: [ChannelID(1)])
    for number in 1...1000 as ClosedRange<Int64> {
      shelf.apply(
        .new(
          ChatMessage(
            id: MessageID(number), sender: UserID(1), place: .channel(ChannelID(1), topic: "a"),
            content: 1)))
    }
    let saved = SavedReplica(model: shelf, finger: QueuePlace(0), terms: testTerms)
    var next = saved
    next.model.lists.answered()
    #expect(next.rows(since: saved) == [])
    next.finger = QueuePlace(1)
    #expect(next.rows(since: saved).count == 1, "a heartbeat changes only the finger")
  }

  /// A finger that can be saved.
  private struct QueuePlace: Finger, Storable {
    var number: Int64
    var log: Int64 { 0 }
    var description: String { "\(number)" }
    init(_ number: Int64) { self.number = number }
    func put(into bytes: inout ByteWriter) { bytes.put(number) }
    init(from bytes: inout ByteReader) throws(StoredFormError) { number = try bytes.takeInt64() }
  }
}

extension Shelf: StorableModel {
  func store(since old: Shelf?, into rows: inout RowWriter) {
    lists.store(since: old?.lists, into: &rows, from: .firstOfModel)
  }

  init(stored rows: RowReader) throws(StoredFormError) {
    lists = try MessageStore(stored: rows, from: .firstOfModel)
  }

  static var unloadedTables: [StoredTable] {
    MessageStore<ShelfNarrow>.unloadedTables(from: .firstOfModel)
  }
}
