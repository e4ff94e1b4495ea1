package import Foundation
package import UpdateMachine

/// What an error of URLSession says about a connection.
package enum ConnectionFault: Hashable, Sendable {
  /// The whole answer did not arrive in time.
  case timedOut
  /// There was no way to the host, or it takes no connection.
  case notConnected
  /// The server cannot prove its identity, or wants a proof that we do not have.
  case untrusted
  /// What came is not HTTP, or not of the kind that it says, or redirects without an end.
  case notHTTP
  /// The answer is larger than is allowed.
  case tooLarge
  /// Anything else: the connection broke, or the request was cancelled.
  case broken

  package init(_ code: URLError.Code) {
    switch code {
    case .timedOut: self = .timedOut
    // FoundationNetworking cannot connect to an IPv6 address in a URL: a bad URL.
    case .cannotFindHost, .cannotConnectToHost, .dnsLookupFailed, .notConnectedToInternet,
      .internationalRoamingOff, .callIsActive, .dataNotAllowed, .badURL:
      self = .notConnected
    case .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateUntrusted,
      .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid, .clientCertificateRejected,
      .clientCertificateRequired, .appTransportSecurityRequiresSecureConnection:
      self = .untrusted
    // FoundationNetworking reports an answer of no HTTP version as an unsupported URL scheme, and a
    // missing answer as a bad one.
    case .unsupportedURL, .cannotParseResponse, .cannotDecodeRawData, .cannotDecodeContentData,
      .httpTooManyRedirects, .redirectToNonExistentLocation:
      self = .notHTTP
    case .dataLengthExceedsMaximum: self = .tooLarge
    default: self = .broken
    }
  }

  /// What it means for the next request.
  package var failure: SyncFailure {
    switch self {
    case .timedOut: .timedOut
    case .notConnected, .untrusted, .broken: .unreachable
    case .notHTTP, .tooLarge: .serverFault
    }
  }
}
