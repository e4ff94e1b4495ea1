/// Why a saved form cannot be read. The client starts without it, and it is kept aside.
public enum StoredFormError: Error, Hashable, Sendable {
  /// The form is damaged, cut off, or not ours. `expected` is for the app's log. It never says what
  /// was found, which is the user's.
  case damaged(expected: String)
  /// A later version of the app or the library wrote it.
  case newer(version: UInt64)

  /// Creates a `damaged` error. The text must not contain what was found.
  @inlinable
  package init(expected: String) { self = .damaged(expected: expected) }
}

extension StoredFormError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .damaged(let expected): "the saved form is damaged: expected \(expected)"
    case .newer(let version): "the saved form is of a newer version, \(version)"
    }
  }
}
