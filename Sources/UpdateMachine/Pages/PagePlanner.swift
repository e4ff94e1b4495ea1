// Pages: the room that decides which pages to fetch for the windows that an app looks through, and
// when. It may use Machine, Messages and everything below.

/// Fetches what open windows lack, and nothing else: never one page twice at once, never in a loop on
/// an error, nothing for a window that went away.
///
/// Fetches are outside of the machine's one request, with waits and a budget of their own (oracle D).
/// They go only while the machine has a finger: what was asked for in one generation is void in the
/// next. Like the machine, the planner is told what happened, and says what to do.
public struct PagePlanner<Narrow: MessageNarrow>: Sendable {
  public typealias Store = MessageStore<Narrow>
  public typealias Request = PageRequest<Narrow>

  public let settings: PageSettings
  @usableFromInline let life: Life
  /// In the order in which they were opened.
  @usableFromInline var windows: [Window] = []
  @usableFromInline var nextWindow: UInt64 = 1
  /// Those that are out, oldest first.
  @usableFromInline var fetches: [Fetch] = []
  @usableFromInline var fetchCount: UInt64 = 0
  /// What was asked for before and is wanted still: an answer has not helped.
  @usableFromInline var asked: [Asked] = []
  @usableFromInline var backoff = Backoff()
  /// Nothing is asked before a moment in it.
  @usableFromInline var pause: MomentRange?
  @usableFromInline var pace = Allowance()
  /// Since when there has been something to read a second time.
  @usableFromInline var suspectSince: Moment?
  @usableFromInline var timer: (id: TimerID, range: MomentRange)?
  @usableFromInline var timerCount: UInt64 = 0

  @usableFromInline
  struct Window: Sendable {
    @usableFromInline var id: WindowID
    @usableFromInline var narrow: Narrow
    @usableFromInline var window: ListWindow
    /// Of a list that cannot be known: a page has been shown.
    @usableFromInline var isShown = false

    @inlinable
    init(id: WindowID, narrow: Narrow, window: ListWindow) {
      self.id = id
      self.narrow = narrow
      self.window = window
    }
  }

  @usableFromInline
  struct Fetch: Sendable {
    @usableFromInline var id: FetchID
    @usableFromInline var request: Request
    @usableFromInline var deadline: Moment
    @usableFromInline var isAudit: Bool

    @inlinable
    init(id: FetchID, request: Request, deadline: Moment, isAudit: Bool) {
      self.id = id
      self.request = request
      self.deadline = deadline
      self.isAudit = isAudit
    }
  }

  @usableFromInline
  struct Asked: Sendable {
    @usableFromInline var request: Request
    @usableFromInline var backoff = Backoff()
    @usableFromInline var last: Moment

    @inlinable
    init(request: Request, last: Moment) {
      self.request = request
      self.last = last
    }
  }

  /// The life is one that no other planner of the same client ever had.
  @inlinable
  public init(life: Life, settings: PageSettings = PageSettings()) {
    self.life = life
    self.settings = settings
  }

  /// What happened.
  public enum Input: Sendable {
    /// The app wants to see something else through a window.
    case moved(WindowID, ListWindow)
    case closed(WindowID)
    /// A page was given to the store.
    case answered(FetchID, Store.PageOutcome, anchor: MessageID?)
    case failed(FetchID, SyncFailure)
    case fired(TimerID)
    /// The store has changed, or the machine has: an event, a snapshot, a finger that is gone.
    case changed
  }

  /// What to do, in this order.
  public struct Effects: Sendable {
    /// Fetches to give up. Their answers may come all the same.
    public var cancel: [FetchID] = []
    /// The timer that must not fire any more.
    public var disarm: TimerID?
    /// Questions to send; each gets one answer, or one failure.
    public var fetch: [(id: FetchID, request: Request)] = []
    /// Feed `fired` once, at a moment drawn from the range.
    public var arm: (timer: TimerID, range: MomentRange)?

    @inlinable
    init() {}
  }

  // MARK: Inputs

  /// An app begins to look at a list. What there is to show, the store's list says.
  @inlinable
  public mutating func open(
    _ narrow: Narrow, _ window: ListWindow, _ store: inout Store, isLive: Bool, at now: Moment
  ) -> (WindowID, Effects) {
    let id = WindowID(nextWindow)
    nextWindow += 1
    windows.append(Window(id: id, narrow: narrow, window: window))
    return (id, plan(&store, isLive: isLive, at: now))
  }

  /// Takes one input; returns what to do about it. The store is as it is after the input; lists are
  /// opened in it, and fetches begun. It is live while there is a finger.
  @inlinable
  public mutating func handle(
    _ input: Input, _ store: inout Store, isLive: Bool, at now: Moment
  ) -> Effects {
    switch input {
    case .moved(let id, let window):
      if let index = windows.firstIndex(where: { $0.id == id }) {
        windows[index].window = window
        windows[index].isShown = false
      }
    case .closed(let id): windows.removeAll { $0.id == id }
    case .answered(let id, let outcome, let anchor): answered(id, outcome, anchor, at: now)
    case .failed(let id, let failure):
      store.abandon(id)
      failed(id, failure, at: now)
    case .fired(let id):
      guard timer?.id == id else { return Effects() }  // Disarmed, and on its way already.
      timer = nil
    case .changed: break
    }
    return plan(&store, isLive: isLive, at: now)
  }

  @inlinable
  mutating func answered(
    _ id: FetchID, _ outcome: Store.PageOutcome, _ anchor: MessageID?, at now: Moment
  ) {
    guard let index = fetches.firstIndex(where: { $0.id == id }) else { return }
    let request = fetches.remove(at: index).request
    switch outcome {
    case .taken, .shown:
      backoff.reset()
      pause = nil
    case .malformed: takePause(at: now)
    case .absorbed: break
    }
    guard outcome == .taken || outcome == .shown, case .about(let about, _, _) = request.want
    else { return }
    for index in windows.indices where windows[index].narrow == request.narrow {
      guard windows[index].window.anchor == about else { continue }
      windows[index].isShown = true
      if about == .firstUnread { windows[index].window.anchor = anchor.map { .id($0) } ?? .newest }
    }
  }

  @inlinable
  mutating func failed(_ id: FetchID, _ failure: SyncFailure, at now: Moment) {
    guard let index = fetches.firstIndex(where: { $0.id == id }) else { return }
    let request = fetches.remove(at: index).request
    switch failure {
    case .rejected:
      // This one question is not liked; others may be.
      if let index = asked.firstIndex(where: { $0.request.asksLike(request) }) {
        asked[index].backoff = Backoff(exponent: Backoff.exponentMaximum)
      }
    case .rateLimited(let after):
      let wait = min(max(after ?? .zero, settings.retryFirst), settings.retryAfterMaximum)
      takePause(at: now)
      pause = MomentRange(from: now + wait, to: now + wait + settings.retryFirst)
    case .unreachable, .timedOut, .serverFault, .unauthorized, .unsupported, .expired, .malformed,
      .modelRefused:
      takePause(at: now)
    }
  }

  @inlinable
  mutating func takePause(at now: Moment) {
    let wait = backoff.take(first: settings.retryFirst, cap: settings.retryMaximum)
    pause = MomentRange(from: now + TimeSpan.milliseconds(wait.milliseconds / 2), to: now + wait)
  }

  // MARK: The plan

  @inlinable
  mutating func plan(_ store: inout Store, isLive: Bool, at now: Moment) -> Effects {
    var effects = Effects()
    guard isLive else {
      effects.cancel = fetches.map { $0.id }
      fetches = []
      asked = []
      suspectSince = nil
      for index in windows.indices { windows[index].isShown = false }
      store.abandonFetches()
      effects.disarm = timer?.id
      timer = nil
      return effects
    }
    let (wants, wanted) = wants(&store, at: now)
    giveUp(but: wanted, &store, &effects, at: now)
    asked.removeAll { !wanted.contains($0.request.likeness) }
    if let pause, now >= pause.earliest, timer == nil || now >= pause.latest { self.pause = nil }
    var due = begin(wants, &store, &effects, at: now)
    for fetch in fetches { due.append(MomentRange(at: fetch.deadline)) }
    if let suspectSince {
      due.append(MomentRange(at: suspectSince + settings.secondReadingAfter))
    }
    arm(due, &effects, after: now)
    return effects
  }

  /// What is wanted now, the most urgent first, each once; and their likenesses.
  @inlinable
  mutating func wants(
    _ store: inout Store, at now: Moment
  ) -> ([(request: Request, isAudit: Bool)], Set<Request>) {
    var wants: [(request: Request, isAudit: Bool)] = []
    var wanted: Set<Request> = []
    func want(_ request: Request, isAudit: Bool = false) {
      if wanted.insert(request.likeness).inserted { wants.append((request, isAudit)) }
    }
    for window in windows {
      store.open(window.narrow)
      guard let list = store.list(of: window.narrow) else { continue }
      if !store.canBeKnown(window.narrow), window.isShown { continue }
      for page in list.excerpt(of: window.window).wants { want(Request(page, of: window.narrow)) }
    }
    for id in store.doubtful { want(Request(id)) }
    let suspects = store.suspects
    if suspects.isEmpty {
      suspectSince = nil
    } else if let since = suspectSince {
      if now >= since + settings.secondReadingAfter {
        for id in suspects { want(Request(id), isAudit: true) }
        suspectSince = nil
      }
    } else {
      suspectSince = now
    }
    return (wants, wanted)
  }

  /// Fetches that nobody waits for any more, or that take too long.
  @inlinable
  mutating func giveUp(
    but wanted: Set<Request>, _ store: inout Store, _ effects: inout Effects, at now: Moment
  ) {
    let open = store.openFetches
    for fetch in fetches {
      let isWanted = fetch.isAudit || wanted.contains(fetch.request.likeness)
      let isLate = now >= fetch.deadline
      guard !isWanted || isLate || !open.contains(fetch.id) else { continue }
      effects.cancel.append(fetch.id)
      store.abandon(fetch.id)
      if isLate { failed(fetch.id, .timedOut, at: now) }
      fetches.removeAll { $0.id == fetch.id }
    }
  }

  /// Begins what may be begun; returns when there may be more to begin.
  @inlinable
  mutating func begin(
    _ wants: [(request: Request, isAudit: Bool)], _ store: inout Store, _ effects: inout Effects,
    at now: Moment
  ) -> [MomentRange] {
    var due: [MomentRange] = []
    for (request, isAudit) in wants {
      if fetches.contains(where: { $0.request.asksLike(request) }) { continue }
      if let pause { return due + [pause] }
      guard fetches.count < settings.fetchesMaximum else { return due }
      let earlier = asked.firstIndex { $0.request.asksLike(request) }
      if let earlier {
        let wait = asked[earlier].backoff.next(
          first: settings.repeatFirst, cap: settings.retryMaximum)
        let next = asked[earlier].last + wait
        if now < next {
          due.append(MomentRange(at: next))
          continue
        }
      }
      let ready = pace.ready(burst: settings.burst, interval: settings.interval)
      if now < ready { return due + [MomentRange(at: ready)] }
      pace.spend(at: now, interval: settings.interval)
      if let earlier {
        asked[earlier].backoff.lengthen()
        asked[earlier].last = now
      } else {
        asked.append(Asked(request: request, last: now))
      }
      fetchCount += 1
      let id = FetchID(life: life, number: fetchCount)
      store.begin(id, request, isAudit: isAudit)
      fetches.append(
        Fetch(id: id, request: request, deadline: now + settings.deadline, isAudit: isAudit))
      effects.fetch.append((id, request))
    }
    return due
  }

  /// Wakes at the first of these.
  @inlinable
  mutating func arm(_ due: [MomentRange], _ effects: inout Effects, after now: Moment) {
    var first = due.first
    for range in due where range.latest < first!.latest { first = range }
    if let timer, timer.range == first { return }
    effects.disarm = timer?.id
    timer = nil
    guard let first else { return }
    timerCount += 1
    let id = TimerID(timerCount)
    timer = (id, first)
    effects.arm = (id, first)
  }

  // MARK: Queries

  /// The windows that are open, oldest first.
  @inlinable
  public var openWindows: [WindowID] { windows.map { $0.id } }

  /// What is seen through a window now: which list, and which part of it.
  @inlinable
  public func window(_ id: WindowID) -> (narrow: Narrow, window: ListWindow)? {
    windows.first { $0.id == id }.map { ($0.narrow, $0.window) }
  }

  /// How many fetches are out.
  @inlinable
  public var fetchesOut: Int { fetches.count }
}

/// How eagerly pages are fetched.
public struct PageSettings: Hashable, Sendable {
  /// So many fetches at once: more compete with each other, and with the machine's own request.
  public var fetchesMaximum = 4
  /// After so long without an answer a fetch has failed.
  public var deadline = TimeSpan.seconds(30)
  /// The waits after failures double from here …
  public var retryFirst = TimeSpan.milliseconds(500)
  /// … to here.
  public var retryMaximum = TimeSpan.seconds(60)
  /// No server keeps us waiting for longer.
  public var retryAfterMaximum = TimeSpan.seconds(600)
  /// What an answer did not help is asked again after this, then after twice as long …
  public var repeatFirst = TimeSpan.seconds(1)
  /// `burst + 1` fetches at once, then one an interval.
  public var burst: Int64 = 15
  public var interval = TimeSpan.milliseconds(500)
  /// How long after a message became suspect it is read a second time.
  public var secondReadingAfter = TimeSpan.seconds(10)

  @inlinable
  public init() {}
}

/// Names one window. They count up from 1.
public struct WindowID: BitwiseCopyable, Hashable, Sendable {
  public var number: UInt64

  @inlinable
  public init(_ number: UInt64) { self.number = number }
}

extension PageRequest {
  /// What a list wants.
  @inlinable
  init(_ want: PageWant, of narrow: Narrow) {
    switch want {
    case .message(let id): self.init(id)
    case .about(let anchor, let before, let after):
      self.init(narrow, anchor, before: before, after: after)
    }
  }

  /// Equal for all that ask for the same page, but perhaps for more or less of it: while one is out,
  /// the others need not be.
  @inlinable
  var likeness: PageRequest {
    var like = self
    switch want {
    case .message: like.narrow = nil
    case .about(let anchor, let before, let after):
      like.want = .about(anchor, before: before > 0 ? 1 : 0, after: after > 0 ? 1 : 0)
    }
    return like
  }

  /// Whether it asks for the same page, but perhaps for more or less of it.
  @inlinable
  func asksLike(_ other: PageRequest) -> Bool { likeness == other.likeness }
}
