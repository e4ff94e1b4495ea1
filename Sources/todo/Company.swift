import EtcdSync
import Foundation
import UpdateMachine

/// Who else has the list open, as far as they have given a name.
///
/// Each has a key under `here/` that goes with its program: a key with a lease.
enum Company {
  /// What all keys of those present begin with.
  private static let prefix = EtcdKey("here/")

  /// How long the others see a user whose program was killed.
  static let timeToLive = TimeSpan.seconds(10)

  /// A key for this run, which nobody else draws.
  static func newKey() -> EtcdKey { EtcdKey("here/\(UUID().uuidString.prefix(8))") }

  /// The line that names those who are present; `nil`: there is nobody. What was read earlier does
  /// not tell who is here now, so without a connection nobody is named.
  static func line(_ view: EtcdView, isConnected: Bool) -> String? {
    guard isConnected else { return nil }
    let names = view.entries(under: prefix).compactMap { $0.entry.text }.map(Rows.plain)
    return names.isEmpty ? nil : "here: " + names.sorted().joined(separator: ", ")
  }

  /// Why the others do not see this user.
  static func words(_ error: EtcdPresenceError) -> String {
    let reason =
      switch error {
      case .keyIsTaken, .reservedKey: "something else has the key"
      case .refused(.unauthorized): "the cluster refuses the user or the password"
      case .refused(let failure): "the cluster refuses it (\(failure))"
      }
    return "the others do not see that you are here: \(reason)"
  }
}
