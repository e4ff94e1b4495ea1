// Disk: the room of the disk under one client of a world: how a saved form is written, cut off by a
// crash, damaged, and read again.
//
// Disk may use: Choices.

public import UpdateMachine

/// The disk under one client. A write happens completely or not at all; reads return what was
/// written.
public protocol SimulatedDisk<Model, Place>: Sendable {
  /// The model whose state is saved.
  associatedtype Model: SyncModel
  /// The finger that is saved with it.
  associatedtype Place: Finger
  /// The saved form that a write takes and a read returns.
  typealias Saved = SavedReplica<Model, Place>

  /// Creates an empty disk.
  init()

  /// The last state written; `nil`: nothing was written, it was erased, or it is unreadable.
  var saved: Saved? { get }

  /// Whether there is an unreadable form: it must be set aside before it is replaced.
  var isUnreadable: Bool { get }

  /// The rows, in the order of their keys, as a store of rows reads them; empty for a disk that
  /// keeps values.
  var entries: [(key: StoredKey, value: [UInt8])] { get }

  #if !hasFeature(Embedded)
    /// The driver's own way of saving here in rows; `nil`: it saves values.
    ///
    /// - Parameter disk: this disk, as the driver's store.
    static func rowsStore(on disk: any SyncStore) -> ReplicaRows<Model, Place>?
  #endif

  /// Writes a state. An unreadable form is set aside first.
  mutating func write(_ saved: Saved)

  /// Writes the step that a store of rows asks for.
  mutating func perform(_ step: DiskStep, leadingTo saved: Saved)

  /// The process ends during a write: the write is cut off, at a byte drawn from the stream
  /// `disks`.
  mutating func tear(_ saved: Saved, _ choices: inout Choices)

  /// The process ends while a store of rows writes a step, which is cut off. Draws from the stream
  /// `storage`.
  mutating func tear(_ step: DiskStep, _ choices: inout Choices)

  /// Changes the form so that it becomes unreadable; draws how from the stream `storage`.
  mutating func damage(_ choices: inout Choices)

  /// Moves the form to a place from which it is no longer read.
  mutating func setAside()

  /// Erases everything, as after a logout. Afterwards ``saved`` is `nil`.
  mutating func erase()

  /// Returns what a new process reads, and how it differs from what was written; `nil`: it does
  /// not.
  ///
  /// - Parameter leavesRows: whether the rows of `Model.unloadedTables` stay on the disk.
  mutating func read(leavesRows: Bool) -> (saved: Saved?, objection: DiskObjection?)

  /// The rows of ``entries`` that match a query.
  mutating func rows(for query: RowQuery) -> [(key: StoredKey, value: [UInt8])]

  /// Loads rows that the process left here; it holds them from then on. `nil`: they are unreadable.
  mutating func load(_ queries: [RowQuery]) -> [RowAnswer]?
}

#if !hasFeature(Embedded)
  /// A driver's own way of saving in rows. It decides what is written, and whether as a step.
  public struct ReplicaRows<Model: SyncModel, Place: Finger>: Sendable {
    let store: any ReplicaStore<Model, Place>

    package init(on disk: any SyncStore) where Model: StorableModel, Place: Storable {
      store = RowStore<Model, Place>(disk)
    }
  }
#endif

/// What a store of rows writes, completely or not at all.
public enum DiskStep: Sendable {
  /// These rows are added to what is there; the ranges are cleared first.
  case append([StoredRow], clearing: [RowRange])
  /// These rows replace what is there.
  case checkpoint([StoredRow])
  /// The same, and what was there is set aside.
  case replace([StoredRow])
}

/// A difference between what was read and what was written.
public struct DiskObjection: Hashable, Sendable {
  package var expected: String
  package var found: String
}
