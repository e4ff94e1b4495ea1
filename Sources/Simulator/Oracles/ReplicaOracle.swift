internal import UpdateMachine

/// Oracle A: at finger f the model equals the server's state at f.
///
/// The server remembers the state for every event ID of every queue it ever made. So the finger
/// alone determines the model. This catches lost, repeated, reordered and foreign events, snapshots
/// that do not fit their finger, and invented fingers.
enum ReplicaOracle {
  /// - Parameters:
  ///   - expected: the checksum of the server's state at the finger; `nil` if the server never gave
  ///     that finger.
  ///   - found: the checksum of the model; `nil` if no model is held.
  static func holds(expected: UInt64?, found: UInt64?) -> Bool {
    guard let expected, let found else { return false }
    return expected == found
  }
}
