public import UpdateMachine

// Stores places in a log as bytes.

extension ChangeLogEpoch: Storable {
  @inlinable
  public func put(into bytes: inout ByteWriter) { bytes.put(text) }

  @inlinable
  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    self.init(try bytes.takeString())
  }
}

extension ChangeLogPlace: Storable {
  @inlinable
  public func put(into bytes: inout ByteWriter) {
    bytes.put(epoch)
    bytes.put(number)
  }

  @inlinable
  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    self.init(epoch: try bytes.take(), number: try bytes.takeInt64())
  }
}
