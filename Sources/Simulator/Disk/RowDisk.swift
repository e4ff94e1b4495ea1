public import UpdateMachine

/// A disk of bytes, as a driver with a store writes it: rows, followed by a log of steps, each with
/// its length and checksum. After `stepsMaximum` steps the rows are written anew.
public struct RowDisk<Model: StorableModel, Place: Finger & Storable>: SimulatedDisk {
  /// The saved form that a write takes and a read returns.
  public typealias Saved = SavedReplica<Model, Place>

  public private(set) var saved: Saved?
  public private(set) var isUnreadable = false
  /// Whether a newer version wrote the form.
  private var isNewer = false
  private var rows = VersionedMap<StoredKey, [UInt8]>()
  private var log: [[UInt8]] = []
  /// The rows with the log applied, cached until the next write.
  private var current: VersionedMap<StoredKey, [UInt8]>?
  /// Whether the last step was cut off. The next write replaces it.
  private var isTorn = false
  /// Whether the process left rows here, so that its last save does not contain everything.
  private var leftRows = false
  /// The forms that were set aside, newest last.
  private(set) var aside: [VersionedMap<StoredKey, [UInt8]>] = []

  /// The most steps to read after a crash.
  static var stepsMaximum: Int { 64 }

  public init() {}

  public mutating func write(_ saved: Saved) {
    if isUnreadable { setAside() }
    let step = saved.step(since: self.saved)
    perform(.append(step.rows, clearing: step.cleared), leadingTo: saved)
  }

  /// The step, with each cleared row as a row of its own.
  private func changes(_ rows: [StoredRow], clearing ranges: [RowRange]) -> [StoredRow] {
    guard !ranges.isEmpty else { return rows }
    var gone: [StoredRow] = []
    for (key, _) in recovered where ranges.contains(where: { $0.contains(key) }) {
      if !rows.contains(where: { $0.key == key }) { gone.append(StoredRow(key, nil)) }
    }
    return gone + rows
  }

  public mutating func perform(_ step: DiskStep, leadingTo saved: Saved) {
    if case .replace = step { setAside() }
    self.saved = saved
    current = nil
    if isTorn { log.removeLast() }
    isTorn = false
    switch step {
    case .append(let rows, let cleared):
      log.append(RowDisk.bytes(of: changes(rows, clearing: cleared)))
    case .checkpoint(let all), .replace(let all):
      leftRows = false
      rows = VersionedMap()
      log = [RowDisk.bytes(of: all)]
    }
    guard log.count > RowDisk.stepsMaximum else { return }
    rows = recovered
    log = []
  }

  public mutating func tear(_ saved: Saved, _ choices: inout Choices) {
    let step = saved.step(since: self.saved)
    let whole = RowDisk.bytes(of: changes(step.rows, clearing: step.cleared))
    let count = choices.draw(.disks, below: UInt64(whole.count))
    cutOff(whole, after: Int(count))
  }

  public mutating func tear(_ step: DiskStep, _ choices: inout Choices) {
    // A checkpoint is written beside the old form, so it cannot be cut off.
    guard case .append(let rows, let cleared) = step else { return }
    let whole = RowDisk.bytes(of: changes(rows, clearing: cleared))
    let count = choices.draw(.storage, below: UInt64(whole.count))
    cutOff(whole, after: Int(count))
  }

  private mutating func cutOff(_ whole: [UInt8], after count: Int) {
    guard !isTorn else { return }  // Nothing can follow a step that was cut off.
    log.append(Array(whole.prefix(count)))
    isTorn = true
  }

  public mutating func setAside() {
    var kept = aside
    if !recovered.isEmpty { kept.append(recovered) }
    self = RowDisk()
    aside = kept
  }

  public mutating func erase() { self = RowDisk() }

  /// The rows with all complete steps applied. A step that a crash cut off is ignored, and so is
  /// everything after it.
  private var recovered: VersionedMap<StoredKey, [UInt8]> {
    var rows = rows
    for bytes in log {
      guard let step = RowDisk.step(of: bytes) else { break }
      for row in step { rows[row.key] = row.value }
    }
    return rows
  }

  #if !hasFeature(Embedded)
    public static func rowsStore(on disk: any SyncStore) -> ReplicaRows<Model, Place>? {
      ReplicaRows(on: disk)
    }
  #endif

  public var entries: [(key: StoredKey, value: [UInt8])] {
    var entries: [(key: StoredKey, value: [UInt8])] = []
    for (key, value) in recovered { entries.append((key, value)) }
    return entries
  }

  // MARK: Damage

  /// Changes a byte, or makes the form look written by a newer version of the library or app.
  public mutating func damage(_ choices: inout Choices) {
    rows = recovered
    current = nil
    log = []
    isTorn = false
    saved = nil
    isUnreadable = true
    let kind = choices.draw(.storage, below: 3)
    guard kind == 0 else { return makeNewer(kind) }
    let number = choices.draw(.storage, below: UInt64(max(1, rows.count)))
    for (index, row) in entries.enumerated() where UInt64(index) == number {
      guard !row.value.isEmpty else { continue }
      var value = row.value
      let place = Int(choices.draw(.storage, below: UInt64(value.count)))
      value[place] ^= UInt8(truncatingIfNeeded: choices.draw(.storage, below: 255) + 1)
      rows[row.key] = value
    }
  }

  /// The head begins with the versions of the library and of the model, one byte each while they
  /// are small.
  private mutating func makeNewer(_ kind: UInt64) {
    let key = StoredKey(StoredTable(0), [])
    guard var head = rows[key], head.count > 1 else { return }
    head[kind == 1 ? 0 : 1] += 1
    rows[key] = head
    isNewer = true
  }

  // MARK: Reading

  public mutating func read(leavesRows: Bool) -> (saved: Saved?, objection: DiskObjection?) {
    guard !isUnreadable else { return (nil, objectionToDamage) }
    rows = recovered
    current = nil
    log = []
    isTorn = false
    guard let saved else {
      guard !rows.isEmpty else { return (nil, nil) }
      return (nil, DiskObjection(expected: "nothing was ever written", found: "\(rows.count) rows"))
    }
    if let objection = objection(to: saved) { return (saved, objection) }
    let tables = leavesRows ? Model.unloadedTables : []
    let isWhole = tables.isEmpty && !leftRows
    do throws(StoredFormError) {
      let loaded = entries.filter { !tables.contains($0.key.table) }
      let read = try Saved(stored: try RowReader(loaded, unloaded: tables))
      // Later steps start from what was read, as a driver's do.
      self.saved = read
      leftRows = !tables.isEmpty
      var whole = VersionedMap<StoredKey, [UInt8]>()
      for row in read.rows(since: nil) { whole[row.key] = row.value }
      guard loaded.count == whole.count, loaded.allSatisfy({ whole[$0.key] == $0.value }) else {
        return (read, DiskObjection(expected: "what was written", found: "another state"))
      }
      return (read, isWhole ? RowDisk.objection(to: read, savedAs: saved) : nil)
    } catch {
      return (saved, DiskObjection(expected: "a saved form", found: error.description))
    }
  }

  /// Checks that the rows are those of the last write, and of what its process left there.
  private func objection(to saved: Saved) -> DiskObjection? {
    var others = rows
    var whole = VersionedMap<StoredKey, [UInt8]>()
    for row in saved.rows(since: nil) {
      whole[row.key] = row.value
      if rows[row.key] == row.value { others[row.key] = nil }
    }
    let missing = whole.count - (rows.count - others.count)
    var isOther = missing > 0
    for (key, _) in others where !leftRows || !Self.isLeft(key) { isOther = true }
    guard isOther else { return nil }
    return DiskObjection(
      expected: "\(whole.count) rows of the last write",
      found: "\(rows.count), \(rows.difference(from: whole).changes.count) of them others")
  }

  /// Checks that what was read is what was written, as a value. Equal rows do not show that: what
  /// is left out of a row is missing when it is read, and when it is written again.
  static func objection(to read: Saved, savedAs saved: Saved) -> DiskObjection? {
    var (before, after) = (saved, read)
    // A process makes the same of both, and forgets what is never saved.
    before.outbox?.restored()
    after.outbox?.restored()
    let step = after.step(since: before)
    guard let table = step.rows.first?.key.table ?? step.cleared.first?.table else { return nil }
    return DiskObjection(
      expected: "what is read is what was saved", found: "another value in table \(table.number)")
  }

  private static func isLeft(_ key: StoredKey) -> Bool { Model.unloadedTables.contains(key.table) }

  public mutating func rows(for query: RowQuery) -> [(key: StoredKey, value: [UInt8])] {
    let rows = current ?? recovered
    current = rows
    return rows.answer(to: query)
  }

  public mutating func load(_ queries: [RowQuery]) -> [RowAnswer]? {
    let answers = queries.map { RowAnswer($0, rows(for: $0)) }
    guard var replica = saved else { return nil }
    do throws(StoredFormError) {
      for answer in answers { try replica.model.load(answer, isSaved: true) }
    } catch {
      return nil
    }
    saved = replica
    return answers
  }

  /// A newer version's form must be recognised as such. A changed byte is found by the rows'
  /// checksums, which stores have. Without them, reading must still end in a value or an error.
  private var objectionToDamage: DiskObjection? {
    let expected = "an error: a newer version wrote it"
    do throws(StoredFormError) {
      _ = try Saved(stored: try RowReader(entries))
      return isNewer ? DiskObjection(expected: expected, found: "a state") : nil
    } catch {
      if case .newer = error { return nil }
      return isNewer ? DiskObjection(expected: expected, found: error.description) : nil
    }
  }

  // MARK: Bytes of a step

  private static func bytes(of rows: [StoredRow]) -> [UInt8] {
    var writer = ByteWriter()
    writer.put(UInt64(rows.count))
    for row in rows {
      writer.put(row.key.table.number)
      writer.put(row.key.bytes)
      writer.put(row.value != nil)
      if let value = row.value { writer.put(value) }
    }
    var framed = ByteWriter()
    framed.put(writer.bytes)
    framed.put(sum(of: writer.bytes))
    return framed.bytes
  }

  private static func sum(of bytes: [UInt8]) -> UInt64 {
    var digest = StateDigest()
    for byte in bytes { digest.fold(UInt64(byte)) }
    return digest.value
  }

  /// `nil`: the step was cut off.
  private static func step(of bytes: [UInt8]) -> [StoredRow]? {
    do throws(StoredFormError) {
      var frame = ByteReader(bytes)
      let body = try frame.takeBytes()
      guard try frame.takeUInt64() == sum(of: body) else { return nil }
      try frame.end()
      var reader = ByteReader(body)
      var rows: [StoredRow] = []
      for _ in 0..<(try reader.takeUInt64()) {
        let key = StoredKey(StoredTable(try reader.takeByte()), try reader.takeBytes())
        rows.append(StoredRow(key, try reader.takeBool() ? try reader.takeBytes() : nil))
      }
      return rows
    } catch {
      return nil
    }
  }
}
