public import UpdateMachine

/// A disk that keeps values, which is cheap, until a store of rows writes to it, as real drivers
/// have. From then on it keeps the bytes.
public struct RowDiskOnDemand<Model: StorableModel, Place: Finger & Storable>: SimulatedDisk {
  public typealias Saved = SavedReplica<Model, Place>

  private var values = ValueDisk<Model, Place>()
  /// `nil`: no store of rows has written yet.
  private(set) var rows: RowDisk<Model, Place>?

  public init() {}

  public var saved: Saved? { if let rows { rows.saved } else { values.saved } }

  public var isUnreadable: Bool { rows?.isUnreadable ?? values.isUnreadable }

  public var entries: [(key: StoredKey, value: [UInt8])] { rows?.entries ?? [] }

  #if !hasFeature(Embedded)
    public static func rowsStore(on disk: any Store) -> ReplicaRows<Model, Place>? {
      ReplicaRows(on: disk)
    }
  #endif

  public mutating func write(_ saved: Saved) {
    if rows?.write(saved) == nil { values.write(saved) }
  }

  public mutating func perform(_ step: DiskStep, leadingTo saved: Saved) {
    if rows == nil { rows = RowDisk() }
    rows?.perform(step, leadingTo: saved)
  }

  public mutating func tear(_ saved: Saved, _ choices: inout Choices) {
    if rows?.tear(saved, &choices) == nil { values.tear(saved, &choices) }
  }

  public mutating func tear(_ step: DiskStep, _ choices: inout Choices) {
    if rows == nil { rows = RowDisk() }
    rows?.tear(step, &choices)
  }

  public mutating func damage(_ choices: inout Choices) {
    if rows?.damage(&choices) == nil { values.damage(&choices) }
  }

  public mutating func setAside() {
    if rows?.setAside() == nil { values.setAside() }
  }

  public mutating func erase() {
    if rows?.erase() == nil { values.erase() }
  }

  public mutating func read(leavesRows: Bool) -> (saved: Saved?, objection: DiskObjection?) {
    rows?.read(leavesRows: leavesRows) ?? values.read(leavesRows: leavesRows)
  }

  public mutating func rows(for query: RowQuery) -> [(key: StoredKey, value: [UInt8])] {
    rows?.rows(for: query) ?? []
  }

  public mutating func load(_ queries: [RowQuery]) -> [RowAnswer]? { rows?.load(queries) ?? nil }
}
