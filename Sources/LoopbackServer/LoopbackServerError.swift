/// The reason why a server could not start. All its resources are released.
public enum LoopbackServerError: Error, Hashable, Sendable {
  /// Another process listens on this port. Choose another port, or 0 for any that is free.
  case portInUse(UInt16)
  /// This port is for privileged processes. Choose one from 1024, or 0.
  case notPermitted(port: UInt16)
  /// The process or the system has no descriptors or threads left. Close some, or raise the limit.
  case exhausted(reason: String)
  /// The system refused for another reason.
  case failed(reason: String)
}

extension LoopbackServerError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .portInUse(let port):
      "Port \(port) of this computer's own address is in use. Choose another, or 0 for any that is free."
    case .notPermitted(let port):
      "Port \(port) is for privileged processes. Choose one from 1024, or 0 for any that is free."
    case .exhausted(let reason):
      "The server cannot be started (\(reason)). Close some files, or raise the limit."
    case .failed(let reason): "The server cannot be started (\(reason))."
    }
  }
}
