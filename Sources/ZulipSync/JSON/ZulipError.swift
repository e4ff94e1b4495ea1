package import Foundation

/// A server's answer that violates its protocol.
///
/// The client keeps all it holds and uses nothing of the answer. After a poll's answer it must
/// register again: without the event it cannot stay up to date.
public enum ZulipError: Error, Hashable, Sendable {
  /// A required field is missing, or of another type. `path` says which, as in
  /// `events[3].message.id`; it contains names of fields, never their values. It is empty if there
  /// is no JSON object at all, or one that is too deep.
  case malformed(path: String)
}

extension ZulipError: CustomStringConvertible {
  /// "malformed: events[3].message.id".
  public var description: String {
    switch self {
    case .malformed(let path): path.isEmpty ? "malformed: no JSON object" : "malformed: \(path)"
    }
  }
}

extension ZulipError {
  /// Decodes one value from JSON. No input makes it trap.
  package static func decode<Value: Decodable>(
    _ type: Value.Type, from bytes: Data
  ) throws(ZulipError) -> Value {
    try decode(type, from: ZulipValue(json: bytes))
  }

  /// Decodes one value from parsed JSON.
  static func decode<Value: Decodable>(
    _ type: Value.Type, from value: ZulipValue
  ) throws(ZulipError) -> Value {
    do {
      return try Value(from: ZulipDecoder(value))
    } catch {
      throw ZulipError(error)
    }
  }

  /// Keeps a decoding error's path and drops its message, which may quote the server.
  package init(_ error: any Error) {
    if let error = error as? ZulipError {
      self = error
      return
    }
    let path: [any CodingKey] =
      switch error as? DecodingError {
      case .keyNotFound(let key, let context): context.codingPath + [key]
      case .typeMismatch(_, let context), .valueNotFound(_, let context),
        .dataCorrupted(let context):
        context.codingPath
      case nil: []
      @unknown default: []
      }
    self = .malformed(path: ZulipError.text(of: path))
  }

  static func text(of path: [any CodingKey]) -> String {
    var text = ""
    for key in path {
      if let index = key.intValue {
        text += "[\(index)]"
      } else {
        text += text.isEmpty ? key.stringValue : ".\(key.stringValue)"
      }
    }
    return text
  }
}

extension KeyedDecodingContainer {
  func number(_ key: Key) throws -> Int64 { try decode(WholeNumber.self, forKey: key).value }

  func numberIfPresent(_ key: Key) throws -> Int64? {
    try decodeIfPresent(WholeNumber.self, forKey: key)?.value
  }
}

/// A number of 64 bits. For larger ones the standard decoder's error has no path; this one has.
struct WholeNumber: Decodable {
  var value: Int64

  init(from decoder: any Decoder) throws {
    do {
      value = try decoder.singleValueContainer().decode(Int64.self)
    } catch {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "no whole number of 64 bits"))
    }
  }
}
