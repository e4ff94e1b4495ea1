package import UpdateMachine

/// A disk that keeps values, which is cheap, until a store of rows, such as a real driver's, writes
/// to it. From then on it keeps bytes.
package struct RowDiskOnDemand<Model: StorableModel, Place: Finger & Storable>: SimulatedDisk {
  package typealias Saved = SavedReplica<Model, Place>

  private var values = ValueDisk<Model, Place>()
  /// `nil`: no store of rows has written yet.
  private(set) var rows: RowDisk<Model, Place>?

  package init() {}

  package var saved: Saved? { if let rows { rows.saved } else { values.saved } }

  package var isUnreadable: Bool { rows?.isUnreadable ?? values.isUnreadable }

  package var entries: [(key: StoredKey, value: [UInt8])] { rows?.entries ?? [] }

  #if !hasFeature(Embedded)
    package static func rowsStore(on disk: any SyncStore) -> ReplicaRows<Model, Place>? {
      ReplicaRows(on: disk)
    }
  #endif

  package mutating func write(_ saved: Saved) {
    if rows?.write(saved) == nil { values.write(saved) }
  }

  package mutating func perform(_ step: DiskStep, leadingTo saved: Saved) {
    if rows == nil { rows = RowDisk() }
    rows?.perform(step, leadingTo: saved)
  }

  package mutating func tear(_ saved: Saved, _ choices: inout Choices) {
    if rows?.tear(saved, &choices) == nil { values.tear(saved, &choices) }
  }

  package mutating func tear(_ step: DiskStep, _ choices: inout Choices) {
    if rows == nil { rows = RowDisk() }
    rows?.tear(step, &choices)
  }

  package mutating func damage(_ choices: inout Choices) {
    if rows?.damage(&choices) == nil { values.damage(&choices) }
  }

  package mutating func setAside() {
    if rows?.setAside() == nil { values.setAside() }
  }

  package mutating func erase() {
    if rows?.erase() == nil { values.erase() }
  }

  package mutating func read(leavesRows: Bool) -> (saved: Saved?, objection: DiskObjection?) {
    rows?.read(leavesRows: leavesRows) ?? values.read(leavesRows: leavesRows)
  }

  package mutating func rows(for query: RowQuery) -> [(key: StoredKey, value: [UInt8])] {
    rows?.rows(for: query) ?? []
  }

  package mutating func load(_ queries: [RowQuery]) -> [RowAnswer]? { rows?.load(queries) ?? nil }
}
