// Pages: the room that decides which pages to fetch for an app's windows, and when. It imports
// nothing.
//
// Pages may use: Knowledge, Machine, Stored, Values.

/// The planner of fetches: it fetches what open windows lack, and nothing else. It never fetches
/// one page twice at once, never loops on an error, and fetches nothing for a closed window.
///
/// Fetches are beside the machine's one request, with waits and a budget of their own (oracle D).
/// They go only while the machine has a finger and the user sees the app. Fetches of one generation
/// are void in the next. Like the machine, the planner takes inputs and returns effects.
@usableFromInline
package struct PagePlanner<Lists: PartialLists>: Sendable {
  @usableFromInline
  package typealias Narrow = Lists.Narrow
  @usableFromInline
  package typealias ID = Lists.ID
  @usableFromInline
  package typealias Request = PageRequest<Narrow, ID>

  @usableFromInline package let settings: PageSettings
  @usableFromInline let incarnation: Incarnation
  /// In the order in which they were opened.
  @usableFromInline var windows: [Window] = []
  /// The narrows of lists that no window shows any more, in the order in which they were left: at
  /// most `PageSettings.unwatchedMaximum`.
  @usableFromInline var unwatched: [Narrow] = []
  @usableFromInline var nextWindow: UInt64 = 1
  /// The fetches that are out, oldest first.
  @usableFromInline var fetches: [Fetch] = []
  @usableFromInline var fetchCount: UInt64 = 0
  /// Requests made before. Some are still wanted, so an answer has not helped. Others have failed,
  /// and may not be repeated yet. Their number is bounded by what is wanted and by the pace.
  @usableFromInline var asked: [Asked] = []
  /// The pace and the backoff of all requests. Its timer wakes the plan.
  @usableFromInline var retry = Retry(.pages)
  /// Set after a failure: nothing is asked before a moment drawn from this range.
  @usableFromInline var pause: MomentRange?
  /// When the last failure was. A fetch that left earlier tells of the same trouble.
  @usableFromInline var lastFailure: Moment = .distantPast
  /// Items to read a second time, and since when they are suspect.
  @usableFromInline var suspects: [(id: ID, since: Moment)] = []

  @usableFromInline
  package struct Window: Equatable, Sendable {
    @usableFromInline package var id: WindowID
    @usableFromInline package var narrow: Narrow
    @usableFromInline package var window: ListWindow<ID>
    /// For a list that cannot be known: whether a page has been shown.
    @usableFromInline var isShown = false
    /// The view last shown.
    @usableFromInline package var view: WindowView<Lists>?
    /// The list as it was seen last.
    @usableFromInline var list = PartialList<ID>()
    /// What the window lacks of it; `nil`: that must be found out.
    @usableFromInline var lacks: [PageQuestion<Narrow, ID>]?

    @inlinable
    package static func == (one: Window, other: Window) -> Bool {
      one.id == other.id && one.narrow == other.narrow && one.window == other.window
        && one.isShown == other.isShown && one.view == other.view
    }

    @inlinable
    init(id: WindowID, narrow: Narrow, window: ListWindow<ID>) {
      self.id = id
      self.narrow = narrow
      self.window = window
    }
  }

  @usableFromInline
  struct Fetch: Sendable {
    @usableFromInline var id: RequestID
    @usableFromInline var request: Request
    @usableFromInline var begun: Moment
    @usableFromInline var deadline: Moment
    @usableFromInline var isAudit: Bool
    /// Whether its page may lack what has been created since it left.
    @usableFromInline var isOutdated = false

    @inlinable
    init(id: RequestID, request: Request, begun: Moment, deadline: Moment, isAudit: Bool) {
      self.id = id
      self.request = request
      self.begun = begun
      self.deadline = deadline
      self.isAudit = isAudit
    }
  }

  @usableFromInline
  struct Asked: Sendable {
    @usableFromInline var request: Request
    @usableFromInline var backoff = Backoff()
    @usableFromInline var last: Moment
    /// It failed. It is remembered until it may be repeated, whether it is wanted meanwhile or not:
    /// a window that comes back does not ask at once (SyncBugs 57).
    @usableFromInline var hasFailed = false
    /// The server rejected it. So it rejects the whole narrow, wherever the window scrolls.
    @usableFromInline var isRejected = false

    @inlinable
    init(request: Request, last: Moment) {
      self.request = request
      self.last = last
    }
  }

  /// Creates a planner. `incarnation` must differ from that of any other planner of the same
  /// client.
  @inlinable
  package init(incarnation: Incarnation, settings: PageSettings = PageSettings()) {
    self.incarnation = incarnation
    self.settings = settings
  }

  /// What happened.
  @usableFromInline
  package enum Input: Sendable {
    /// A window shows another part of its list.
    case moved(WindowID, ListWindow<ID>)
    case closed(WindowID)
    /// A page was given to the lists.
    case answered(RequestID, PageOutcome, anchor: ID?)
    case failed(RequestID, SyncFailure)
    case fired(TimerID)
  }

  /// What to do, in this order.
  @usableFromInline
  package struct Effects: Sendable {
    /// Fetches to give up. Their answers may still come.
    @usableFromInline package var cancel: [RequestID] = []
    /// A timer that must no longer fire.
    @usableFromInline package var disarm: TimerID?
    /// A failure for the app's log: the server refuses what we ask, or sends what we cannot use.
    @usableFromInline package var report: SyncFailure?
    /// Requests to send; each gets one answer or one failure.
    @usableFromInline package var fetch: [(id: RequestID, request: Request)] = []
    /// Feed `fired` once, at a moment drawn from the range.
    @usableFromInline package var arm: TimerArm?
    /// The outcomes of pages that came, for a checker. A host does nothing about them.
    @usableFromInline package var answered: [(id: RequestID, outcome: PageOutcome)] = []

    @inlinable
    package init() {}
  }

  // MARK: Inputs

  /// Opens a window. The list says what there is to show. Call ``plan(_:_:isLive:at:)`` next.
  @inlinable
  package mutating func open(_ narrow: Narrow, _ window: ListWindow<Lists.ID>) -> WindowID {
    let id = WindowID(nextWindow)
    nextWindow += 1
    windows.append(Window(id: id, narrow: narrow, window: window))
    unwatched.removeAll { $0 == narrow }
    return id
  }

  /// Takes the lists of a saved form. Those that no window shows count as left in the order in
  /// which they were opened.
  @inlinable
  package mutating func restored(_ lists: inout Lists) {
    unwatched = lists.narrows.filter { narrow in !windows.contains { $0.narrow == narrow } }
    closeOldest(&lists)
  }

  /// Closes the lists that were left first, until no more are kept than may be. What they knew is
  /// forgotten; what is held stays.
  @inlinable
  mutating func closeOldest(_ lists: inout Lists) {
    unwatched.removeAll { lists.list(of: $0) == nil }
    while unwatched.count > settings.unwatchedMaximum {
      lists.handle(.closed(unwatched.removeFirst()))
    }
  }

  /// Takes one input. `lists` is as it is after the input. Call ``plan(_:_:isLive:at:)`` next.
  @inlinable
  package mutating func note(
    _ input: Input, _ lists: inout Lists, _ effects: inout Effects, at now: Moment
  ) {
    switch input {
    case .moved(let id, let window):
      if let index = windows.firstIndex(where: { $0.id == id }) {
        windows[index].window = window
        windows[index].isShown = false
        windows[index].lacks = nil
      }
    case .closed(let id):
      guard let index = windows.firstIndex(where: { $0.id == id }) else { break }
      let narrow = windows.remove(at: index).narrow
      guard !windows.contains(where: { $0.narrow == narrow }) else { break }
      unwatched.append(narrow)
      closeOldest(&lists)
    case .answered(let id, let outcome, let anchor):
      effects.answered.append((id, outcome))
      answered(id, outcome, anchor, &effects, at: now)
    case .failed(let id, let failure):
      lists.handle(.fetchAbandoned(id))
      failed(id, failure, &effects, at: now)
    case .fired(let id): _ = retry.take(fired: id)
    }
  }

  @inlinable
  mutating func answered(
    _ id: RequestID, _ outcome: PageOutcome, _ anchor: ID?, _ effects: inout Effects,
    at now: Moment
  ) {
    guard let index = fetches.firstIndex(where: { $0.id == id }) else { return }
    let fetch = fetches.remove(at: index)
    switch outcome {
    case .taken, .shown:
      retry.transient.reset()
      pause = nil
      lastFailure = .distantPast
    case .malformed:
      effects.report = .malformed
      noteFailure(of: fetch)
      takePause(for: fetch, at: now)
    case .absorbed: break
    }
    guard outcome == .taken || outcome == .shown, case .about(let about, _, _) = fetch.request.want
    else { return }
    for index in windows.indices where windows[index].narrow == fetch.request.narrow {
      guard windows[index].window.anchor == about else { continue }
      windows[index].isShown = outcome == .shown && !fetch.isOutdated
      if about == .serverChosen {
        windows[index].window.anchor = anchor.map { .id($0) } ?? .newest
        windows[index].lacks = nil
      }
    }
  }

  @inlinable
  mutating func failed(
    _ id: RequestID, _ failure: SyncFailure, _ effects: inout Effects, at now: Moment
  ) {
    guard let index = fetches.firstIndex(where: { $0.id == id }) else { return }
    let fetch = fetches.remove(at: index)
    switch failure {
    case .rejected:
      // The server rejects this one request; it may accept others.
      effects.report = failure
      let index = noteFailure(of: fetch)
      asked[index].backoff = Backoff(exponent: Backoff.exponentMaximum)
      asked[index].last = now
      asked[index].isRejected = true
    case .rateLimited(let after):
      let earlier = retry.notBefore
      retry.quieten(for: after, at: now, settings.retry)
      retry.notBefore = max(earlier, retry.notBefore)
      takePause(for: fetch, at: now)
    case .malformed, .unsupported, .modelRefused:
      effects.report = failure
      noteFailure(of: fetch)
      takePause(for: fetch, at: now)
    case .unreachable, .timedOut, .serverFault, .unauthorized, .expired:
      noteFailure(of: fetch)
      takePause(for: fetch, at: now)
    }
  }

  @discardableResult
  @inlinable
  mutating func noteFailure(of fetch: Fetch) -> Int {
    let found = asked.firstIndex { $0.request.asksLike(fetch.request) }
    // It is forgotten as soon as only part of what it asks for is wanted.
    if found == nil { asked.append(Asked(request: fetch.request, last: fetch.begun)) }
    let index = found ?? asked.count - 1
    asked[index].hasFailed = true
    return index
  }

  /// Pauses all requests, for longer after each failure. Fetches that were out together when the
  /// first of them failed count as one failure.
  @inlinable
  mutating func takePause(for fetch: Fetch, at now: Moment) {
    guard fetch.begun > lastFailure else { return }
    lastFailure = now
    let wait = retry.takeTransient(settings.retry)
    pause = MomentRange(from: now + TimeSpan.milliseconds(wait.milliseconds / 2), to: now + wait)
  }

  /// Reads the shown lists again that cannot be known. What is known needs no new page. A page that
  /// is on its way may be older than the news, so it is not the last.
  @inlinable
  package mutating func refreshSnapshots() {
    for index in windows.indices { windows[index].isShown = false }
    for index in fetches.indices { fetches[index].isOutdated = true }
  }

  // MARK: The plan

  /// Plans what to fetch now. Runs after every input of the client. Opens lists and begins fetches.
  /// `isLive`: pages are fetched at all, because there is a finger and the user sees the app.
  @inlinable
  package mutating func plan(
    _ lists: inout Lists, _ effects: inout Effects, isLive: Bool, at now: Moment
  ) {
    guard isLive else {
      giveAllUp(&effects)
      return lists.handle(.fetchesAbandoned)
    }
    let wants = wants(&lists, at: now)
    giveUp(but: wants, &lists, &effects, at: now)
    asked = asked.filter { old in
      old.hasFailed && now < old.last + wait(old) || wants.contains(old.request.question)
    }
    if let pause, isOver(pause, at: now) { self.pause = nil }
    if let quiet, isOver(quiet, at: now) { retry.notBefore = .distantPast }
    var due = begin(wants, &lists, &effects, at: now)
    for fetch in fetches { due.append(MomentRange(at: fetch.deadline)) }
    for suspect in suspects {
      let next = suspect.since + settings.secondReadingAfter
      if now < next { due.append(MomentRange(at: next)) }
    }
    arm(due, &effects)
  }

  /// Gives up all fetches. Failures are remembered, because fetching may soon go on.
  @inlinable
  mutating func giveAllUp(_ effects: inout Effects) {
    effects.cancel = fetches.map { $0.id }
    fetches = []
    asked.removeAll { !$0.hasFailed }
    suspects = []
    for index in windows.indices { windows[index].isShown = false }
    effects.disarm = retry.disarm()
  }

  /// Whether a range is over: at the drawn moment or, without a timer, at the first.
  @inlinable
  func isOver(_ range: MomentRange, at now: Moment) -> Bool {
    now >= range.earliest && (retry.timer == nil || now >= range.latest)
  }

  /// How long after its last time a request may be repeated.
  @inlinable
  func wait(_ question: Asked) -> TimeSpan {
    question.backoff.next(first: settings.repeatFirst, cap: settings.retry.transientCap)
  }

  /// The requests that are wanted now, the most urgent first, each once.
  @usableFromInline
  struct Wants: Sendable {
    @usableFromInline var all: [(request: Request, isAudit: Bool)] = []
    @usableFromInline var places: [PageQuestion<Narrow, ID>: Int] = [:]

    @inlinable
    init() {}

    @inlinable
    mutating func add(_ question: PageQuestion<Narrow, ID>, isAudit: Bool = false) {
      guard let place = places[question] else {
        places[question] = all.count
        return all.append((question.request, isAudit))
      }
      // One answer serves both, but only a second reading mends a suspect item.
      if isAudit { all[place].isAudit = true }
    }

    @inlinable
    func contains(_ question: PageQuestion<Narrow, ID>) -> Bool { places[question] != nil }
  }

  @inlinable
  mutating func wants(_ lists: inout Lists, at now: Moment) -> Wants {
    var wants = Wants()
    for index in windows.indices {
      let narrow = windows[index].narrow
      if lists.open(narrow, as: &windows[index].list) || windows[index].lacks == nil {
        let wants = windows[index].list.excerpt(of: windows[index].window).wants
        windows[index].lacks = wants.map { Request($0, of: narrow).question }
      }
      if windows[index].isShown {
        guard lists.canBeKnown(narrow) else { continue }
        windows[index].isShown = false
      }
      for question in windows[index].lacks ?? [] { wants.add(question) }
    }
    for id in lists.doubtful { wants.add(Request(id).question) }
    suspects = lists.suspects.map { id in
      (id, suspects.first { $0.id == id }?.since ?? now)
    }
    // It stays wanted until it leaves, because other waits may hold it back.
    for (id, since) in suspects where now >= since + settings.secondReadingAfter {
      wants.add(Request(id).question, isAudit: true)
    }
    return wants
  }

  /// Gives up fetches that are no longer wanted, or that take too long.
  @inlinable
  mutating func giveUp(
    but wants: Wants, _ lists: inout Lists, _ effects: inout Effects, at now: Moment
  ) {
    let open = lists.openFetches
    for fetch in fetches {
      let isWanted = fetch.isAudit || wants.all.contains { fetch.request.covers($0.request) }
      let isLate = now >= fetch.deadline
      guard !isWanted || isLate || !open.contains(fetch.id) else { continue }
      effects.cancel.append(fetch.id)
      lists.handle(.fetchAbandoned(fetch.id))
      if isLate { failed(fetch.id, .timedOut, &effects, at: now) }
      fetches.removeAll { $0.id == fetch.id }
    }
  }

  /// Begins what may begin; returns when there may be more to begin.
  @inlinable
  mutating func begin(
    _ wants: Wants, _ lists: inout Lists, _ effects: inout Effects, at now: Moment
  ) -> [MomentRange] {
    var due: [MomentRange] = []
    for (request, isAudit) in wants.all {
      if fetches.contains(where: { $0.request.covers(request) }) { continue }
      if let hold { return due + [hold] }
      guard fetches.count < settings.fetchesMaximum else { return due }
      if let next = notBefore(request), now < next {
        due.append(MomentRange(at: next))
        continue
      }
      let ready = retry.ready(settings.retry)
      if now < ready { return due + [MomentRange(at: ready)] }
      retry.spend(at: now, settings.retry)
      noteAsked(request, at: now)
      fetchCount += 1
      let id = RequestID(incarnation: incarnation, part: .pages, number: fetchCount)
      lists.handle(.fetchBegan(id, request, isAudit: isAudit))
      fetches.append(
        Fetch(
          id: id, request: request, begun: now, deadline: now + settings.deadline,
          isAudit: isAudit))
      effects.fetch.append((id, request))
    }
    return due
  }

  /// Set after a retry-after: nothing is asked before a moment drawn from this range, whatever else
  /// is answered. A range, because the server told all clients the same moment.
  @usableFromInline var quiet: MomentRange? {
    let end = retry.notBefore
    guard end > .distantPast else { return nil }
    return MomentRange(from: end, to: end + settings.retry.transientFirst)
  }

  /// Until when nothing at all is asked.
  @usableFromInline var hold: MomentRange? {
    guard let pause, let quiet else { return pause ?? quiet }
    return pause.latest < quiet.latest ? quiet : pause
  }

  /// Before this moment a request is not sent, because it was sent before, or because another
  /// request of its narrow was rejected.
  @inlinable
  func notBefore(_ request: Request) -> Moment? {
    var next: Moment?
    for old in asked {
      let isRejectedNarrow =
        old.isRejected && request.narrow != nil && old.request.narrow == request.narrow
      guard isRejectedNarrow || old.request.asksLike(request) else { continue }
      next = max(next ?? .distantPast, old.last + wait(old))
    }
    return next
  }

  @inlinable
  mutating func noteAsked(_ request: Request, at now: Moment) {
    guard let earlier = asked.firstIndex(where: { $0.request.asksLike(request) }) else {
      return asked.append(Asked(request: request, last: now))
    }
    asked[earlier].backoff.lengthen()
    asked[earlier].last = now
    asked[earlier].hasFailed = false
    asked[earlier].isRejected = false
  }

  /// Arms the timer for the first of these.
  @inlinable
  mutating func arm(_ due: [MomentRange], _ effects: inout Effects) {
    var first = due.first
    for range in due where range.latest < first!.latest { first = range }
    if let armed = retry.timer, armed.latest == first?.latest { return }
    effects.disarm = retry.disarm()
    if let first { effects.arm = retry.arm(first) }
  }

  // MARK: Queries

  /// The windows that are open, oldest first.
  @inlinable
  package var openWindows: [WindowID] { windows.map { $0.id } }

  /// The list and the part of it that a window shows; `nil`: it is not open.
  @inlinable
  package func window(_ id: WindowID) -> (narrow: Narrow, window: ListWindow<ID>)? {
    windows.first { $0.id == id }.map { ($0.narrow, $0.window) }
  }

  /// Whether a fetch is out.
  @inlinable
  package func isOut(_ id: RequestID) -> Bool { fetches.contains { $0.id == id } }

  /// How many fetches are out.
  @inlinable
  package var fetchesOut: Int { fetches.count }

  /// How many requests it remembers, so that none is repeated too soon.
  @inlinable
  var questionsRemembered: Int { asked.count }
}
