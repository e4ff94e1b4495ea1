public import Foundation

/// What a server wrote is not what its protocol says.
///
/// A client keeps what it holds and takes nothing of the answer. If the answer was a poll's, it has
/// to register again: without the event it cannot stay level.
public enum ZulipError: Error, Hashable, Sendable {
  /// A field that is needed is not there, or is of another kind. `path` says which, as in
  /// `events[3].message.id`; nothing that the server wrote is in it. It is empty if there is no JSON
  /// object at all, or one that is too deep.
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
  /// Reads one value. No bytes make it trap.
  public static func decode<Value: Decodable>(
    _ type: Value.Type, from bytes: Data
  ) throws(ZulipError) -> Value {
    try decode(type, from: ZulipValue(json: bytes))
  }

  /// The same of what was read already.
  static func decode<Value: Decodable>(
    _ type: Value.Type, from value: ZulipValue
  ) throws(ZulipError) -> Value {
    do {
      return try Value(from: ZulipDecoder(value))
    } catch {
      throw ZulipError(error)
    }
  }

  /// What a decoder reports, without its words: they may quote what the server wrote.
  public init(_ error: any Error) {
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

/// A number that 64 bits hold. Of one that they do not, the decoder itself forgets where it stood.
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
