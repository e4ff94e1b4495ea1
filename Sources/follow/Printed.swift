import MessageSync
import SQLiteStore
import UpdateMachine

/// Which messages of a list were printed: all up to one, and some of those behind it. A server gives IDs
/// before others see the message, so that a lower one may come after a higher.
struct Printed: Equatable {
  /// All up to here count as printed.
  private(set) var floor: MessageID
  /// Above that; ascending.
  private(set) var ids: [MessageID]

  /// So many are remembered above the floor: nothing comes later than that.
  static var span: Int64 { 100 }

  /// These, and all that are older.
  /// - Parameter ids: ascending.
  init(_ ids: [MessageID]) {
    // A server may name any number.
    floor = MessageID(max(ids.first?.number ?? 1, .min + 1) - 1)
    self.ids = []
    for id in ids { note(id) }
  }

  init(floor: MessageID, ids: [MessageID]) {
    self.floor = floor
    self.ids = ids
  }

  /// The first that may not be printed yet.
  var next: MessageID { MessageID(min(floor.number, .max - 1) + 1) }

  func has(_ id: MessageID) -> Bool { id <= floor || ids.contains(id) }

  /// It is printed. Returns whether it was not.
  @discardableResult
  mutating func note(_ id: MessageID) -> Bool {
    guard !has(id) else { return false }
    ids.insert(id, at: ids.firstIndex { id < $0 } ?? ids.count)
    if ids.count > Int(Printed.span) { floor = ids.removeFirst() }
    return true
  }
}

extension Printed: Storable {
  func put(into bytes: inout ByteWriter) {
    bytes.put(floor)
    bytes.put(ids)
  }

  init(from bytes: inout ByteReader) throws(StoredFormError) {
    self.init(floor: try bytes.take(), ids: try bytes.takeArray())
  }
}

/// What was printed, kept beside the account. It is lost with its row alone, and then begins anew.
struct PrintMark {
  let store: SQLiteStore

  private static let key = StoredKey(.firstOfModel, [])

  func load() async throws(StoreError) -> Printed? {
    guard let row = try await store.load()?.rows.first else { return nil }
    do throws(StoredFormError) {
      return try Printed(storedBytes: row.value)
    } catch {
      return nil
    }
  }

  func save(_ printed: Printed) async throws(StoreError) {
    try await store.checkpoint(
      StoredForm(
        rows: [(key: PrintMark.key, value: printed.storedBytes)],
        writtenAt: SystemClock().wallTime))
  }
}
