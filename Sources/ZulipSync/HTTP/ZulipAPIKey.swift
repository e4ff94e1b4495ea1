import Foundation

/// A user's API key, which gives access to the whole account.
///
/// Nothing shows it: no description, no dump, no reflection, and it is not `Codable`. The app
/// decides where to keep it; a keychain is made for that.
public struct ZulipAPIKey: Equatable, Sendable {
  private let secret: String

  /// Creates a key from its text, as the server gave it. Throws `malformedKey` if it is empty or
  /// has a character other than visible ASCII.
  public init(_ secret: String) throws(ZulipConnectionError) {
    guard !secret.isEmpty, secret.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw .malformedKey
    }
    self.secret = secret
  }

  /// The value of the `Authorization` header of each request.
  func authorization(of email: String) -> String {
    "Basic " + Data("\(email):\(secret)".utf8).base64EncodedString()
  }
}

extension ZulipAPIKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { "an API key" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
