// Disk: the room of the disk under one client of a world: how a saved form is written, cut off
// by a crash, damaged, and read again.
//
// Disk may use: Choices.

public import UpdateMachine

/// The disk under one client. A write has happened, or it has not; what is read is what was written.
public protocol SimulatedDisk: Sendable {
  associatedtype Model: SyncModel
  associatedtype Place: Finger
  typealias Saved = SavedReplica<Model, Place>

  init()

  /// What was written last; `nil`: nothing, it was erased, or nobody can read it any more.
  var saved: Saved? { get }

  /// Something is there that nobody can read: it must be set aside before anything takes its place.
  var isUnreadable: Bool { get }

  /// What stands there row by row, in the order of the keys, as a store of rows reads it. A disk of
  /// values has none.
  var entries: [(key: StoredKey, value: [UInt8])] { get }

  #if !hasFeature(Embedded)
    /// By what a driver saves here, if in rows; `nil`: it saves values.
    ///
    /// - Parameter disk: this disk, as the driver's store.
    static func rowsStore(on disk: any Store) -> ReplicaRows<Model, Place>?
  #endif

  /// What cannot be read is set aside first.
  mutating func write(_ saved: Saved)

  /// The same, where a store of rows has said what is to be written.
  mutating func perform(_ step: DiskStep, leadingTo saved: Saved)

  /// A write is under way when the process ends: it is cut off, at a byte that is drawn from the
  /// stream `disks`.
  mutating func tear(_ saved: Saved, _ choices: inout Choices)

  /// The same of what a store of rows writes; drawn from the stream `storage`.
  mutating func tear(_ step: DiskStep, _ choices: inout Choices)

  /// What is there is changed, so that it cannot be read any more; how, is drawn from the stream
  /// `storage`.
  mutating func damage(_ choices: inout Choices)

  /// What is there is kept where nobody reads it.
  mutating func setAside()

  mutating func erase()

  /// What a new process reads, and what is wrong with it: it is not what was written. `nil`: nothing.
  ///
  /// - Parameter leavesRows: the rows of `Model.unloadedTables` stay where they are.
  mutating func read(leavesRows: Bool) -> (saved: Saved?, objection: DiskObjection?)

  /// The rows that a question finds among ``entries``.
  mutating func rows(for query: RowQuery) -> [(key: StoredKey, value: [UInt8])]

  /// The process reads rows that it left, and holds them from here on. `nil`: nobody understands them.
  mutating func load(_ queries: [RowQuery]) -> [RowAnswer]?
}

#if !hasFeature(Embedded)
  /// A driver's own way of saving in rows, which decides what is written, and whether as a step.
  public struct ReplicaRows<Model: SyncModel, Place: Finger>: Sendable {
    let store: any ReplicaStore<Model, Place>

    public init(on disk: any Store) where Model: StorableModel, Place: Storable {
      store = RowStore<Model, Place>(disk)
    }
  }
#endif

/// What a store of rows wants written, whole or not at all.
public enum DiskStep: Sendable {
  /// Behind what is there; the ranges are cleared first.
  case append([StoredRow], clearing: [RowRange])
  /// In place of what is there.
  case checkpoint([StoredRow])
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
  public private(set) var isUnreadable = false

  public init() {}

  public var entries: [(key: StoredKey, value: [UInt8])] { [] }

  #if !hasFeature(Embedded)
    public static func rowsStore(on disk: any Store) -> ReplicaRows<Model, Place>? { nil }
  #endif

  public mutating func write(_ saved: Saved) {
    isUnreadable = false
    self.saved = saved
  }

  public mutating func perform(_ step: DiskStep, leadingTo saved: Saved) { write(saved) }

  public mutating func tear(_ saved: Saved, _ choices: inout Choices) {}

  public mutating func tear(_ step: DiskStep, _ choices: inout Choices) {}

  public mutating func damage(_ choices: inout Choices) {
    isUnreadable = true
    saved = nil
  }

  public mutating func setAside() { self = ValueDisk() }

  public mutating func erase() { self = ValueDisk() }

  public mutating func read(leavesRows: Bool) -> (saved: Saved?, objection: DiskObjection?) {
    (saved, nil)
  }

  public mutating func rows(for query: RowQuery) -> [(key: StoredKey, value: [UInt8])] { [] }

  public mutating func load(_ queries: [RowQuery]) -> [RowAnswer]? { nil }
}
