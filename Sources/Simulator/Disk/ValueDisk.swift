public import UpdateMachine

/// A disk that keeps values as they are, for models without a saved form of their own.
public struct ValueDisk<Model: SyncModel, Place: Finger>: SimulatedDisk {
  /// The saved form that a write takes and a read returns.
  public typealias Saved = SavedReplica<Model, Place>

  public private(set) var saved: Saved?
  public private(set) var isUnreadable = false

  public init() {}

  public var entries: [(key: StoredKey, value: [UInt8])] { [] }

  #if !hasFeature(Embedded)
    public static func rowsStore(on disk: any SyncStore) -> ReplicaRows<Model, Place>? { nil }
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
