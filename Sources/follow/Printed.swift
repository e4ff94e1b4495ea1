import MessageSync
import SQLiteStore
import UpdateMachine

/// The printed messages of a list: all up to a certain one, and some after it. A server assigns IDs
/// before others see the messages, so a lower ID may appear after a higher one.
struct Printed: Equatable {
  /// Every ID up to here counts as printed.
  private(set) var floor: MessageID
  /// The printed IDs above the floor, ascending.
  private(set) var ids: [MessageID]

  /// The most IDs remembered above the floor: no message arrives later than that many others.
  static var span: Int64 { 100 }

  /// Creates a record of these messages and all older ones.
  /// - Parameter ids: in ascending order.
  init(_ ids: [MessageID]) {
    // A server may send any number.
    floor = MessageID(max(ids.first?.number ?? 1, .min + 1) - 1)
    self.ids = []
    for id in ids { note(id) }
  }

  init(floor: MessageID, ids: [MessageID]) {
    self.floor = floor
    self.ids = ids
  }

  /// The first ID that may not be printed yet.
  var next: MessageID { MessageID(min(floor.number, .max - 1) + 1) }

  func has(_ id: MessageID) -> Bool { id <= floor || ids.contains(id) }

  /// Records a message as printed. Returns whether it is new.
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
    self.init(floor: try bytes.take(), ids: try bytes.take())
  }
}

/// The record of printed messages, stored next to the account. It is lost only with its own row,
/// and then starts anew.
struct PrintMark {
  let store: SQLiteStore

  private static let key = StoredKey(.firstOfModel, [])

  func load() async throws(StoreError) -> Printed? {
    guard let row = try await store.load(leaving: [])?.rows.first else { return nil }
    do throws(StoredFormError) {
      return try Printed(storedBytes: row.value)
    } catch {
      return nil
    }
  }

  func save(_ printed: Printed) async throws(StoreError) {
    try await store.checkpoint(
      SavedRows(
        rows: [(key: PrintMark.key, value: printed.storedBytes)],
        writtenAt: SystemClock().wallTime))
  }
}
