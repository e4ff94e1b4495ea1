public import UpdateMachine

extension ZulipState: StorableModel {
  /// Version 2: no secrets. A model that has a state as a part migrates it by `withoutSecrets`.
  public static var storedVersion: UInt64 { 2 }

  /// Writes the rows that differ from `old`, so saving an event costs only what it changed.
  public func store(since old: ZulipState?, into rows: inout RowWriter) {
    store(since: old, into: &rows, from: .firstOfModel)
  }

  public init(stored rows: RowReader) throws(StoredFormError) {
    try self.init(stored: rows, from: .firstOfModel)
  }

  /// Migrates from version 1, which kept secrets.
  public static func migrate(
    _ rows: RowReader, from version: UInt64
  ) throws(StoredFormError) -> RowReader {
    guard version == 1 else { throw StoredFormError(expected: "version 1 or 2 of a realm's state") }
    return try withoutSecrets(rows, from: .firstOfModel)
  }

  /// Stores the state as a part of a model that has other rows too.
  /// - Parameters:
  ///   - old: an older state of the same replica; `nil` to write everything.
  ///   - rows: receives the rows.
  ///   - first: the first of the state's two tables.
  package func store(
    since old: ZulipState?, into rows: inout RowWriter, from first: StoredTable
  ) {
    rows.put(first, registration, since: old?.registration)
    rows.put(first.advanced(by: 1), self.rows, since: old?.rows)
  }

  /// Reads a state that was stored as a part of a model.
  package init(stored rows: RowReader, from first: StoredTable) throws(StoredFormError) {
    let registration: ZulipRegistration? = try rows.value(of: first)
    guard let registration else { throw StoredFormError(expected: "a registration") }
    self.registration = registration
    self.rows = try rows.map(of: first.advanced(by: 1))
    // Each field's own row must be there, or its objects would belong to no field.
    for (key, _) in self.rows where !self.rows.contains(ZulipKey(key.field)) {
      throw StoredFormError(expected: "the field of a row of the state")
    }
  }
}

extension ZulipRegistration: Storable {
  public func put(into bytes: inout ByteWriter) {
    bytes.put(keepsArchivedChannels)
    bytes.put(readsLinkifiers)
    bytes.put(readsUnsetNotifications)
    bytes.put(includesSubscribers)
  }

  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    self.init()
    keepsArchivedChannels = try bytes.takeBool()
    readsLinkifiers = try bytes.takeBool()
    readsUnsetNotifications = try bytes.takeBool()
    includesSubscribers = try bytes.takeBool()
  }
}

extension ZulipValue: Storable {
  public func put(into bytes: inout ByteWriter) {
    switch self {
    case .null: bytes.put(UInt8(0))
    case .bool(let bool): bytes.put(UInt8(bool ? 2 : 1))
    case .number(let number):
      bytes.put(UInt8(3))
      bytes.put(number)
    case .fraction(let fraction):
      bytes.put(UInt8(4))
      bytes.put(fraction.bitPattern)
    case .text(let text):
      bytes.put(UInt8(5))
      bytes.put(text)
    case .list(let list):
      bytes.put(UInt8(6))
      bytes.put(UInt64(list.count))
      for element in list { bytes.put(element) }
    case .fields(let fields):
      bytes.put(UInt8(7))
      bytes.put(UInt64(fields.entries.count))
      for entry in fields.entries {
        bytes.put(entry.name)
        bytes.put(entry.value)
      }
    }
  }

  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    self = try ZulipValue.take(from: &bytes, depth: 0)
  }

  private static func take(
    from bytes: inout ByteReader, depth: Int
  ) throws(StoredFormError) -> ZulipValue {
    guard depth <= depthMaximum else { throw StoredFormError(expected: "less depth") }
    switch try bytes.takeByte() {
    case 0: return .null
    case 1: return .bool(false)
    case 2: return .bool(true)
    case 3: return .number(try bytes.takeInt64())
    case 4:
      let fraction = Double(bitPattern: try bytes.takeUInt64())
      guard fraction.isFinite else { throw StoredFormError(expected: "a number") }
      return .fraction(fraction)
    case 5: return .text(try bytes.takeString())
    case 6:
      var list: [ZulipValue] = []
      for _ in 0..<(try bytes.takeCount()) { list.append(try take(from: &bytes, depth: depth + 1)) }
      return .list(list)
    case 7:
      var entries: [ZulipFields.Entry] = []
      for _ in 0..<(try bytes.takeCount()) {
        let name = try bytes.takeString()
        entries.append(.init(name, try take(from: &bytes, depth: depth + 1)))
      }
      return .fields(ZulipFields(entries))
    default: throw StoredFormError(expected: "a value")
    }
  }
}
