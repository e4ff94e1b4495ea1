package import MessageSync
package import UpdateMachine

/// Oracle D for pages: limits on what the windows of one client's process may ask of a server,
/// beside the machine's single request.
///
/// In any window *w* there are at most `burst + 1 + w / interval` fetches. The number of open
/// fetches is limited, and no page is fetched twice at once. Nothing is sent before a rate limit's
/// wait is over, whatever else is answered. Repeated failures lead to longer and longer waits. A
/// failed page is not fetched again at once, whichever window asks. After a rejection, that page
/// and everything else of its narrow waits for a long time.
package struct PageBudgetOracle<Narrow: MessageNarrow>: Sendable {
  package typealias Request = PageRequest<Narrow, MessageID>

  private let settings: PageSettings
  /// The moments of the last fetches, oldest first.
  private var begun: [Moment] = []
  private var out: [Question] = []
  private var quietUntil: Moment = .distantPast
  private var pausedUntil: Moment = .distantPast
  private var failures: Int64 = 0
  private var lastFailure: Moment = .distantPast
  /// The pages that may not be fetched yet.
  private var barred: [Bar] = []

  /// An open fetch.
  private struct Question: Sendable {
    var id: RequestID
    var request: Request
    var begun: Moment
  }

  private struct Bar: Sendable {
    var request: Request
    var until: Moment
    /// Whether the bar covers its whole narrow.
    var isOfNarrow: Bool
  }

  /// Twice the largest burst.
  static var memory: Int { 40 }

  package init(settings: PageSettings = PageSettings()) { self.settings = settings }

  // MARK: Fetches

  /// Notes a fetch. If it should not have begun, returns what was expected.
  package mutating func noteFetch(_ id: RequestID, _ request: Request, at now: Moment) -> String? {
    let objection = objection(to: request, at: now)
    begun.append(now)
    if begun.count > PageBudgetOracle.memory { begun.removeFirst() }
    out.append(Question(id: id, request: request, begun: now))
    if let objection { return objection }
    if out.count > settings.fetchesMaximum {
      return "at most \(settings.fetchesMaximum) fetches out, found \(out.count)"
    }
    for (index, first) in begun.enumerated() {
      let count = Int64(begun.count - index)
      let window = (now - first).milliseconds
      let most = settings.retry.paceBurst + 1 + window / settings.retry.paceInterval.milliseconds
      if count > most { return "at most \(most) fetches in \(window) ms, found \(count)" }
    }
    return nil
  }

  private mutating func objection(to request: Request, at now: Moment) -> String? {
    if now < quietUntil { return "no fetch before \(quietUntil), as the server asked" }
    if now < pausedUntil {
      return "no fetch before \(pausedUntil), after \(failures) failures in a row"
    }
    if out.contains(where: { answers($0.request, request) }) {
      return "one fetch for a page, found a second for \(request.want)"
    }
    barred.removeAll { $0.until <= now }
    for bar in barred {
      let isOfNarrow =
        bar.isOfNarrow && request.narrow != nil && bar.request.narrow == request.narrow
      guard isOfNarrow || isAlike(bar.request, request) else { continue }
      return "nothing like \(bar.request.want) before \(bar.until), found \(request.want)"
    }
    return nil
  }

  /// The client took the page of this fetch.
  package mutating func noteTaken(_ id: RequestID) {
    out.removeAll { $0.id == id }
    failures = 0
    lastFailure = .distantPast
    pausedUntil = .distantPast
  }

  /// The client gave a fetch up. That counts as a failure if the fetch had reached its deadline,
  /// but not if all fetches end because the client is no longer live.
  package mutating func noteGivenUp(_ id: RequestID, isLive: Bool = true, at now: Moment) {
    guard let question = out.first(where: { $0.id == id }) else { return }
    if isLive, now >= question.begun + settings.deadline {
      return noteFailure(id, .timedOut, at: now)
    }
    out.removeAll { $0.id == id }
  }

  /// The fetch failed, and the planner was told. A malformed page counts as a failure, too.
  package mutating func noteFailure(_ id: RequestID, _ failure: SyncFailure, at now: Moment) {
    guard let index = out.firstIndex(where: { $0.id == id }) else { return }
    let question = out.remove(at: index)
    switch failure {
    case .rejected:
      let until = now + settings.retry.transientCap
      barred.append(Bar(request: question.request, until: until, isOfNarrow: true))
      return
    case .rateLimited(let after):
      let wait = min(
        max(after ?? .zero, settings.retry.retryAfterFloor), settings.retry.retryAfterCap)
      quietUntil = max(quietUntil, now + wait)
    case .unreachable, .timedOut, .serverFault, .unauthorized, .unsupported, .expired, .malformed,
      .modelRefused:
      let until = question.begun + settings.repeatFirst
      barred.append(Bar(request: question.request, until: until, isOfNarrow: false))
    }
    // Fetches that were open together fail as one.
    guard question.begun > lastFailure else { return }
    lastFailure = now
    failures += 1
    let wait = settings.retry.transientFirst.doubled(
      times: failures - 1, cap: settings.retry.transientCap)
    pausedUntil = now + TimeSpan(milliseconds: wait.milliseconds / 2)
  }

  // MARK: Rest

  /// Checks after a step that no fetch is open beyond its deadline, and none while the client is
  /// not live.
  package func objection(atRest now: Moment, isLive: Bool) -> String? {
    if !isLive, !out.isEmpty { return "no fetch of a generation that is over, found \(out.count)" }
    for question in out where now >= question.begun + settings.deadline {
      return "an end at the deadline, found \(question.request.want) out since \(question.begun)"
    }
    return nil
  }

  // MARK: Helpers

  /// Whether an answer to `one` is also an answer to `other`.
  private func answers(_ one: Request, _ other: Request) -> Bool {
    guard one.narrow == other.narrow else { return false }
    switch (one.want, other.want) {
    case (.item(let id), .item(let another)): return id == another
    case (.about(let anchor, let before, let after), .about(let about, let older, let newer)):
      if anchor != about { return false }
      if older > 0, before == 0 { return false }
      return newer == 0 || after > 0
    case (.item, .about), (.about, .item): return false
    }
  }

  private func isAlike(_ one: Request, _ other: Request) -> Bool {
    answers(one, other) && answers(other, one)
  }
}
