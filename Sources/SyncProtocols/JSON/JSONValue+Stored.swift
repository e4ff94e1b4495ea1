public import UpdateMachine

extension JSONValue: Storable {
  /// Writes the compact text.
  public func put(into bytes: inout ByteWriter) { bytes.put(description) }

  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    let text = try bytes.takeString()
    do throws(JSONError) {
      self = try JSONValue(parsing: text)
    } catch {
      throw StoredFormError(expected: "JSON")
    }
  }
}
