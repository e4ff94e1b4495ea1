// Disk: the room of the disk under one client of a world: how a saved form is written, cut off by a
// crash, and read again. It may use Choices and UpdateMachine.

public import UpdateMachine

/// The disk under one client. A write has happened, or it has not; what is read is what was written.
public protocol SimulatedDisk: Sendable {
  associatedtype Model: SyncModel
  associatedtype Place: Finger
  typealias Saved = SavedReplica<Model, Place>

  init()

  /// What was written last; `nil`: nothing, or it was erased.
  var saved: Saved? { get }

  mutating func write(_ saved: Saved)

  /// A write is under way when the process ends: it is cut off, at a byte that is drawn from the
  /// stream `disks`.
  mutating func tear(_ saved: Saved, _ choices: inout Choices)

  mutating func erase()

  /// What a new process reads, and what is wrong with it: it is not what was written. `nil`: nothing.
  mutating func read() -> (saved: Saved?, objection: DiskObjection?)
}

/// What was read is not what was written.
public struct DiskObjection: Hashable, Sendable {
  public var expected: String
  public var found: String
}

/// A disk that keeps values as they are: for models that have no saved form of their own.
public struct ValueDisk<Model: SyncModel, Place: Finger>: SimulatedDisk {
  public typealias Saved = SavedReplica<Model, Place>

  public private(set) var saved: Saved?

  public init() {}

  public mutating func write(_ saved: Saved) { self.saved = saved }

  public mutating func tear(_ saved: Saved, _ choices: inout Choices) {}

  public mutating func erase() { saved = nil }

  public mutating func read() -> (saved: Saved?, objection: DiskObjection?) { (saved, nil) }
}

/// A disk of bytes, as a driver with a store writes it: rows, and behind them a log of steps, each
/// with its length and its checksum. After so many steps the rows are written anew.
public struct RowDisk<Model: StorableModel, Place: Finger & Storable>: SimulatedDisk {
  public typealias Saved = SavedReplica<Model, Place>

  public private(set) var saved: Saved?
  private var rows = VersionedMap<StoredKey, [UInt8]>()
  private var log: [[UInt8]] = []

  /// So many steps at most are read after a crash.
  static var stepsMaximum: Int { 64 }

  public init() {}

  public mutating func write(_ saved: Saved) {
    log.append(RowDisk.bytes(of: saved.rows(since: self.saved)))
    self.saved = saved
    guard log.count > RowDisk.stepsMaximum else { return }
    rows = recovered
    log = []
  }

  public mutating func tear(_ saved: Saved, _ choices: inout Choices) {
    let whole = RowDisk.bytes(of: saved.rows(since: self.saved))
    let count = choices.draw(.disks, below: UInt64(whole.count))
    log.append(Array(whole.prefix(Int(count))))
  }

  public mutating func erase() { self = RowDisk() }

  /// The rows, with all steps that are whole; what a crash has cut off, and what could only come behind
  /// it, is nothing.
  private var recovered: VersionedMap<StoredKey, [UInt8]> {
    var rows = rows
    for bytes in log {
      guard let step = RowDisk.step(of: bytes) else { break }
      for row in step { rows[row.key] = row.value }
    }
    return rows
  }

  public mutating func read() -> (saved: Saved?, objection: DiskObjection?) {
    rows = recovered
    log = []
    guard let saved else {
      guard !rows.isEmpty else { return (nil, nil) }
      return (nil, DiskObjection(expected: "nothing was ever written", found: "\(rows.count) rows"))
    }
    var whole = VersionedMap<StoredKey, [UInt8]>()
    for row in saved.rows(since: nil) { whole[row.key] = row.value }
    guard whole == rows else {
      return (
        saved,
        DiskObjection(
          expected: "\(whole.count) rows of the last write",
          found: "\(rows.count), \(rows.difference(from: whole).changes.count) of them others")
      )
    }
    do throws(StoredFormError) {
      var entries: [(key: StoredKey, value: [UInt8])] = []
      for (key, value) in rows { entries.append((key, value)) }
      let read = try Saved(stored: try StoredRows(entries))
      // Steps to come are from what was read, as a driver's are.
      self.saved = read
      guard read.rows(since: nil) == saved.rows(since: nil) else {
        return (read, DiskObjection(expected: "what was written", found: "another state"))
      }
      return (read, nil)
    } catch {
      return (saved, DiskObjection(expected: "a saved form", found: error.description))
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
    var digest = Digest()
    for byte in bytes { digest.fold(UInt64(byte)) }
    return digest.value
  }

  /// `nil`: it was cut off.
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
