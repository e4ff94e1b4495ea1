/// The scheduler of the store: one operation at a time. It loads the saved form at the start, saves
/// what the machine or the outbox needs durable, reads unloaded rows, and erases.
///
///     free ──started──▶ loading ──loaded──▶ free ⇄ saving, reading, erasing
///                       │    ▲               │  ▲
///           loadFailed  ▼    │ timer  failed ▼  │ timer, started
///                      waiting              waiting
///
/// A save holds the client as it is when the save begins. Later changes go into the next save. If
/// the machine waits for a save that fails, the machine says when to try again. A failed save for
/// the outbox is repeated after a wait of its own.
@usableFromInline
struct Storage: Equatable, Sendable {
  @usableFromInline let settings: RetrySettings
  /// Whether there is a store. Without one, no operation is ever asked for.
  @usableFromInline let isPresent: Bool

  /// The operation that is out.
  @usableFromInline var out: Operation?
  /// How many saves and reads have begun.
  @usableFromInline var writeCount: UInt64 = 0
  @usableFromInline var readCount: UInt64 = 0

  /// Whether to load. While a load is out: whether to load again if it is cut short.
  @usableFromInline var wantsLoad = false
  @usableFromInline var wantsErase = false
  /// A write that the machine waits for, and that has not begun.
  @usableFromInline var machineWrite: WriteID?
  /// Whether to save the model although the machine does not wait for it.
  @usableFromInline var wantsState = false
  /// The outbox version that must become durable.
  @usableFromInline var wanted = OutboxVersion(0)
  @usableFromInline var durable = OutboxVersion(0)

  @usableFromInline var retry = Retry(.storage)
  /// Whether the next try waits: a save for the outbox has failed, or the saved form could not be
  /// read. It waits for the timer or, if there is none, for the start.
  @usableFromInline var isWaiting = false
  @usableFromInline var isStarted = false
  /// Whether a stop came after the read that is out had begun.
  @usableFromInline var isReadFromBefore = false

  @inlinable
  init(settings: RetrySettings, isPresent: Bool) {
    self.settings = settings
    self.isPresent = isPresent
  }

  /// An operation that the store was asked for, and answers once.
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
    /// The machine's write that this save answers.
    @usableFromInline var machineWrite: WriteID?
    /// The outbox that it contains.
    @usableFromInline var outbox: Mark?

    @inlinable
    init(id: WriteID, machineWrite: WriteID?, outbox: Mark?) {
      self.id = id
      self.machineWrite = machineWrite
      self.outbox = outbox
    }
  }

  /// Which outbox is saved, and at which version.
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
    /// A timer that must no longer fire.
    @usableFromInline var disarm: TimerID?
    /// Whether to report that the store failed.
    @usableFromInline var report = false
    @usableFromInline var operation: Ask?
    @usableFromInline var arm: TimerArm?

    /// An operation to ask of the store.
    @usableFromInline
    enum Ask: Equatable, Sendable {
      case load
      case save(WriteID)
      case read(RequestID, [RowQuery])
      case erase
    }
  }

  // MARK: Requests

  /// Asks for the saved form to be read.
  @inlinable
  mutating func wantLoad() {
    wantsLoad = isPresent && out != .load
    if !isStarted { isWaiting = false }
  }

  /// Asks for the saved form to be erased. Nothing older is saved from then on.
  @inlinable
  mutating func wantErase() {
    wantsErase = isPresent
    wantsState = false
    forgetOutbox()
  }

  /// Asks for a write that the machine waits for.
  @inlinable
  mutating func want(_ write: WriteID) { machineWrite = write }

  /// Asks for the changed model to be saved, although nothing waits for it.
  @inlinable
  mutating func wantState() { wantsState = isPresent }

  /// Asks for the outbox to be durable at this version. While not started, this also ends a wait.
  @inlinable
  mutating func want(_ version: OutboxVersion, _ effects: inout Effects) {
    wanted = max(wanted, version)
    if isWaiting, !isStarted { endWait(&effects) }
  }

  /// Forgets the outbox, because another takes its place. The new one counts its versions anew. A
  /// save that is out does not contain it, even if both are of the same client.
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
      endWait(&effects)  // A waiting load would hold the erase back until the next start.
    case .foregrounded, .backgrounded, .networkChanged, .retryRequested, .credentialsChanged: break
    }
  }

  /// Notes that the read that is out, if any, began before a stop.
  @inlinable
  mutating func noteRead() {
    if case .read = out { isReadFromBefore = true }
  }

  // MARK: Outcomes

  /// Takes the end of a load: the form was read, or was given up. Returns whether a load was out.
  @inlinable
  mutating func wasLoaded() -> Bool {
    guard out == .load else { return false }
    out = nil
    wantsLoad = false
    isWaiting = false
    retry.transient.reset()
    return true
  }

  /// Takes a failed load, which is repeated after a wait. A load that was cut short is repeated by
  /// the next start, or at once if the start has come since the load began.
  @inlinable
  mutating func loadFailed(isCutShort: Bool, at now: Moment, _ effects: inout Effects) {
    guard out == .load else { return }
    out = nil
    guard !isCutShort else { return }
    wantsLoad = isStarted
    wait(at: now, &effects)
  }

  /// Takes the end of a save. Returns the save, if it was out.
  ///
  /// - Parameter client: the client of the present outbox.
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

  /// Takes the end of a read, successful or not. Returns whether that read was out.
  @inlinable
  mutating func wasRead(_ id: RequestID) -> Bool {
    guard out == .read(id) else { return false }
    out = nil
    return true
  }

  /// Takes the end of an erase, successful or not. Returns whether an erase was out.
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

  /// Whether the outbox has a wanted version that is not durable.
  @inlinable
  var isDue: Bool { durable < wanted }

  /// Begins the next wanted operation, if the store is free.
  ///
  /// - Parameters:
  ///   - canSave: whether there is anything to save.
  ///   - outbox: the present outbox.
  ///   - queries: rows to read.
  @inlinable
  mutating func proceed(
    canSave: Bool, _ outbox: Mark?, in incarnation: Incarnation, reading queries: [RowQuery],
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
      let id = RequestID(incarnation: incarnation, part: .storage, number: readCount)
      out = .read(id)
      effects.operation = .read(id, queries)
    }
  }

  /// Returns and clears a write of the machine's that has nothing left to save: its finger was
  /// dropped in the same step.
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
  /// Packs everything that concerns no outbox. The write that is out counts as number 8.
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

  /// The inverse of ``pack(into:)``.
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

  /// Notes the versions that it holds, so that they are packed by rank.
  func noteVersions(in ranks: inout OutboxVersionRanks) {
    ranks.note(wanted)
    if case .save(let save) = out, let mark = save.outbox { ranks.note(mark.version) }
  }

  /// Packs the rest, for a client with an outbox, which may have to become durable.
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

  /// The inverse of ``packOutbox(into:at:_:)``, to be called after ``unpack(from:)``.
  mutating func unpackOutbox(from bits: inout Bits, of client: ClientID?) {
    isWaiting = bits.takeFlag()
    let isDue = bits.takeFlag()
    let rank = bits.take(width: 3)
    // Rank 0 also stands for a wanted version that is as old as the durable one.
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
