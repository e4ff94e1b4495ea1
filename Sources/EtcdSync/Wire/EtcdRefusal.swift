import Foundation
import SyncProtocols

/// Why etcd refuses a request.
///
/// Codes are those of gRPC. One code has several reasons, and etcd's own clients tell them apart by
/// the message, which is part of etcd's API. So do we, and only where the code leaves it open.
package enum EtcdRefusal: Error, Hashable {
  /// The range or the watch begins at a revision whose history was thrown away.
  case compacted
  /// The revision is one that the cluster has not reached. So the cluster has gone back: a member
  /// that only lags waits until it is no longer behind.
  case future
  /// The token is unknown here, has expired, or there is none, and one is needed.
  case noToken
  /// User or password is wrong.
  case wrongPassword
  /// There is nothing to log in to: anybody may do anything.
  case authIsOff
  /// The user is known, and may not.
  case denied
  /// The member has no leader, lost it, or got no answer from the others in time. Another member
  /// may do better. The cluster may have done what was asked.
  case unavailable
  /// The cluster has more to do than it can.
  case busy
  /// The request is larger, or has more operations, than the cluster takes.
  case tooLarge
  /// There is no such lease, or no more.
  case leaseNotFound
  /// The member does not know the request.
  case unimplemented
  /// Anything else, with gRPC's code.
  case other(Int64)

  /// Reads the body of a refusal, or the message of a stream that is one.
  init(_ fields: EtcdFields) throws(EtcdWireError) {
    // A stream that is refused at its beginning has an object in place of the text.
    if fields.object["error"]?.object != nil {
      let error = try fields.fields("error")
      self.init(code: try error.int64("grpc_code"), message: try error.text("message"))
      return
    }
    guard fields.has("error"), fields.has("code") else { throw EtcdWireError(field: "error") }
    self.init(code: try fields.int64("code"), message: try fields.text("error"))
  }

  init(code: Int64, message: String) {
    let text = message.hasPrefix("etcdserver: ") ? String(message.dropFirst(12)) : message
    switch code {
    case 11 where text == "mvcc: required revision has been compacted": self = .compacted
    case 11 where text == "mvcc: required revision is a future revision": self = .future
    case 16: self = .noToken
    case 3 where text == "user name is empty": self = .noToken
    case 3 where text == "revision of auth store is old": self = .noToken
    case 3 where text == "authentication failed, invalid user ID or password":
      self = .wrongPassword
    case 9 where text == "authentication is not enabled": self = .authIsOff
    case 7: self = .denied
    case 8 where text == "mvcc: database space exceeded": self = .unavailable
    case 8: self = .busy
    case 3 where text == "request is too large": self = .tooLarge
    case 3 where text == "too many operations in txn request": self = .tooLarge
    case 5 where text == "requested lease not found": self = .leaseNotFound
    case 12: self = .unimplemented
    // Canceled, unknown, deadline exceeded, aborted, internal, unavailable, data loss. A member
    // that is told to stop cancels what it has been asked.
    case 1, 2, 4, 10, 13, 14, 15: self = .unavailable
    default: self = .other(code)
    }
  }

  /// Reads why a watch was canceled: "rpc error: code = PermissionDenied desc = …".
  init(cancelReason text: String) {
    let words = text.split(separator: " ")
    guard let mark = words.firstIndex(of: "="), words.count > mark + 1,
      let code = EtcdRefusal.codes[String(words[mark + 1])],
      let start = text.range(of: " desc = ")?.upperBound
    else {
      self = .unavailable
      return
    }
    self.init(code: code, message: String(text[start...]))
  }

  private static let codes: [String: Int64] = [
    "Canceled": 1, "Unknown": 2, "InvalidArgument": 3, "DeadlineExceeded": 4, "NotFound": 5,
    "PermissionDenied": 7, "ResourceExhausted": 8, "FailedPrecondition": 9, "OutOfRange": 11,
    "Unimplemented": 12, "Unavailable": 14, "Unauthenticated": 16,
  ]
}
