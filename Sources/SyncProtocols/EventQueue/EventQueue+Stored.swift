public import UpdateMachine

// Stores fingers of a queue as bytes.

extension QueueID: Storable {
  @inlinable
  public func put(into bytes: inout ByteWriter) { bytes.put(text) }

  @inlinable
  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    self.init(try bytes.takeString())
  }
}

extension QueueFinger: Storable {
  @inlinable
  public func put(into bytes: inout ByteWriter) {
    bytes.put(queue)
    bytes.put(lastEventID)
  }

  @inlinable
  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    self.init(queue: try bytes.take(), lastEventID: try bytes.takeInt64())
  }
}
