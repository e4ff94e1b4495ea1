internal import UpdateMachine

/// Oracles E and G: an answer that nobody awaits changes nothing, whether it is late, from another
/// process, or a second copy. At most it releases the queue of a snapshot.
enum SupersededOracle {
  static func holds<Place: Finger>(
    before: Machine<Place>, after: Machine<Place>, effects: Machine<Place>.Effects
  ) -> Bool {
    var rest = effects
    rest.release = nil
    return rest.isEmpty && before == after
  }
}
