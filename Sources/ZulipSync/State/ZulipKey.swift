public import UpdateMachine

/// The key of one row of a ``ZulipState``: a field of `/register`, or one object of a field with
/// many.
///
/// Keys are ordered by field. A field's own row comes first, then its objects by number, then by
/// text.
public struct ZulipKey: Hashable, Comparable, Sendable {
  /// The field's name, then 0. For an object, then its number in big-endian order, and its text.
  let bytes: [UInt8]

  /// The key of a whole field.
  package init(_ field: String) { bytes = Array(field.utf8) + [0] }

  /// The key of one object, named by a number, a text, or both.
  package init(_ field: String, _ number: Int64, _ text: String = "") {
    bytes = Array(field.utf8) + [0] + number.keyBytes + Array(text.utf8)
  }

  package init(_ field: String, _ text: String) { self.init(field, 0, text) }

  fileprivate init(bytes: [UInt8]) { self.bytes = bytes }

  public static func < (one: ZulipKey, other: ZulipKey) -> Bool {
    let count = min(one.bytes.count, other.bytes.count)
    for index in 0..<count where one.bytes[index] != other.bytes[index] {
      return one.bytes[index] < other.bytes[index]
    }
    return one.bytes.count < other.bytes.count
  }

  /// The key after the last row of a field.
  static func end(of field: String) -> ZulipKey { ZulipKey(bytes: Array(field.utf8) + [1]) }

  /// The field's name in `/register`.
  package var field: String { String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) }

  /// Whether it is a field's own row.
  package var isWhole: Bool { bytes.last == 0 && bytes.firstIndex(of: 0) == bytes.count - 1 }

  /// The object's number; 0 if it has none.
  public var number: Int64 {
    let rest = bytes.drop { $0 != 0 }.dropFirst().prefix(8)
    do throws(StoredFormError) {
      return try Int64(keyBytes: Array(rest))
    } catch {
      return 0  // A field's own row.
    }
  }

  /// The object's text; empty if it has none.
  public var text: String {
    String(decoding: bytes.drop { $0 != 0 }.dropFirst(9), as: UTF8.self)
  }
}

extension ZulipKey: CustomStringConvertible {
  /// "realm_name", "realm_users[7]", "user_topics[3 lunch]".
  public var description: String {
    if isWhole { return field }
    let row = number == 0 ? text : text.isEmpty ? "\(number)" : "\(number) \(text)"
    return "\(field)[\(row)]"
  }
}

extension ZulipKey: StorableKey {
  public var keyBytes: [UInt8] { bytes }

  public init(keyBytes: [UInt8]) throws(StoredFormError) {
    guard let end = keyBytes.firstIndex(of: 0), end > 0,
      end == keyBytes.count - 1 || keyBytes.count - end >= 9
    else { throw StoredFormError(expected: "the key of a row of the state") }
    bytes = keyBytes
  }

  public func put(into bytes: inout ByteWriter) { bytes.put(self.bytes) }

  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    try self.init(keyBytes: try bytes.takeBytes())
  }
}
