import UpdateMachine

/// A secret in the objects of a field of `/register`. ``ZulipTable`` lists them.
///
/// A state is stored, compared and looked at, so it holds no secret. They are dropped as soon as an
/// object is read, from a register or an event.
struct ZulipSecret {
  /// The names that lead to it from the object. A list on the way stands for all its elements.
  var path: [String]
  /// The reason for which it is dropped.
  var reason: String

  init(_ path: String..., reason: String) {
    self.path = path
    self.reason = reason
  }
}

extension ZulipFields {
  /// Removes the secrets that an object of this field may have.
  mutating func removeSecrets(of field: String) {
    for secret in ZulipTable.secrets[field] ?? [] { remove(secret.path[...]) }
  }

  private mutating func remove(_ path: ArraySlice<String>) {
    guard let name = path.first, let value = self[name] else { return }
    self[name] = path.count == 1 ? nil : ZulipFields.removing(path.dropFirst(), from: value)
  }

  private static func removing(
    _ path: ArraySlice<String>, from value: ZulipValue
  ) -> ZulipValue {
    switch value {
    case .fields(var fields):
      fields.remove(path)
      return .fields(fields)
    case .list(let list): return .list(list.map { removing(path, from: $0) })
    case .null, .bool, .number, .fraction, .text: return value
    }
  }
}

// MARK: States that an older version saved

extension ZulipState {
  /// Returns the rows without the secrets that version 1 of a state kept.
  /// - Parameter first: the first of the state's two tables.
  static func withoutSecrets(
    _ rows: RowReader, from first: StoredTable
  ) throws(StoredFormError) -> RowReader {
    let table = first.advanced(by: 1)
    var clean: [(key: [UInt8], value: [UInt8])] = []
    for row in rows[table] {
      var value = row.value
      let field = try ZulipKey(keyBytes: row.key.bytes).field
      if ZulipTable.secrets[field] != nil,
        case .fields(var fields) = try ZulipValue(storedBytes: value)
      {
        fields.removeSecrets(of: field)
        value = ZulipValue.fields(fields).storedBytes
      }
      clean.append((key: row.key.bytes, value: value))
    }
    return try rows.replacing(table, with: clean)
  }
}
