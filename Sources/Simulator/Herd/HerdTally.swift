/// What a server saw in one second.
package struct HerdSecond: Equatable, Sendable {
  /// The second, counted from the beginning of the story; negative ones do not exist.
  package var second: Int64
  /// Requests that came, or would have come if the server could be reached.
  package var registers: Int64 = 0
  package var polls: Int64 = 0
  /// Of these, those that were refused or never answered, for want of time.
  package var shed: Int64 = 0
  /// Of these, those that found no server.
  package var unreachable: Int64 = 0
  /// What it would have taken to do all that came, in the server's measure of work.
  package var work: Int64 = 0
  /// How many clients were live at its end.
  package var live: Int64 = 0
  /// How many requests waited at its end.
  package var waiting: Int64 = 0

  package var requests: Int64 { registers + polls }
}

/// How a herd came back after one cause of trouble.
package struct HerdRecovery: Equatable, Sendable {
  /// When the cause began and ended, in milliseconds from the beginning of the story.
  package var begin: Int64
  package var end: Int64
  /// How many milliseconds after the cause so many percent of the clients were live; `nil`: never.
  package var live50: Int64?
  package var live99: Int64?
  package var live100: Int64?
  /// How many requests the clients sent from the cause's end until each was live: in all, and the
  /// most of one client. 255 stands for more, too.
  package var tries: Int64 = 0
  package var triesMost: Int64 = 0
  /// How many clients have come back.
  package var returned: Int64 = 0
}

/// Counts what happens to a herd, second by second.
package struct HerdTally: Equatable, Sendable {
  let clients: Int64
  /// When the story began.
  var origin: UInt32 = 0
  /// Inputs that machines have handled, and requests that came to the server.
  package internal(set) var events: Int64 = 0
  package internal(set) var live: Int64 = 0
  /// Requests that the server has done, and those that it did for clients which had given up.
  package internal(set) var served: Int64 = 0
  package internal(set) var wasted: Int64 = 0
  package internal(set) var seconds: [HerdSecond] = []
  package internal(set) var recovery = HerdRecovery(begin: 0, end: 0)
  private var current = HerdSecond(second: 0)

  init(clients: Int) { self.clients = Int64(clients) }

  mutating func noteTime(_ now: UInt32, waiting: Int) {
    guard (now - origin) % 1000 == 0 else { return }
    current.live = live
    current.waiting = Int64(waiting)
    seconds.append(current)
    current = HerdSecond(second: Int64((now - origin) / 1000))
  }

  /// So much time is left out.
  mutating func leaveOut(_ milliseconds: UInt32) {
    let next = current.second + Int64(milliseconds / 1000)
    seconds.append(current)
    current = HerdSecond(second: next)
  }

  /// From here on, it is counted how the herd comes back.
  mutating func begin(_ recovery: HerdRecovery) { self.recovery = recovery }

  mutating func noteLive(at now: UInt32, tries: UInt8) {
    live += 1
    recovery.returned += 1
    recovery.tries += Int64(tries)
    recovery.triesMost = max(recovery.triesMost, Int64(tries))
    let after = Int64(now - origin) - recovery.end
    if recovery.live50 == nil, live * 2 >= clients { recovery.live50 = after }
    if recovery.live99 == nil, live * 100 >= clients * 99 { recovery.live99 = after }
    if recovery.live100 == nil, live == clients { recovery.live100 = after }
  }

  mutating func note(_ verdict: HerdServer.Verdict, isRegister: Bool, _ server: HerdServer) {
    events += 1
    if isRegister { current.registers += 1 } else { current.polls += 1 }
    var work = server.work(of: isRegister)
    switch verdict {
    case .unreachable:
      current.unreachable += 1
      work = 0
    case .refused, .hangs: current.shed += 1
    case .gone: work = server.settings.refusalWork
    case .served, .waits: break
    }
    current.work += work
  }
}
