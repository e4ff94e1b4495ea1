/// Decides what the store is asked, one thing at a time: reads the saved form at the start, saves what
/// the machine or the outbox wants to be durable, reads rows that are not loaded, erases.
///
///     free ──started──▶ loading ──loaded──▶ free ⇄ saving, reading, erasing
///                       │    ▲               │  ▲
///           loadFailed  ▼    │ timer  failed ▼  │ timer, started
///                      waiting              waiting
///
/// A save is of the client as it is when it begins; what was wanted meanwhile is saved by the next one.
/// A save that the machine waits for is tried again when the machine says so; one for the outbox, after
/// a wait of its own.
@usableFromInline
struct Storage: Equatable, Sendable {
  @usableFromInline let settings: RetrySettings
  /// Whether there is a store. Without one nothing is ever asked.
  @usableFromInline let isPresent: Bool

  /// What the store is doing.
  @usableFromInline var out: Operation?
  /// How many saves and reads were begun.
  @usableFromInline var writeCount: UInt64 = 0
  @usableFromInline var readCount: UInt64 = 0

  /// While a load is out: it is wanted once more should that one be cut short.
  @usableFromInline var wantsLoad = false
  @usableFromInline var wantsErase = false
  /// The machine waits for the end of this write, which has not begun.
  @usableFromInline var machineWrite: WriteID?
  /// The model is to be saved, though the machine waits for nothing.
  @usableFromInline var wantsState = false
  /// The outbox must be durable as of this version.
  @usableFromInline var wanted = OutboxVersion(0)
  @usableFromInline var durable = OutboxVersion(0)

  @usableFromInline var retry = Retry(.storage)
  /// A save for the outbox has failed, or the saved form could not be read: the next try waits for the
  /// timer, or without one for the start.
  @usableFromInline var isWaiting = false
  @usableFromInline var isStarted = false
  /// A stop came since the reading of rows that is out was begun.
  @usableFromInline var isReadFromBefore = false

  @inlinable
  init(settings: RetrySettings, isPresent: Bool) {
    self.settings = settings
    self.isPresent = isPresent
  }

  /// What the store was asked, and is to answer once.
  @usableFromInline
  enum Operation: Hashable, Sendable {
    case load
    case save(Save)
    case read(RequestID)
    case erase
  }

  /// A save that has begun.
  @usableFromInline
  struct Save: Hashable, Sendable {
    @usableFromInline var id: WriteID
    /// The write of the machine's that it answers.
    @usableFromInline var machineWrite: WriteID?
    /// The outbox in it.
    @usableFromInline var outbox: Mark?

    @inlinable
    init(id: WriteID, machineWrite: WriteID?, outbox: Mark?) {
      self.id = id
      self.machineWrite = machineWrite
      self.outbox = outbox
    }
  }

  /// Says which outbox is saved, and as of which version.
  @usableFromInline
  struct Mark: Hashable, Sendable {
    @usableFromInline var client: ClientID
    @usableFromInline var version: OutboxVersion

    @inlinable
    init(client: ClientID, version: OutboxVersion) {
      self.client = client
      self.version = version
    }
  }

  /// What to do, in this order.
  @usableFromInline
  struct Effects: Sendable {
    /// The timer that must not fire any more.
    @usableFromInline var disarm: TimerID?
    /// The store has failed.
    @usableFromInline var report = false
    @usableFromInline var operation: Ask?
    @usableFromInline var arm: TimerArm?

    /// What the store is asked.
    @usableFromInline
    enum Ask: Equatable, Sendable {
      case load
      case save(WriteID)
      case read(RequestID, [RowQuery])
      case erase
    }
  }

  // MARK: What is wanted

  /// The saved form is to be read.
  @inlinable
  mutating func wantLoad() {
    wantsLoad = isPresent && out != .load
    if !isStarted { isWaiting = false }
  }

  /// The saved form is to be erased, and nothing of before is to be saved any more.
  @inlinable
  mutating func wantErase() {
    wantsErase = isPresent
    wantsState = false
    forgetOutbox()
  }

  /// The machine waits for a write.
  @inlinable
  mutating func want(_ write: WriteID) { machineWrite = write }

  /// The model has changed, and is to be saved though nobody waits for it.
  @inlinable
  mutating func wantState() { wantsState = isPresent }

  /// The outbox is to be durable as of this version. While not started, that is another try.
  @inlinable
  mutating func want(_ version: OutboxVersion, _ effects: inout Effects) {
    wanted = max(wanted, version)
    if isWaiting, !isStarted { endWait(&effects) }
  }

  /// There is another outbox from here on: its versions count anew, and what is being saved says nothing
  /// of it, though it may be of the same client.
  @inlinable
  mutating func forgetOutbox() {
    if case .save(var save) = out {
      save.outbox = nil
      out = .save(save)
    }
    wanted = OutboxVersion(0)
    durable = OutboxVersion(0)
  }

  @inlinable
  mutating func heard(_ signal: AppSignal, _ effects: inout Effects) {
    switch signal {
    case .started:
      isStarted = true
      if out == .load { wantsLoad = true }
      if retry.timer == nil { endWait(&effects) }
    case .stopped:
      isStarted = false
      if out == .load { wantsLoad = false }
      noteRead()
      disarm(&effects)
    case .loggedOut:
      isStarted = false
      noteRead()
      endWait(&effects)  // Or nothing would be erased before the next start.
    case .foregrounded, .backgrounded, .networkChanged, .retryRequested, .credentialsChanged: break
    }
  }

  /// The reading of rows that is out, if there is one, outlives this start.
  @inlinable
  mutating func noteRead() {
    if case .read = out { isReadFromBefore = true }
  }

  // MARK: What happened

  /// The saved form was read, or it could not be and is given up. Says whether that was awaited.
  @inlinable
  mutating func wasLoaded() -> Bool {
    guard out == .load else { return false }
    out = nil
    wantsLoad = false
    isWaiting = false
    retry.transient.reset()
    return true
  }

  /// The saved form could not be read, and is to be once more, after a wait. Cut short, it is by the next
  /// start, or at once if that has come since it was asked for.
  @inlinable
  mutating func loadFailed(isCutShort: Bool, at now: Moment, _ effects: inout Effects) {
    guard out == .load else { return }
    out = nil
    guard !isCutShort else { return }
    wantsLoad = isStarted
    wait(at: now, &effects)
  }

  /// A save is over. Returns what it was, if it was out.
  ///
  /// - Parameter client: whose outbox there is now.
  @inlinable
  mutating func saved(
    _ id: WriteID, succeeded: Bool, _ client: ClientID?, at now: Moment, _ effects: inout Effects
  ) -> Save? {
    guard case .save(let save) = out, save.id == id else { return nil }
    out = nil
    guard succeeded else {
      if save.machineWrite == nil { effects.report = true }
      if isDue { wait(at: now, &effects) }
      return save
    }
    if let mark = save.outbox, mark.client == client { durable = max(durable, mark.version) }
    retry.transient.reset()
    if isWaiting { endWait(&effects) }
    return save
  }

  /// Rows were read, or could not be. Says whether that was awaited.
  @inlinable
  mutating func wasRead(_ id: RequestID) -> Bool {
    guard out == .read(id) else { return false }
    out = nil
    return true
  }

  /// The saved form was erased, or could not be. Says whether that was awaited.
  @inlinable
  mutating func wasErased() -> Bool {
    guard out == .erase else { return false }
    out = nil
    return true
  }

  @inlinable
  mutating func fired(_ timer: TimerID) {
    if retry.take(fired: timer) != nil { isWaiting = false }
  }

  // MARK: The next operation

  /// Whether something of the outbox is wanted that is not durable.
  @inlinable
  var isDue: Bool { durable < wanted }

  /// Begins what is wanted, if the store is free.
  ///
  /// - Parameters:
  ///   - canSave: whether there is anything to save.
  ///   - outbox: the outbox of now.
  ///   - queries: rows to read.
  @inlinable
  mutating func proceed(
    canSave: Bool, _ outbox: Mark?, in life: Life, reading queries: [RowQuery],
    _ effects: inout Effects
  ) {
    guard out == nil else { return }
    isReadFromBefore = false
    if wantsLoad {
      guard !isWaiting else { return }
      wantsLoad = false
      out = .load
      effects.operation = .load
    } else if wantsErase {
      wantsErase = false
      out = .erase
      effects.operation = .erase
    } else if canSave, machineWrite != nil || wantsState || isDue && !isWaiting {
      writeCount += 1
      let save = Save(id: WriteID(writeCount), machineWrite: machineWrite, outbox: outbox)
      machineWrite = nil
      wantsState = false
      out = .save(save)
      effects.operation = .save(save.id)
    } else if !queries.isEmpty {
      readCount += 1
      let id = RequestID(life: life, part: .storage, number: readCount)
      out = .read(id)
      effects.operation = .read(id, queries)
    }
  }

  /// A write of the machine's of which there is nothing to save: its finger was dropped in the same step.
  @inlinable
  mutating func takeVoidWrite() -> WriteID? {
    defer { machineWrite = nil }
    return machineWrite
  }

  // MARK: Helpers

  @inlinable
  mutating func wait(at now: Moment, _ effects: inout Effects) {
    isWaiting = true
    guard isStarted, retry.timer == nil else { return }
    let wait = retry.takeTransient(settings)
    effects.arm = retry.arm(within: wait, at: now)
  }

  @inlinable
  mutating func endWait(_ effects: inout Effects) {
    isWaiting = false
    disarm(&effects)
  }

  @inlinable
  mutating func disarm(_ effects: inout Effects) {
    guard let timer = retry.disarm() else { return }
    if effects.arm?.timer == timer { effects.arm = nil } else { effects.disarm = timer }
  }
}

extension Storage {
  /// What it does and wants, where there is no outbox. The write that is out is number 8.
  func pack(into bits: inout Bits) {
    var code: UInt64 = 0
    switch out {
    case nil: code = 0
    case .load: code = 1
    case .save(let save): code = save.machineWrite == nil ? 2 : 3
    case .read: code = 4
    case .erase: code = 5
    }
    bits.put(code, width: 3)
    bits.put(wantsLoad)
    bits.put(wantsErase)
    bits.put(machineWrite != nil)
    bits.put(isStarted)
  }

  /// ``pack(into:)`` undone.
  mutating func unpack(from bits: inout Bits) {
    writeCount = 8
    switch bits.take(width: 3) {
    case 1: out = .load
    case 2: out = .save(Save(id: WriteID(8), machineWrite: nil, outbox: nil))
    case 3: out = .save(Save(id: WriteID(8), machineWrite: WriteID(8), outbox: nil))
    case 5: out = .erase
    default: out = nil
    }
    wantsLoad = bits.takeFlag()
    wantsErase = bits.takeFlag()
    machineWrite = bits.takeFlag() ? WriteID(8) : nil
    isStarted = bits.takeFlag()
  }

  /// Notes the versions that it holds, so that they are packed by their order.
  func noteVersions(in ranks: inout OutboxVersionRanks) {
    ranks.note(wanted)
    if case .save(let save) = out, let mark = save.outbox { ranks.note(mark.version) }
  }

  /// What there is besides where there is an outbox, which may be wanted durable.
  func packOutbox(into bits: inout Bits, at now: Moment, _ ranks: OutboxVersionRanks) {
    bits.put(isWaiting)
    bits.put(isDue)
    bits.put(ranks.rank(of: wanted), width: 3)
    var marked: UInt64 = 0
    if case .save(let save) = out, let mark = save.outbox {
      marked = ranks.rank(of: mark.version) + 1
    }
    bits.put(marked, width: 3)
    let waits = Backoff.steps(from: settings.transientFirst, to: settings.transientCap)
    bits.put(UInt64(min(retry.transient.exponent, waits)), width: 3)
    bits.put(retry.timer?.latest, at: now, past: .zero, width: 4)
  }

  /// ``packOutbox(into:at:_:)`` undone, after ``unpack(from:)``.
  mutating func unpackOutbox(from bits: inout Bits, of client: ClientID?) {
    isWaiting = bits.takeFlag()
    let isDue = bits.takeFlag()
    let rank = bits.take(width: 3)
    // What is wanted and as old as what is durable is rank 0, too.
    wanted = rank > 0 ? OutboxVersionRanks.version(ofRank: rank) : OutboxVersion(isDue ? 1 : 0)
    let marked = bits.take(width: 3)
    if marked > 0, let client, case .save(var save) = out {
      save.outbox = Mark(
        client: client, version: OutboxVersionRanks.version(ofRank: marked - 1))
      out = .save(save)
    }
    retry.transient = Backoff(exponent: UInt8(bits.take(width: 3)))
    retry.timerCount = 8
    retry.timer = bits.takeMoment(past: .zero, width: 4)
      .map { ArmedTimer(id: TimerID(part: .storage, 8), latest: $0) }
  }
}
