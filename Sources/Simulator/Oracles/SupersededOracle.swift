internal import UpdateMachine

/// Oracles E and G: an answer that is not awaited, because it is late, because it belongs to another
/// life, or because it was given already, changes nothing. At most, the queue that a snapshot brought
/// is let go.
enum SupersededOracle {
  static func holds<Place: Finger>(
    before: Machine<Place>, after: Machine<Place>, effects: Machine<Place>.Effects
  ) -> Bool {
    var rest = effects
    rest.release = nil
    return rest.isEmpty && before == after
  }
}
