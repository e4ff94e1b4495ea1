import Testing

@testable import UpdateMachine

/// Tests replicas in a store of rows: steps, versions, and what cannot be read.
@Suite struct RowStoreTests {
  /// A store that counts calls, and fails when it is told to.
  private actor CountingStore: SyncStore {
    var form: SavedRows?
    var log: [String] = []
    var failure: StoreError?
    var aside: [SavedRows] = []

    init(_ form: SavedRows? = nil) { self.form = form }

    func fail(with failure: StoreError?) { self.failure = failure }

    /// Another machine has written.
    func write(at time: WallTime) { form?.writtenAt = time }

    private func note(_ words: String) throws(StoreError) {
      log.append(words)
      if let failure { throw failure }
    }

    /// It leaves nothing unloaded.
    func load(leaving tables: [StoredTable]) async throws(StoreError) -> SavedRows? {
      try note("load")
      return form
    }

    func rows(
      for queries: [RowQuery]
    ) async throws(StoreError) -> [[(key: StoredKey, value: [UInt8])]] { queries.map { _ in [] } }

    func append(_ entry: JournalEntry) async throws(StoreError) {
      try note("append \(entry.rows.count)")
      if let follows = entry.follows, follows != form!.writtenAt { throw .taken("") }
      var disk = RowDisk()
      disk.write(form!.rows.map { StoredRow($0.key, $0.value) })
      disk.write(entry.rows)
      form = SavedRows(rows: disk.rows.rows, writtenAt: entry.writtenAt)
    }

    func checkpoint(_ form: SavedRows) async throws(StoreError) {
      try note("checkpoint \(form.rows.count)")
      self.form = form
    }

    func replace(with form: SavedRows) async throws(StoreError) {
      try note("replace \(form.rows.count)")
      if let old = self.form { aside.append(old) }
      self.form = form
    }

    func erase() async throws(StoreError) {
      try note("erase")
      form = nil
    }
  }

  /// Names by number, with one row each.
  private struct Names: StorableModel, Equatable {
    typealias Refusal = Never
    static var storedVersion: UInt64 { 3 }
    var names = VersionedMap<Int64, String>()

    init(_ names: VersionedMap<Int64, String>) { self.names = names }
    init(snapshot: [String]) {
      for (index, name) in snapshot.enumerated() { names[Int64(index)] = name }
    }
    mutating func apply(_ event: String) { names[Int64(names.count)] = event }

    func store(since old: Names?, into rows: inout RowWriter) {
      rows.put(.firstOfModel, names, since: old?.names)
    }

    init(stored rows: RowReader) throws(StoredFormError) {
      names = try rows.map(of: .firstOfModel)
    }

    /// Version 2 had the names in capitals.
    static func migrate(
      _ rows: RowReader, from version: UInt64
    ) throws(StoredFormError) -> RowReader {
      guard version == 2 else { throw StoredFormError(expected: "version 2 or 3") }
      var migrated = rows.rows
      for index in migrated.indices where migrated[index].key.table == .firstOfModel {
        let name = try String(storedBytes: migrated[index].value)
        migrated[index].value = name.lowercased().storedBytes
      }
      return try RowReader(migrated)
    }
  }

  private typealias Saved = SavedReplica<Names, Place>

  /// A finger that can be saved.
  private struct Place: Finger, Storable {
    var number: Int64
    var log: Int64 { 0 }
    var description: String { "\(number)" }
    init(_ number: Int64) { self.number = number }
    func put(into bytes: inout ByteWriter) { bytes.put(number) }
    init(from bytes: inout ByteReader) throws(StoredFormError) { number = try bytes.takeInt64() }
  }

  private func saved(
    _ names: [String], at place: Int64?, written: Int64 = 5
  ) -> DatedReplica<Names, Place> {
    DatedReplica(
      replica: Saved(
        model: Names(snapshot: names), finger: place.map(Place.init), terms: testTerms),
      writtenAt: WallTime(milliseconds: written))
  }

  /// A saved form with the head of another version.
  private func form(
    _ saved: DatedReplica<Names, Place>, library: UInt64 = 1, model: UInt64 = 3
  ) -> SavedRows {
    var rows = saved.replica.rows(since: nil).map { (key: $0.key, value: $0.value!) }
    var head = ByteWriter()
    head.put(library)
    head.put(model)
    head.put(saved.replica.finger)
    saved.replica.terms.put(into: &head)
    rows[0].value = head.bytes
    return SavedRows(rows: rows, writtenAt: saved.writtenAt)
  }

  @Test func `the first save writes all rows, later ones write steps`() async throws {
    let counting = CountingStore()
    let store = RowStore<Names, Place>(counting)
    let nothing = try await store.load()
    #expect(nothing == nil)
    var replica = saved((0..<1000).map { "\($0)" }, at: 0)
    try await store.save(replica)
    for step in 1...3 as ClosedRange<Int64> {
      replica.replica.model.apply("new \(step)")
      replica.replica.finger = Place(step)
      try await store.save(replica)
      let read = try #require(try await RowStore<Names, Place>(counting).load())
      #expect(read.replica == replica.replica)
    }
    #expect(
      await counting.log == [
        "load", "replace 1001", "append 2", "load", "append 2", "load", "append 2", "load",
      ])
    try await store.erase()
    try await store.save(replica)
    #expect(await counting.log.suffix(2) == ["erase", "replace 1004"])
  }

  /// Otherwise each would take the other's changes from the disk, and nobody would know.
  @Test func `two machines on one store are noticed, and neither overwrites the other`()
    async throws
  {
    let shared = MemoryStore()
    let (one, other) = (RowStore<Names, Place>(shared), RowStore<Names, Place>(shared))
    for store in [one, other] { #expect(try await store.load() == nil) }
    try await one.save(saved(["mine"], at: 0, written: 1))
    try await other.save(saved(["theirs"], at: 0, written: 2))
    #expect(await shared.aside.count == 1, "what came first is set aside")
    let late = saved(["mine", "again"], at: 1, written: 3)
    for _ in 1...2 {
      await #expect(throws: StoreError.taken("another step was written meanwhile")) {
        try await one.save(late)
      }
    }
    try await other.save(saved(["theirs", "too"], at: 1, written: 4))
    let read = try await RowStore<Names, Place>(shared).load()
    #expect(read?.replica.model.names[1] == "too")
  }

  @Test func `what another machine wrote while a save failed is not overwritten`() async throws {
    let counting = CountingStore()
    let store = RowStore<Names, Place>(counting)
    _ = try await store.load()
    try await store.save(saved(["a"], at: 0, written: 1))
    await counting.fail(with: .failed("full"))
    await #expect(throws: StoreError.failed("full")) {
      try await store.save(saved(["b"], at: 1, written: 2))
    }
    await counting.fail(with: nil)
    await counting.write(at: WallTime(milliseconds: 9))
    await #expect(throws: StoreError.taken("")) {
      try await store.save(saved(["c"], at: 2, written: 3))
    }
    // Whether the failed one was written or not, the next follows.
    for written: Int64 in [1, 2] {
      await counting.write(at: WallTime(milliseconds: written))
      try await store.save(saved(["d"], at: 3, written: 2))
    }
  }

  @Test func `two machines that migrate one form are noticed`() async throws {
    let counting = CountingStore(form(saved(["ADA"], at: 7), model: 2))
    let (one, other) = (RowStore<Names, Place>(counting), RowStore<Names, Place>(counting))
    for store in [one, other] { #expect(try await store.load() != nil) }
    try await one.save(saved(["mine"], at: 8, written: 6))
    await #expect(throws: StoreError.taken("what was to be migrated is not there any more")) {
      try await other.save(saved(["theirs"], at: 8, written: 7))
    }
    let read = try await RowStore<Names, Place>(counting).load()
    #expect(read?.replica.model.names[0] == "mine")
  }

  @Test func `a store that another machine has erased is written anew`() async throws {
    let shared = MemoryStore()
    let store = RowStore<Names, Place>(shared)
    _ = try await store.load()
    try await store.save(saved(["a"], at: 0, written: 1))
    try await shared.erase()
    let next = saved(["b"], at: 1, written: 2)
    await #expect(throws: StoreError.unreadable("what this is a step from was erased")) {
      try await store.save(next)
    }
    try await store.save(next)
    #expect(try await RowStore<Names, Place>(shared).load()?.replica == next.replica)
  }

  @Test func `changes during failed saves are in the next step`() async throws {
    let counting = CountingStore()
    let store = RowStore<Names, Place>(counting)
    _ = try await store.load()
    var replica = saved(["a"], at: 0)
    try await store.save(replica)
    await counting.fail(with: .failed("full"))
    replica.replica.model.names[0] = "b"
    await #expect(throws: StoreError.failed("full")) { try await store.save(replica) }
    await counting.fail(with: nil)
    replica.replica.model.names[1] = "c"
    try await store.save(replica)
    #expect(await counting.log.suffix(1) == ["append 2"])
    let read = try await RowStore<Names, Place>(counting).load()
    #expect(read?.replica == replica.replica)
  }

  @Test func `an older version is migrated if possible, and saved as the new one`() async throws {
    let counting = CountingStore(form(saved(["ADA"], at: 7), model: 2))
    let store = RowStore<Names, Place>(counting)
    var read = try #require(try await store.load())
    #expect(read.replica.model.names[0] == "ada")
    #expect(read.replica.finger == Place(7))
    read.replica.finger = Place(8)
    try await store.save(read)
    let again = try await RowStore<Names, Place>(counting).load()
    #expect(again?.replica == read.replica, "nothing of the old version is left")
  }

  /// Version 1 of the library's rows had no age of the state.
  @Test func `a form of the library's first version is read, and continued in the second`()
    async throws
  {
    let counting = CountingStore(form(saved(["a"], at: 7), library: 1))
    let store = RowStore<Names, Place>(counting)
    var read = try #require(try await store.load())
    #expect(read.replica == saved(["a"], at: 7).replica)
    read.replica.upToDateAge = .seconds(3)
    try await store.save(read)
    #expect(await counting.log.suffix(1) == ["append 1"])
    let again = try await RowStore<Names, Place>(counting).load()
    #expect(again?.replica.upToDateAge == .seconds(3))
    #expect(again?.replica == read.replica)
  }

  @Test(arguments: [(1, 4), (3, 3), (1, 1), (0, 3)] as [(UInt64, UInt64)])
  func `a form that this version cannot read is set aside, not overwritten`(
    library: UInt64, model: UInt64
  ) async throws {
    let old = form(saved(["a", "b"], at: 7), library: library, model: model)
    let counting = CountingStore(old)
    let store = RowStore<Names, Place>(counting)
    await #expect(throws: StoreError.self) { _ = try await store.load() }
    #expect(await counting.form?.rows.count == old.rows.count, "nothing is replaced yet")
    try await store.save(saved(["c"], at: 0))
    #expect(await counting.log == ["load", "replace 2"])
    #expect(await counting.aside.first?.rows.map { $0.value } == old.rows.map { $0.value })
  }

  @Test func `a form that could not be loaded is set aside before the first save`() async throws {
    let counting = CountingStore(form(saved(["a"], at: 7)))
    let store = RowStore<Names, Place>(counting)
    await counting.fail(with: .failed("gone"))
    await #expect(throws: StoreError.failed("gone")) { _ = try await store.load() }
    await #expect(throws: StoreError.failed("gone")) {
      try await store.save(saved(["c"], at: 0))
    }
    await counting.fail(with: nil)
    try await store.save(saved(["c"], at: 0))
    #expect(await counting.log == ["load", "replace 2", "replace 2"])
    #expect(await counting.aside.count == 1)
  }

  @Test func `a load that was cut short and repeated sets nothing aside`() async throws {
    let counting = CountingStore(form(saved(["a"], at: 7)))
    let store = RowStore<Names, Place>(counting)
    await counting.fail(with: .failed("cancelled"))
    await #expect(throws: StoreError.self) { _ = try await store.load() }
    await counting.fail(with: nil)
    var read = try #require(try await store.load())
    read.replica.finger = Place(8)
    try await store.save(read)
    #expect(await counting.log.suffix(1) == ["append 1"])
  }

  // MARK: Models that the compiler writes down

  private struct Settings: StorableModel, Codable, Equatable {
    typealias Refusal = Never
    var volume = 3
    var names = ["a": 1.5]

    init(snapshot: Int) { volume = snapshot }
    mutating func apply(_ event: Int) { volume += event }
  }

  private enum Knob: Storable, Codable, Equatable {
    case turn(Int)
    case name(String)
  }

  @Test func `a model that is codable needs no code of its own`() async throws {
    let counting = CountingStore()
    let store = RowStore<Settings, Place>(counting)
    _ = try await store.load()
    var saved = SavedReplica<Settings, Place>(
      model: Settings(snapshot: 4), finger: Place(1), terms: testTerms)
    let now = WallTime(milliseconds: 5)
    try await store.save(DatedReplica(replica: saved, writtenAt: now))
    saved.finger = Place(2)
    try await store.save(DatedReplica(replica: saved, writtenAt: now))
    saved.model.apply(2)
    saved.finger = Place(3)
    try await store.save(DatedReplica(replica: saved, writtenAt: now))
    #expect(await counting.log == ["load", "replace 2", "append 1", "append 2"])
    let read = try await RowStore<Settings, Place>(counting).load()
    #expect(read?.replica == saved)
    for knob in [Knob.turn(-1), .name("ü/")] {
      #expect(try Knob(storedBytes: knob.storedBytes) == knob)
    }
    #expect(throws: StoredFormError.self) { try Knob(storedBytes: [1, 2]) }
  }
}
