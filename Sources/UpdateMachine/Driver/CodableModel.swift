#if !hasFeature(Embedded)

  private import Foundation

  // Models and mutations that are `Codable`: one JSON text for the whole value. Right for small
  // values. A model of many entries should write one row per entry.

  extension StorableModel where Self: Codable & Equatable {
    /// One row, if anything has changed. O(the model).
    public func store(since old: Self?, into rows: inout RowWriter) {
      if self != old { rows.put(.firstOfModel, [], JSONForm.bytes(of: self)) }
    }

    public init(stored rows: RowReader) throws(StoredFormError) {
      guard let row = rows[.firstOfModel].first else { throw StoredFormError(expected: "a model") }
      self = try JSONForm.value(Self.self, of: row.value)
    }
  }

  extension Storable where Self: Codable {
    /// Appends the value's JSON with its length. An error of the value's own encoding traps.
    public func put(into bytes: inout ByteWriter) { bytes.put(JSONForm.bytes(of: self)) }

    /// Creates the value from its JSON. Throws if the bytes are not the JSON of such a value.
    public init(from bytes: inout ByteReader) throws(StoredFormError) {
      self = try JSONForm.value(Self.self, of: try bytes.takeBytes())
    }
  }

  /// Values as JSON texts: equal values have equal texts.
  private enum JSONForm {
    static func bytes(of value: some Encodable) -> [UInt8] {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      encoder.nonConformingFloatEncodingStrategy = .convertToString(
        positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
      do {
        return Array(try encoder.encode(value))
      } catch {
        // Only a type whose own code throws gets here, which is a programmer's mistake.
        preconditionFailure("a model has no JSON: \(error)")
      }
    }

    static func value<Value: Decodable>(
      _ type: Value.Type, of bytes: [UInt8]
    ) throws(StoredFormError) -> Value {
      let decoder = JSONDecoder()
      decoder.nonConformingFloatDecodingStrategy = .convertFromString(
        positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
      do {
        return try decoder.decode(type, from: Data(bytes))
      } catch {
        throw StoredFormError(expected: "\(type)")
      }
    }
  }

#endif
