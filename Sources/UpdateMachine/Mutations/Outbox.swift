/// The changes that a user made and the server has not confirmed: keeps them, sends them in their
/// order, and knows of each what has become of it.
///
///     resting ──mutate──▶ storing ──stored──▶ pushing ──answered──▶ confirming ──confirm──▶ resting
///                                              │  ▲
///                                       failed ▼  │ timer, wake
///                                             waiting
///
///     any ──stopped, refused credentials──▶ halted
///
/// It promises that each mutation takes effect at the server exactly once and in order, or is visibly
/// set aside or uncertain, as long as the server keeps these rules: it runs a mutation only if its ID
/// is the last mutation ID + 1, and writes that in the same transaction as the effects; one that it
/// refuses for good consumes its ID in the same way; and it ignores a push that does not know of its
/// last refusal (``Push/knownRefusal``, ``Push/voided``). So an ID never means two things, whatever
/// old push arrives late. A server without IDs (``isIdempotent``) gets one mutation at a time, and
/// none twice but at the app's word.
///
/// A mutation leaves only when the confirmed state says that it is in, or when the app discards it.
/// The answer to a push acknowledges nothing. It is on disk before it is sent, and so is the mark
/// that it is: after a restart what may have left is told from what never has.
///
/// **An older saved form that comes back**, from a backup or a copy, is not known for one: keep it out of
/// backups. If it comes back all the same, the state converges and nothing is stuck. But of what was
/// pending in it, or was made after it, nobody can say how often it is made: what the lost life has sent
/// since may be sent again under another ID, and what is new may get an ID that the server has run
/// already, or a ticket whose echo is still to come, and count as made. That is over for what is made
/// once the confirmed state tells of as many mutations as the lost life had sent (without IDs: once as
/// many tickets were given). From there on the promise above holds again.
///
/// It is a plain value, saved with the model that holds it and carried over from one snapshot to the
/// next. All the rest of it (what is out, timers, waits) is forgotten by ``restored(in:)``. Like the
/// machine it never waits, reads a clock or draws; moments never go back from one call to the next.
///
/// Source: the client's side of push in Replicache's design document; refusals, marks and *uncertain*
/// are ours.
public struct Outbox<Change: Mutation>: Sendable {
  public typealias Pending = PendingMutation<Change>
  public typealias Refused = RefusedMutation<Change>

  /// Names it to the server.
  public let client: ClientID
  /// Whether the server can tell a second copy of a mutation from the first.
  public let isIdempotent: Bool
  /// May be others in the next version of the app.
  public var settings: OutboxSettings

  /// Not yet confirmed; by ticket, those that may have left before those that have not.
  @usableFromInline var queue: [Pending] = []
  /// Refused for good, and waiting for the app; by ticket.
  @usableFromInline var refused: [Refused] = []
  /// What the app gave up lately, as far as it is remembered; oldest first.
  @usableFromInline var discards: [ClosedRange<MutationTicket>] = []
  /// Nothing is known of the end of tickets up to here.
  @usableFromInline var forgotten = MutationTicket(0)
  @usableFromInline var lastTicket = MutationTicket(0)
  /// The greatest ID that was given to a mutation.
  @usableFromInline var lastID = MutationID.none
  /// The greatest of which the confirmed state says that it is in, or refused.
  @usableFromInline var confirmed = MutationID.none
  /// The greatest of which the server has told that it refused it.
  @usableFromInline var knownRefusal = MutationID.none
  /// Above ``confirmed``, ascending: given to mutations that were refused with a whole push.
  @usableFromInline var voided: [MutationID] = []
  /// The sum of the sizes of all that is kept.
  @usableFromInline var size: Int64 = 0

  @usableFromInline var version = OutboxVersion(0)
  /// The version that is durable.
  @usableFromInline var stored = OutboxVersion(0)
  /// Counts what a replay must be made for, and the last that one was made for.
  @usableFromInline var queueVersion: UInt64 = 1
  @usableFromInline var replayedVersion: UInt64 = 1

  @usableFromInline var sending = Sending()

  /// What is not saved: what goes on between it and the server in this life.
  @usableFromInline struct Sending: Hashable, Sendable {
    @usableFromInline var status = OutboxStatus.resting
    /// Pace, wakes, backoffs, the server's floor, and the timer that is armed.
    @usableFromInline var retry = Retry(.outbox)
    @usableFromInline var isStarted = false
    @usableFromInline var isForeground = true
    @usableFromInline var isHeldBack = false
    /// A push was answered, and nothing was pulled since.
    @usableFromInline var wantsPull = false
    @usableFromInline var life = Life(0)
    /// When what was accepted is sent again; `nil`: not known yet.
    @usableFromInline var resendAt: Moment?
    @usableFromInline var resends = Backoff()
    /// The version with the app's last word on what was set aside.
    @usableFromInline var wordVersion = OutboxVersion(0)
    /// The greatest ID that had been accepted when the poll left that is out.
    @usableFromInline var askedThrough = MutationID.none
    @usableFromInline var pushCount: UInt64 = 0
  }

  /// Empty, and not started.
  /// - Parameters:
  ///   - life: the start of the client that it belongs to.
  ///   - client: drawn for this outbox, and never used by another.
  ///   - isIdempotent: whether the server knows a mutation again by its ID. If not, what may have
  ///     been lost becomes uncertain.
  ///   - settings: its numbers.
  public init(
    client: ClientID, isIdempotent: Bool = true, settings: OutboxSettings = OutboxSettings(),
    life: Life = Life(0)
  ) {
    self.init(
      client: client, isIdempotent: isIdempotent, settings: settings, life: life,
      names: OutboxNames())
  }

  /// As ``init(client:isIdempotent:settings:life:)``, after an earlier outbox of the same life.
  @usableFromInline
  init(
    client: ClientID, isIdempotent: Bool, settings: OutboxSettings, life: Life, names: OutboxNames
  ) {
    self.client = client
    self.isIdempotent = isIdempotent
    self.settings = settings
    sending.life = life
    sending.pushCount = names.pushes
    sending.retry.timerCount = names.timers
  }

  /// The pushes and timers that it has named.
  @usableFromInline var names: OutboxNames {
    OutboxNames(pushes: sending.pushCount, timers: sending.retry.timerCount)
  }

  /// Goes on in another name, for the server knows the app by another now: it has lost the old one.
  /// Tickets go on, too. What never left is sent in the new name. What may be at the server already
  /// would be another mutation there if it were sent in the new name: it is set aside, refused as
  /// ``RejectionCode/nameLost``, for the app to say whether it is to be made again.
  public init(client: ClientID, takingOver old: Outbox) {
    self.init(
      client: client, isIdempotent: old.isIdempotent, settings: old.settings,
      life: old.sending.life, names: old.names)
    // The server asked for time, not the one whom it calls so.
    sending.retry.notBefore = old.sending.retry.notBefore
    lastTicket = old.lastTicket
    forgotten = old.forgotten
    discards = old.discards
    version = OutboxVersion(old.version.number + 1)
    size = old.size
    let lost = MutationRefusal(.none, .nameLost)
    for pending in old.queue {
      if old.hasNeverLeft(pending) {
        queue.append(Pending(tickets: pending.tickets, change: pending.change, version: version))
      } else {
        refused.append(
          Refused(
            tickets: pending.tickets, change: pending.change, refusal: lost, mayHaveCopy: true,
            version: version))
      }
    }
    for item in old.refused {
      refused.append(
        Refused(
          tickets: item.tickets, change: item.change,
          refusal: MutationRefusal(.none, item.refusal.code), mayHaveCopy: item.mayHaveCopy,
          version: version))
    }
    refused.sort { $0.tickets.lowerBound < $1.tickets.lowerBound }
  }

  /// It was read from the saved form of an earlier life: what it says is durable, what was out then
  /// is answered no more, and nothing is sent before it is started, and replayed once. What had left
  /// without an answer is sent again, or uncertain if the server is not idempotent.
  public mutating func restored(in life: Life = Life(0)) {
    sending = Sending()
    sending.life = life
    stored = version
    queueVersion += 1
    size = measuredSize  // This version of the app may measure otherwise.
    for index in queue.indices {
      switch queue[index].stage {
      case .marked(let id): queue[index].stage = isIdempotent ? .sent(id) : .uncertain(id)
      case .accepted(let id, _):
        queue[index].stage = isIdempotent ? .sent(id) : .accepted(id, at: .distantPast)
      case .unsent, .sent, .uncertain: break
      }
    }
  }

  /// Takes one input; returns what to do about it, in order. Never fails: what is late, repeated or
  /// out of place is absorbed. Whoever changes the view by it (retried, edited, discarded, or a
  /// refusal in an answer) replays it next.
  public mutating func handle(_ input: Input, at now: Moment) -> Effects {
    var effects = Effects()
    handle(input, at: now, &effects)
    return effects
  }

  /// As ``handle(_:at:)``, behind what an earlier input of the same step has led to.
  mutating func handle(_ input: Input, at now: Moment, _ effects: inout Effects) {
    switch input {
    case .app(let signal): heard(signal, at: now, &effects)
    case .heldBack(let isHeldBack):
      sending.isHeldBack = isHeldBack
      proceed(at: now, &effects)
    case .stored(let version):
      stored = max(stored, min(version, self.version))
      proceed(at: now, &effects)
    case .answered(let id, let answer): answered(id, answer, at: now, &effects)
    case .failed(let id, let failure, let hasLeft):
      failed(id, failure, hasLeft: hasLeft, at: now, &effects)
    case .fired(let timer): fired(timer, at: now, &effects)
    case .retried(let ticket): retried(ticket, at: now, &effects)
    case .edited(let ticket, let change): edited(ticket, change, at: now, &effects)
    case .discarded(let ticket): discarded(ticket, at: now, &effects)
    }
  }

  // MARK: The app's change

  /// What a mutation gives its app at once.
  public struct Mutated: Sendable {
    public var ticket: MutationTicket
    /// What the mutator returned.
    public var value: Change.Value
    public var effects: Effects
  }

  /// Makes a change in the view, whole or not at all, and queues it. Nothing is changed if it throws.
  ///
  /// It is *stored* once ``isStored(_:)`` says so, and *acknowledged* once ``state(of:)`` does; the
  /// first never waits for a server.
  public mutating func mutate(
    _ change: Change, _ view: inout LocalView<Change>, at now: Moment
  ) throws(MutationError<Change.Refusal>) -> Mutated {
    var effects = Effects()
    let made = try mutate(change, &view, at: now, &effects)
    return Mutated(ticket: made.ticket, value: made.value, effects: effects)
  }

  /// As ``mutate(_:_:at:)``, behind what an earlier input of the same step has led to.
  mutating func mutate(
    _ change: Change, _ view: inout LocalView<Change>, at now: Moment, _ effects: inout Effects
  ) throws(MutationError<Change.Refusal>) -> (ticket: MutationTicket, value: Change.Value) {
    refresh(&view)
    let merged = merged(with: change)
    let growth =
      merged.map { $0.boundedSize - (queue.last?.change.boundedSize ?? 0) } ?? change.boundedSize
    guard merged != nil || queue.count + refused.count < settings.pendingMaximum,
      growth <= 0 || size + growth <= settings.sizeMaximum
    else { throw .full }
    var state = view.state
    let value: Change.Value
    do throws(Change.Refusal) {
      value = try change.apply(to: &state)
    } catch {
      throw .refused(error)
    }
    view.extend(to: state)
    lastTicket.number += 1
    size += growth
    changed()
    persist(&effects)
    if let merged {
      let last = queue.count - 1
      queue[last].tickets = queue[last].tickets.lowerBound...lastTicket
      queue[last].change = merged
      queue[last].version = version
    } else {
      queue.append(Pending(tickets: lastTicket...lastTicket, change: change, version: version))
    }
    proceed(at: now, &effects)
    return (lastTicket, value)
  }

  /// The last in the queue and this as one, if nothing speaks against it.
  private func merged(with change: Change) -> Change? {
    guard let last = queue.last, last.stage == .unsent, last.refusal == nil, !last.mayHaveCopy,
      last.ticket == lastTicket  // A ticket in between may be set aside, and come back in between.
    else { return nil }
    return last.change.coalesced(with: change)
  }

  /// Something has changed that is to be durable.
  mutating func changed() {
    version.number += 1
    if !settings.machine.isDurable { stored = version }
  }

  /// Asks for what has changed to be saved.
  func persist(_ effects: inout Effects) {
    if settings.machine.isDurable { effects.persist = version }
  }
}

/// How many pushes and timers the outboxes of one life have named. A late answer to an earlier outbox must
/// not be taken for one to the next.
@usableFromInline
struct OutboxNames: Hashable, Sendable {
  @usableFromInline var pushes: UInt64 = 0
  @usableFromInline var timers: UInt64 = 0

  @inlinable
  init(pushes: UInt64 = 0, timers: UInt64 = 0) {
    self.pushes = pushes
    self.timers = timers
  }
}

/// Why a mutation was not made. Nothing has changed.
public enum MutationError<Refusal: Error & Sendable>: Error, Sendable {
  /// The mutator itself threw: it cannot be done in this state.
  case refused(Refusal)
  /// So many are pending, or so much, that no more is kept: try again when some are confirmed.
  case full
  /// Nothing is held yet that could be changed.
  case nothingHeld
}

extension MutationError: Equatable where Refusal: Equatable {}

extension Outbox: Equatable where Change: Equatable, Change.Refusal: Equatable {}
