import Simulator
import UpdateMachine

/// Says why a goal is missed, and what would help.
enum HerdAdvice {
  /// One line for each reason, in the order of the rows. Other policies than ours get none.
  static func lines(_ rows: [HerdRow]) -> [String] {
    var lines: [String] = []
    for row in rows where row.run.settings.policy == .ours {
      let missed = row.run.missed
      if missed.contains(.peak) { lines.append("\(row.story), \(row.label): " + peak(row.run)) }
      if missed.contains(where: { $0 != .peak }), let reason = others(row.run) {
        lines.append("\(row.story), \(row.label): " + reason)
      }
    }
    return lines
  }

  /// The spread that a server of this capacity needs, in seconds: 1.2 clients ÷ C, rounded up.
  static func spread(_ settings: HerdSettings) -> Int64 { (settings.shortest * 12 + 9999) / 10_000 }

  private static func peak(_ run: HerdRun) -> String {
    let settings = run.settings
    let retry = settings.machine.retry
    if settings.server.capacity < 500, run.peakLoad < 2000 {
      return "chance: with so few registers a second, one second has many more than another"
    }
    switch run.story.name {
    case .restart, .deploys:
      let wanted = spread(settings)
      guard settings.machine.spread < .seconds(wanted) else {
        return "those who were refused came back while others still came for the first time"
      }
      return """
        all come back within spread, \(settings.machine.spread); the server needs \
        \(HerdTable.seconds(settings.shortest)) s. Try --settings spread=\(wanted)
        """
    case .outage
    where settings.server.lifetime > 3_610_000
      && settings.machine.spread < .seconds(spread(settings)):
      return """
        the server keeps logs for longer than the outage, so clients come back within spread, \
        \(settings.machine.spread). Try --settings spread=\(spread(settings))
        """
    case .outage:
      return """
        the logs were older than their lifetime, so no spread: all register within transientCap, \
        \(retry.transientCap). Try --lifetime 7200 --settings spread=\(spread(settings))
        """
    case .badRelease:
      let attempts = Int64(settings.clients) * 2000 / max(retry.slowCap.milliseconds, 1)
      return """
        a register that fails is tried again within slowCap, \(retry.slowCap), in the mean after half \
        of it: \(HerdTable.grouped(attempts)) registers a second, and more at first. Only the good \
        release helps
        """
    case .popularClock:
      return """
        a client that was away for longer than its log's lifetime registers at once, whatever the \
        settings. Only the server can spread them, as it does with --shedding slots
        """
    }
  }

  private static func others(_ run: HerdRun) -> String? {
    guard run.settings.server.shedding != .slots else { return nil }
    return """
      a server that sheds without saying when there will be time is asked again and again, or too \
      late. Try --shedding slots
      """
  }
}
