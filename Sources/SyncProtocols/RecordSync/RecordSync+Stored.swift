public import UpdateMachine

// Stores fingers, records and changes as bytes.

extension RecordStamp: Storable {
  public func put(into bytes: inout ByteWriter) { bytes.put(number) }

  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    self.init(try bytes.takeUInt64())
  }
}

extension RecordKey: StorableKey {
  public func put(into bytes: inout ByteWriter) {
    bytes.put(table)
    bytes.put(id)
  }

  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    self.init(try bytes.takeString(), try bytes.takeString())
  }

  /// Each byte of the table plus 1, a 0, and the ID. No byte of UTF-8 is 255. So these bytes sort
  /// as the keys do, whatever the names contain.
  public var keyBytes: [UInt8] { table.utf8.map { $0 + 1 } + [0] + Array(id.utf8) }

  public init(keyBytes: [UInt8]) throws(StoredFormError) {
    guard let end = keyBytes.firstIndex(of: 0),
      let table = String(validating: keyBytes[..<end].map { $0 - 1 }, as: UTF8.self),
      let id = String(validating: keyBytes[(end + 1)...], as: UTF8.self)
    else { throw StoredFormError(expected: "a record's key") }
    self.init(table, id)
  }
}

extension RecordFinger: Storable {
  public func put(into bytes: inout ByteWriter) {
    bytes.put(epoch)
    bytes.put(lastPulledAt)
    bytes.put(schema)
    bytes.put(cursor)
    bytes.put(isWhole)
  }

  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    self.init(
      epoch: try bytes.takeUInt64(), lastPulledAt: try bytes.take(),
      schema: try bytes.takeOptional(),
      cursor: try bytes.takeOptional(),
      isWhole: try bytes.takeBool())
  }
}

extension SyncedRecord: Storable {
  public func put(into bytes: inout ByteWriter) {
    bytes.put(JSONValue.object(columns))
    bytes.put(createdAt)
  }

  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    guard let columns = try bytes.take(JSONValue.self).object else {
      throw StoredFormError(expected: "columns")
    }
    self.init(columns, createdAt: try bytes.takeOptional())
  }
}

/// What expects something is saved under another name. So a version before that cannot take it for
/// a change without a condition.
extension RecordChange: Storable {
  public func put(into bytes: inout ByteWriter) {
    bytes.put(key)
    bytes.put(seen)
    bytes.put(expected == nil ? name : RecordChange.mark + name)
    bytes.put(columns.map { JSONValue.object($0) })
    switch expected {
    case nil: break
    case .nothing: bytes.put(JSONValue?.none)
    case .columns(let columns), .record(let columns): bytes.put(JSONValue?.some(.object(columns)))
    }
  }

  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    let (key, seen) = (try bytes.take(RecordKey.self), try bytes.take(RecordStamp.self))
    var name = try bytes.takeString()
    let isExpecting = name.hasPrefix(RecordChange.mark)
    if isExpecting { name.removeFirst(RecordChange.mark.count) }
    switch (name, try bytes.takeOptional(JSONValue.self)?.object) {
    case ("create", let columns?): self.init(.create(columns), key)
    case ("replace", let columns?): self.init(.replace(columns), key)
    case ("update", let columns?): self.init(.update(columns), key)
    case ("delete", nil): self.init(.delete, key)
    case _: throw StoredFormError(expected: "a change")
    }
    self.seen = seen
    guard isExpecting else { return }
    switch (action, try bytes.takeOptional(JSONValue.self)?.object) {
    case (.create, nil), (.replace, nil): expected = .nothing
    case (.update, let columns?): expected = .columns(columns)
    case (.delete, let columns?): expected = .record(columns)
    case _: throw StoredFormError(expected: "what a change must find")
    }
  }

  /// Before the name of a change that expects something.
  private static var mark: String { "undo-" }
}

/// What a saved model has besides its records.
struct StoredRecordHead: Storable, Equatable {
  var client: ClientID
  var pulledAt: RecordStamp
  /// The moment of the state that is shown; `nil`: the pulled one is.
  var formerAt: RecordStamp?

  init(client: ClientID, pulledAt: RecordStamp, formerAt: RecordStamp?) {
    self.client = client
    self.pulledAt = pulledAt
    self.formerAt = formerAt
  }

  func put(into bytes: inout ByteWriter) {
    bytes.put(client.number)
    bytes.put(pulledAt)
    bytes.put(formerAt)
  }

  init(from bytes: inout ByteReader) throws(StoredFormError) {
    client = ClientID(try bytes.takeUInt64())
    pulledAt = try bytes.take()
    formerAt = try bytes.takeOptional()
  }
}
