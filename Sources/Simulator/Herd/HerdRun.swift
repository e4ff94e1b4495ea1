internal import UpdateMachine

/// One story, played to its end.
package struct HerdRun: Sendable {
  package let story: HerdStory
  package let settings: HerdSettings
  /// How the herd came back after each cause.
  package private(set) var recoveries: [HerdRecovery] = []
  package private(set) var seconds: [HerdSecond] = []
  package private(set) var events: Int64 = 0
  package private(set) var served: Int64 = 0
  package private(set) var wasted: Int64 = 0
  package private(set) var bytesPerClient = 0

  /// When every story begins: a day after zero, so that all moments are positive.
  static let beginning: UInt32 = 86_400_000

  /// Plays a story.
  ///
  /// - Parameters:
  ///   - whole: whether nothing is left out of a long outage.
  ///   - goesOn: is asked often; told how many seconds of the story have passed.
  /// - Returns: `nil` if `goesOn` has said no.
  package init?(
    _ story: HerdStory, _ settings: HerdSettings, whole: Bool = false,
    while goesOn: (Int64) -> Bool = { _ in true }
  ) {
    self.story = story
    self.settings = settings
    var herd = Herd(settings, at: HerdRun.beginning)
    if let asleep = story.asleep { herd.makeSleeping(for: asleep) } else { herd.makeLive() }
    var isMeasuring = false
    for (at, what) in story.incidents {
      guard HerdRun.go(&herd, to: at, whole: whole, while: goesOn) else { return nil }
      switch what {
      case .stops:
        if isMeasuring { recoveries.append(herd.tally.recovery) }
        isMeasuring = false
        herd.stopServer()
      case .starts: herd.startServer(snapshotsFail: false)
      case .startsBadly: herd.startServer(snapshotsFail: true)
      case .wake(let span): herd.wakeClients(within: span)
      case .over(let begin):
        herd.beginRecovery(from: begin)
        isMeasuring = true
      }
    }
    let end = Int64(herd.now - HerdRun.beginning)
    let last = end + HerdRun.patience(settings)
    while herd.tally.recovery.live100 == nil, Int64(herd.now - HerdRun.beginning) < last {
      let next = Int64(herd.now - HerdRun.beginning) + 1000
      guard HerdRun.go(&herd, to: next, whole: true, while: goesOn) else { return nil }
    }
    // What comes after the last client, such as its first poll, is part of the story.
    let rest = Int64(herd.now - HerdRun.beginning) + 10_000
    guard HerdRun.go(&herd, to: rest, whole: true, while: goesOn) else { return nil }
    recoveries.append(herd.tally.recovery)
    seconds = herd.tally.seconds
    events = herd.tally.events
    served = herd.tally.served
    wasted = herd.tally.wasted
    bytesPerClient = herd.bytesPerClient
  }

  /// How long after the last cause is over all clients must be live. If they are not, the cause has
  /// been outlasted by what it brought about.
  package static func patience(_ settings: HerdSettings) -> Int64 {
    max(3 * settings.shortest, 300_000) + settings.machine.retry.slowCap.milliseconds
  }

  /// Goes on to a time of the story, in milliseconds.
  private static func go(
    _ herd: inout Herd, to time: Int64, whole: Bool, while goesOn: (Int64) -> Bool
  ) -> Bool {
    let end = HerdRun.beginning + UInt32(time)
    let margin = herd.settings.timeUntilSteady
    if !whole, !herd.server.isUp, Int64(end - herd.now) > 2 * margin + 60_000 {
      // To the end of a turn of the wheel.
      let turn = UInt32(1) << TimeWheel.bits
      let first = (herd.now + UInt32(margin) + turn) / turn * turn
      guard herd.run(until: first, while: { goesOn(Int64($0.now - HerdRun.beginning) / 1000) })
      else { return false }
      herd.leaveOut(end - UInt32(margin) - first)
    }
    return herd.run(until: end) { goesOn(Int64($0.now - HerdRun.beginning) / 1000) }
  }
}

extension HerdSettings {
  /// How many milliseconds the server needs for one register of each client.
  package var shortest: Int64 { Int64(clients) * 1000 / server.capacity }

  /// After how many milliseconds without a server all clients wait as long as they ever will.
  var timeUntilSteady: Int64 { 3 * machine.retry.transientCap.milliseconds }
}

extension HerdRun {
  /// The greatest of what came in one second, counted from one second after a cause began to when
  /// all were live, without the first second after it was over.
  package func peak(_ measure: (HerdSecond) -> Int64) -> Int64 {
    var greatest: Int64 = 0
    for recovery in recoveries {
      let first = recovery.begin / 1000 + 1
      let over = recovery.end / 1000
      let last = recovery.live100.map { (recovery.end + $0) / 1000 + 1 } ?? Int64.max
      for second in seconds where second.second >= first && second.second <= last {
        if second.second == over { continue }
        greatest = max(greatest, measure(second))
      }
    }
    return greatest
  }

  /// The most requests that came to the server in a second.
  package var peakRequests: Int64 { peak { $0.requests - $0.unreachable } }

  /// The most work that came in a second, in thousandths of what the server can do.
  package var peakLoad: Int64 {
    peak { $0.work } * 1000 / settings.server.workPerSecond
  }

  /// How many milliseconds after the cause all were live, in the worst case; `nil`: never.
  package func worst(_ moment: (HerdRecovery) -> Int64?) -> Int64? {
    var worst: Int64 = 0
    for recovery in recoveries {
      guard let time = moment(recovery) else { return nil }
      worst = max(worst, time)
    }
    return worst
  }

  /// How many requests a client sent until it was live, in hundredths, on average.
  package var tries: Int64 {
    let returned = recoveries.reduce(0) { $0 + $1.returned }
    return returned == 0 ? 0 : recoveries.reduce(0) { $0 + $1.tries } * 100 / returned
  }

  package var triesMost: Int64 { recoveries.map { $0.triesMost }.max() ?? 0 }

  package func total(_ measure: (HerdSecond) -> Int64) -> Int64 {
    seconds.reduce(0) { $0 + measure($1) }
  }
}
