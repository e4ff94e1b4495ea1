import Foundation
import HTTPSync
import UpdateMachine

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The failure of a request to one member. It shows no text of the server's, and nothing of the
/// request.
struct EtcdFailure: Error, Hashable {
  /// What it means for the next request.
  var failure: SyncFailure
  /// What was observed.
  var reason: Reason
  /// Whether the member may have received the request.
  var hasLeft = true

  enum Reason: Hashable {
    /// The task was cancelled.
    case cancelled
    /// The answer did not come in time.
    case timedOut
    /// No connection could be made, or it broke.
    case broken
    /// The answer is not etcd's: a proxy's page, or half a body.
    case notEtcd
    /// The answer is larger than is allowed.
    case tooLarge
    /// The answer lacks what it must have.
    case malformed(String)
    /// etcd says why.
    case refused(EtcdRefusal)
    /// The member is of another cluster, or of one that has lost a part of its history.
    case foreign
    /// History was thrown away, so what is new cannot be told.
    case expired
  }

  init(_ failure: SyncFailure, _ reason: Reason, hasLeft: Bool = true) {
    self.failure = failure
    self.reason = reason
    self.hasLeft = hasLeft
  }

  /// Whether etcd says that it has done nothing of what it was asked.
  var isUndone: Bool {
    switch reason {
    case .refused(.compacted), .refused(.future), .refused(.noToken), .refused(.wrongPassword),
      .refused(.authIsOff), .refused(.denied), .refused(.busy), .refused(.tooLarge),
      .refused(.leaseNotFound), .refused(.unimplemented):
      true
    case .refused(.unavailable), .refused(.other): false
    case .cancelled, .timedOut, .broken, .notEtcd, .tooLarge, .malformed, .foreign, .expired: false
    }
  }

  /// Whether another member may do better.
  var isOfMember: Bool {
    switch reason {
    case .timedOut, .broken, .notEtcd, .foreign: true
    case .refused(.unavailable), .refused(.future), .refused(.unimplemented): true
    // A token may be so new that this member has not heard of it.
    case .refused(.noToken): true
    case .cancelled, .tooLarge, .malformed, .refused, .expired: false
    }
  }
}

extension EtcdFailure {
  static var cancelled: EtcdFailure { EtcdFailure(.unreachable, .cancelled) }

  /// The cluster is not the one that the finger is in, or has lost a part of its history. The app's
  /// log says so, the state is dropped, and the client registers anew.
  static var foreign: EtcdFailure { EtcdFailure(.rejected(.otherHistory), .foreign) }

  static var expired: EtcdFailure { EtcdFailure(.expired, .expired) }

  init(_ error: EtcdWireError) { self.init(.malformed, .malformed(error.field)) }

  /// Reads an answer.
  static func reading<Value>(
    _ body: () throws(EtcdWireError) -> Value
  ) throws(EtcdFailure) -> Value {
    do throws(EtcdWireError) {
      return try body()
    } catch {
      throw EtcdFailure(error)
    }
  }

  /// Classifies a refusal.
  init(_ refusal: EtcdRefusal) {
    let failure: SyncFailure =
      switch refusal {
      case .compacted: .expired
      case .future: .rejected(.otherHistory)
      case .noToken, .wrongPassword: .unauthorized
      case .authIsOff, .unavailable, .leaseNotFound: .serverFault
      case .denied: .rejected(RejectionCode("PERMISSION_DENIED"))
      case .busy: .rateLimited(after: nil)
      case .tooLarge: .rejected(.tooLarge)
      case .unimplemented: .unsupported
      case .other(let code): .rejected(RejectionCode("GRPC_\(code)"))
      }
    self.init(failure, .refused(refusal))
  }

  /// Classifies an error of the connection: the answer did not come, or not whole.
  init(_ code: URLError.Code, hasLeft: Bool) {
    let fault = ConnectionFault(code)
    switch fault {
    case .timedOut: self.init(fault.failure, .timedOut)
    case .notConnected, .untrusted, .broken:
      self.init(fault.failure, .broken, hasLeft: hasLeft)
    case .notHTTP: self.init(fault.failure, .notEtcd)
    case .tooLarge: self.init(fault.failure, .tooLarge)
    }
  }
}

extension EtcdFailure {
  /// What the failures of all members mean together; there is at least one.
  ///
  /// That the history is another one is believed only if all members say so. As long as one is
  /// silent, it may be the one that knows better. Of other failures, those that say most come
  /// first.
  static func of(_ failures: [EtcdFailure]) -> EtcdFailure {
    let hasLeft = failures.contains { $0.hasLeft }
    var worst: EtcdFailure?
    for failure in failures where !failure.isOtherHistory {
      if let known = worst, known.rank >= failure.rank { continue }
      worst = failure
    }
    var combined = worst ?? failures.first ?? .foreign
    combined.hasLeft = hasLeft
    return combined
  }

  private var isOtherHistory: Bool { reason == .foreign || reason == .refused(.future) }

  private var rank: Int {
    switch failure {
    case .unreachable: 0
    case .timedOut: 1
    case .unsupported: 2
    case .unauthorized: 3
    case .serverFault, .rateLimited, .expired, .rejected, .malformed, .modelRefused: 4
    }
  }
}

extension RejectionCode {
  /// Our own code: the members are of another cluster than the one that the client knows, or of one
  /// that was restored from a backup.
  static var otherHistory: RejectionCode { RejectionCode("OTHER_HISTORY") }
}

extension EtcdFailure: CustomStringConvertible, CustomReflectable {
  /// "serverFault: refused(unavailable)".
  var description: String { "\(failure): \(reason)" }
  var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
