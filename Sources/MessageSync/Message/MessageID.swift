public import UpdateMachine

/// The server's number of a message. A greater number is a later message.
public struct MessageID: ListID {
  public let number: Int64

  @inlinable
  public init(_ number: Int64) { self.number = Swift.min(Swift.max(number, .min + 1), .max - 1) }
}

extension PageAnchor where ID == MessageID {
  /// The first unread message of the list. Only the server knows which one it is.
  @inlinable
  public static var firstUnread: PageAnchor { .serverChosen }
}

extension MessageID: StorableKey {
  @inlinable
  public func put(into bytes: inout ByteWriter) { bytes.put(number) }

  @inlinable
  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    self.init(try bytes.takeInt64())
  }

  @inlinable
  public var keyBytes: [UInt8] { number.keyBytes }

  @inlinable
  public init(keyBytes: [UInt8]) throws(StoredFormError) {
    self.init(try Int64(keyBytes: keyBytes))
  }
}
