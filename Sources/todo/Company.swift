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

  /// The line that names those who are present; `nil`: it is not known, because what was read
  /// before the connection was lost does not tell who is here now.
  static func line(_ view: EtcdView, isConnected: Bool) -> String? {
    guard isConnected else { return nil }
    let names = view.entries(under: prefix).compactMap { $0.entry.text.flatMap(name) }
    return "here: " + (names.isEmpty ? "nobody" : names.sorted().joined(separator: ", "))
  }

  /// A name as it may be shown; `nil`: it is none. Another program may have written it.
  static func name(_ text: String) -> String? {
    let plain = Rows.plain(text).trimmingCharacters(in: .whitespaces)
    return plain.isEmpty || plain.count > 40 ? nil : plain
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
