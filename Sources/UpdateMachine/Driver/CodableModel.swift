#if !hasFeature(Embedded)

  private import Foundation

  // Models and mutations that are `Codable`: one JSON text for the whole value. Right for small
  // values. A model of many entries should write one row per entry.

  extension StorableModel where Self: Codable {
    /// One row, if its JSON has changed. O(the model). If the model's own code throws, nothing is
    /// saved, and the report says where.
    public func store(since old: Self?, into rows: inout RowWriter) {
      var (bytes, before) = (ByteWriter(), ByteWriter())
      JSONForm.put(self, into: &bytes)
      if let old { JSONForm.put(old, into: &before) }
      rows.note(bytes.failure)
      if old == nil || bytes.bytes != before.bytes {
        rows.put(.firstOfModel, [], bytes.bytes)
      }
    }

    public init(stored rows: RowReader) throws(StoredFormError) {
      guard let row = rows[.firstOfModel].first else { throw StoredFormError(expected: "a model") }
      self = try JSONForm.value(Self.self, of: row.value)
    }
  }

  extension StorableModel where Change: Codable {
    /// Why the change cannot be saved: its own code throws; `nil`: it can.
    public static func objection(toStoring change: Change) -> StoredFormError? {
      var bytes = ByteWriter()
      change.put(into: &bytes)
      return bytes.failure
    }
  }

  extension Storable where Self: Codable {
    /// Appends the value's JSON with its length. If the value's own code throws, what it is part of
    /// is not saved.
    public func put(into bytes: inout ByteWriter) {
      var text = ByteWriter()
      JSONForm.put(self, into: &text)
      bytes.put(text.bytes)
      bytes.note(text.failure)
    }

    /// Creates the value from its JSON. Throws if the bytes are not the JSON of such a value.
    public init(from bytes: inout ByteReader) throws(StoredFormError) {
      self = try JSONForm.value(Self.self, of: try bytes.takeBytes())
    }
  }

  /// Values as JSON texts: equal values have equal texts.
  private enum JSONForm {
    static func put(_ value: some Encodable, into bytes: inout ByteWriter) {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      encoder.nonConformingFloatEncodingStrategy = .convertToString(
        positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
      do {
        for byte in try encoder.encode(value) { bytes.put(byte) }
      } catch let EncodingError.invalidValue(_, context) {
        bytes.note(unwritable(value, context.codingPath))
      } catch {
        bytes.note(unwritable(value, []))
      }
    }

    private static func unwritable(
      _ value: some Encodable, _ place: [any CodingKey]
    ) -> StoredFormError {
      StoredFormError(expected: "a \(type(of: value)) that can be encoded\(suffix(place))")
    }

    static func value<Value: Decodable>(
      _ type: Value.Type, of bytes: [UInt8]
    ) throws(StoredFormError) -> Value {
      let decoder = JSONDecoder()
      decoder.nonConformingFloatDecodingStrategy = .convertFromString(
        positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
      do {
        return try decoder.decode(type, from: Data(bytes))
      } catch let error as DecodingError {
        throw StoredFormError(expected: "a \(type)\(found(error))")
      } catch {
        throw StoredFormError(expected: "a \(type)")
      }
    }

    /// Says where the decoder stopped, and at what. It quotes nothing of the user's.
    private static func found(_ error: DecodingError) -> String {
      switch error {
      case .keyNotFound(let key, let context): suffix(context.codingPath + [key]) + ": missing"
      case .valueNotFound(_, let context): suffix(context.codingPath) + ": missing"
      case .typeMismatch(let type, let context):
        suffix(context.codingPath) + ": not a \(type)"
      case .dataCorrupted(let context): suffix(context.codingPath) + ": not readable"
      @unknown default: ""
      }
    }

    /// "; boards[3].title". A key that is not a case of the app's own keys may be the user's, as in
    /// a dictionary, and is left out.
    private static func suffix(_ path: [any CodingKey]) -> String {
      var text = ""
      for key in path {
        if let index = key.intValue, key.stringValue == "Index \(index)" {
          text += "[\(index)]"
        } else if Mirror(reflecting: key).displayStyle == .enum,
          !"\(type(of: key))".hasPrefix("_")
        {
          text += (text.isEmpty ? "" : ".") + key.stringValue
        } else {
          text += "[…]"
        }
      }
      return text.isEmpty ? "" : "; " + text
    }
  }

#endif
