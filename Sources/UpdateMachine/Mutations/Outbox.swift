/// A queue of the user's changes that the server has not confirmed. It sends them in order, and
/// knows what became of each.
///
///     resting ──mutate──▶ storing ──stored──▶ pushing ──answered──▶ confirming ─confirm──▶ resting
///                                              │  ▲
///                                       failed ▼  │ timer, wake
///                                             waiting
///
///     any ──stopped, refused credentials──▶ halted
///
/// Each mutation takes effect at the server exactly once and in order, or is visibly set aside,
/// overruled or uncertain. One that throws before it has left loses its place to those made after
/// it, except those of the same object, and keeps the new one. This promise needs a server that
/// keeps three rules:
///
/// 1. It runs a mutation only if its ID is the last mutation ID + 1. It writes that ID in the same
///    transaction as the effects.
/// 2. A mutation that it refuses for good consumes its ID in the same way.
/// 3. It ignores a push that does not know of its last refusal (``PushRequest/knownRefusal``,
///    ``PushRequest/voided``).
///
/// So an ID never means two things, whatever old push arrives late. A server that counts no IDs
/// keeps less of the promise: ``MutationDelivery`` says what.
///
/// A mutation leaves the outbox only when the confirmed state contains it or overrules it, or when
/// the app discards it. The answer to a push acknowledges nothing. A mutation is on disk before it
/// is sent, and so is the mark that it may have left. So a restart knows which mutations never
/// left.
///
/// **An older saved form that comes back**, from a backup or a copy, is not recognised as such:
/// keep it out of backups. State still converges, and nothing gets stuck. But there is no telling
/// how often a mutation runs that was pending in it, or was made after it. What the lost
/// incarnation sent may be sent again under another ID. A new mutation may get an ID that the
/// server has run already, or a ticket whose echo is still to come, and count as made. The promise
/// holds again for mutations made after the confirmed state has counted as many mutations as the
/// lost incarnation had sent (without IDs: after as many tickets were given).
///
/// It is a plain value, saved with the model that holds it and carried over from one snapshot to
/// the next. ``restored(in:)`` forgets the rest: the push that is out, timers and waits. Like the
/// machine it never waits, reads a clock or draws a random number. Moments must not go back from
/// one call to the next.
///
/// Source: the client's side of push in Replicache's design document; refusals, marks and
/// *uncertain* are ours.
@usableFromInline
package struct Outbox<Change: Mutation>: Sendable {
  @usableFromInline
  package typealias Pending = PendingMutation<Change>
  @usableFromInline
  package typealias Refused = RefusedMutation<Change>

  /// Its name at the server.
  @usableFromInline package let client: ClientID
  /// What the server does with a second copy of a mutation.
  @usableFromInline package let delivery: MutationDelivery
  /// The next version of the app may have others.
  package var settings: OutboxSettings

  /// The pending mutations, by rank. Those that may have left precede those that have not, unless
  /// each is sent alone.
  @usableFromInline var queue: [Pending] = []
  /// The mutations that were refused for good and wait for the app, by ticket.
  @usableFromInline var refused: [Refused] = []
  /// What was saved and cannot be read, by ticket.
  @usableFromInline package internal(set) var unreadable: [UnreadableMutation] = []
  /// The latest discards, oldest first.
  @usableFromInline var discards: [ClosedRange<MutationTicket>] = []
  /// The latest that were overruled, oldest first.
  @usableFromInline var overruled: [ClosedRange<MutationTicket>] = []
  /// Up to this ticket, only ``discards`` and ``overruled`` tell such mutations from acknowledged
  /// ones.
  @usableFromInline var forgotten = MutationTicket(0)
  @usableFromInline var lastTicket = MutationTicket(0)
  /// The greatest ID given to a mutation.
  @usableFromInline var lastID = MutationID.none
  /// The greatest ID that the confirmed state reports as run or refused.
  @usableFromInline var confirmed = MutationID.none
  /// The greatest ID that the server has told us it refused.
  @usableFromInline var knownRefusal = MutationID.none
  /// IDs of mutations that were refused with a whole push. Ascending, above ``confirmed``.
  @usableFromInline var voided: [MutationID] = []
  /// The greatest ID that the server gave to what a mutation created that can be found again.
  var lastCreated: Int64?
  /// The sum of the sizes of all mutations here.
  @usableFromInline var size: Int64 = 0
  /// What can be undone and redone.
  @usableFromInline var history = UndoHistory<Change>()

  @usableFromInline var version = OutboxVersion(0)
  /// The version that is durable.
  @usableFromInline var stored = OutboxVersion(0)
  /// Count the changes that need a replay: so far, and at the last replay.
  @usableFromInline var queueVersion: UInt64 = 1
  @usableFromInline var replayedVersion: UInt64 = 1
  /// Whether a pending mutation threw when it was last replayed.
  @usableFromInline var hasThrown = false

  @usableFromInline var sending = Sending()

  /// The part that is not saved: the exchange with the server in this incarnation.
  @usableFromInline struct Sending: Hashable, Sendable {
    @usableFromInline var status = OutboxStatus.resting
    /// Pace, wakes, backoffs, the server's floor, and the timer that is armed.
    @usableFromInline var retry = Retry(.outbox)
    @usableFromInline var isStarted = false
    @usableFromInline var isForeground = true
    @usableFromInline var isHeldBack = false
    /// The last push was answered with ``PushAnswer/behind``.
    @usableFromInline var isBehind = false
    /// A push was answered, and nothing has been pulled since.
    @usableFromInline var wantsPull = false
    @usableFromInline var incarnation = Incarnation(0)
    /// When accepted mutations are sent again; `nil`: not scheduled.
    @usableFromInline var resendAt: Moment?
    @usableFromInline var resends = Backoff()
    /// The version of the app's last retry, edit or discard.
    @usableFromInline var decisionVersion = OutboxVersion(0)
    /// Whether a mutation is about to leave, and it is not noted yet what was there before it.
    @usableFromInline var hasDeparture = false
    /// The greatest ID that was accepted when the current poll left.
    @usableFromInline var askedThrough = MutationID.none
    @usableFromInline var pushCount: UInt64 = 0
    /// The most mutations in one push: halved when the server finds one too large, doubled when it
    /// takes one.
    @usableFromInline var batchLimit = Int.max
    /// Whether the server has run more than was ever sent, and this is not reported yet.
    @usableFromInline var isNameShared = false
  }

  /// Creates an empty outbox, not started.
  /// - Parameters:
  ///   - incarnation: the incarnation of the client that it belongs to.
  ///   - client: drawn for this outbox, and never used by another.
  ///   - delivery: what the server does with a second copy of a mutation.
  ///   - settings: its numbers.
  package init(
    client: ClientID, delivery: MutationDelivery = .exactlyOnce,
    settings: OutboxSettings = OutboxSettings(), incarnation: Incarnation = Incarnation(0)
  ) {
    self.init(
      client: client, delivery: delivery, settings: settings, incarnation: incarnation,
      names: OutboxNames())
  }

  /// Creates an outbox that follows an earlier one of the same incarnation.
  @usableFromInline
  init(
    client: ClientID, delivery: MutationDelivery, settings: OutboxSettings,
    incarnation: Incarnation, names: OutboxNames
  ) {
    self.client = client
    self.delivery = delivery
    self.settings = settings
    sending.incarnation = incarnation
    sending.pushCount = names.pushes
    sending.retry.timerCount = names.timers
  }

  /// How many pushes and timers it has named.
  @usableFromInline var names: OutboxNames {
    OutboxNames(pushes: sending.pushCount, timers: sending.retry.timerCount)
  }

  /// Continues an outbox under a new client ID, after the server has lost the old one. Tickets go
  /// on. Mutations that never left are sent under the new ID. Those that may be at the server would
  /// count as new there, and could be made twice. So they are set aside with
  /// ``RejectionCode/nameLost``, and the app decides whether to make them again.
  @usableFromInline
  package init(client: ClientID, takingOver old: Outbox) {
    self.init(
      client: client, delivery: old.delivery, settings: old.settings,
      incarnation: old.sending.incarnation, names: old.names)
    // The server's floor holds under any client ID.
    sending.retry.notBefore = old.sending.retry.notBefore
    lastTicket = old.lastTicket
    forgotten = old.forgotten
    discards = old.discards
    overruled = old.overruled
    version = OutboxVersion(old.version.number + 1)
    size = old.size
    history = old.history
    lastCreated = old.lastCreated
    let lost = MutationRefusal(.none, .nameLost)
    for pending in old.queue {
      if old.hasNeverLeft(pending), !old.mayHaveLeft(whatIsUndoneBy: pending) {
        queue.append(
          Pending(
            tickets: pending.tickets, rank: pending.rank, change: pending.change,
            takesBack: pending.takesBack, version: version))
      } else {
        refused.append(
          Refused(
            tickets: pending.tickets, rank: pending.rank, change: pending.change, refusal: lost,
            mayHaveCopy: true, takesBack: pending.takesBack, version: version))
      }
    }
    for item in old.refused {
      refused.append(
        Refused(
          tickets: item.tickets, rank: item.rank, change: item.change,
          refusal: MutationRefusal(.none, item.refusal.code), mayHaveCopy: item.mayHaveCopy,
          takesBack: item.takesBack, version: version))
    }
    refused.sort { $0.tickets.lowerBound < $1.tickets.lowerBound }
    unreadable = old.unreadable.map { $0.underNewName() }
    if !settings.machine.isDurable { stored = version }
  }

  /// Prepares an outbox that was read from the saved form of an earlier incarnation. What it holds
  /// is durable. Answers to old pushes are ignored. Nothing is sent before it is started and
  /// replayed once. What had left without an answer is sent again, or is uncertain if that could
  /// make it twice.
  package mutating func restored(in incarnation: Incarnation = Incarnation(0)) {
    sending = Sending()
    sending.incarnation = incarnation
    history.strays = []
    placeReadAgain()
    stored = version
    queueVersion += 1
    size = measuredSize  // This version of the app may measure differently.
    for index in queue.indices {
      switch queue[index].stage {
      case .marked(let id): queue[index].stage = doubtfulStage(of: queue[index].change, id)
      case .accepted(let id, _):
        queue[index].stage = countsIDs ? .sent(id) : .accepted(id, at: .distantPast)
      case .unsent, .sent, .uncertain: break
      }
    }
  }

  /// Takes one input and returns what to do, in order. Never fails: late, repeated or misplaced
  /// input is absorbed. If the input may change the view (retried, edited, discarded, or a refusal
  /// in an answer), call ``replay(_:at:)`` next.
  package mutating func handle(_ input: Input, at now: Moment) -> Effects {
    var effects = Effects()
    handle(input, at: now, &effects)
    return effects
  }

  /// Does what ``handle(_:at:)`` does, adding to the effects of earlier inputs of the same step.
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

  /// Whether one push may carry several mutations, in the queue's order. Otherwise each is sent
  /// alone, and one that cannot be sent holds back only what may depend on it.
  @inlinable
  var sendsInBatches: Bool { delivery != .atMostOnce }

  /// Whether a mutation that may be at the server is sent again without asking the app.
  @inlinable
  func maySendAgain(_ change: Change) -> Bool { sendsInBatches || change.isIdempotent }

  /// The stage of a mutation that may be at the server, and has no answer.
  func doubtfulStage(of change: Change, _ id: MutationID) -> Pending.Stage {
    maySendAgain(change) ? .sent(id) : .uncertain(id)
  }

  /// Whether the confirmed state tells the last ID that the server has run. Only then are IDs in
  /// order, can they be void, and is an accepted mutation sent again if it is not confirmed.
  @inlinable
  var countsIDs: Bool { delivery == .exactlyOnce }

  // MARK: The app's change

  /// The immediate result of a mutation.
  @usableFromInline
  package struct Mutated: Sendable {
    package var ticket: MutationTicket
    /// What the mutator returned.
    package var value: Change.Value
    package var effects: Effects
  }

  /// Makes a change in the view and queues it. If it throws, no change was made.
  ///
  /// The mutation is *stored* once ``isStored(_:)`` says so, and *acknowledged* once ``state(of:)``
  /// does. Storing never waits for a server.
  package mutating func mutate(
    _ change: Change, _ view: inout LocalView<Change>, at now: Moment
  ) throws(MutationError<Change.Refusal>) -> Mutated {
    var effects = Effects()
    let made = try mutate(change, &view, at: now, &effects)
    return Mutated(ticket: made.ticket, value: made.value, effects: effects)
  }

  /// Does what ``mutate(_:_:at:)`` does, adding to the effects of earlier inputs of the same step.
  ///
  /// - Parameter reversal: what it takes back; `nil`: the user made it.
  mutating func mutate(
    _ change: Change, _ view: inout LocalView<Change>, at now: Moment, _ effects: inout Effects,
    toTakeBack reversal: Reversal? = nil
  ) throws(MutationError<Change.Refusal>) -> (ticket: MutationTicket, value: Change.Value) {
    refresh(&view, &effects)
    var change = change
    let ticket = MutationTicket(lastTicket.number + 1)
    change.stamp(
      from: view.state, ticket: ticket,
      inPlaceOf: reversal?.entry.isDiscarded == true ? change : nil)
    let merge = merge(with: change, toTakeBack: reversal?.entry.undone)
    var growth = change.boundedSize
    if let merge {
      growth = merge.places.reduce(merge.change.boundedSize) {
        $0 - queue[$1].change.boundedSize
      }
    }
    guard merge != nil || queue.count + refused.count < settings.pendingMaximum,
      growth <= 0 || size + growth <= settings.sizeMaximum
    else { throw .full }
    var state = view.state
    let value: Change.Value
    do throws(Change.Refusal) {
      value = try change.apply(to: &state)
    } catch {
      throw .refused(error)
    }
    let inverse = change.inverse(from: view.state, to: state)
    view.extend(to: state)
    lastTicket = ticket
    size += growth
    changed()
    noteMade(change, inverse: inverse, toTakeBack: reversal)
    persist(&effects)
    if let merge {
      coalesce(merge)
      refresh(&view, &effects)
    } else {
      queue.append(
        Pending(
          tickets: TicketSet(lastTicket), rank: nextRank, change: change,
          takesBack: reversal?.entry.undone, version: version))
      // What threw must not hold it up.
      if hasThrown {
        queueVersion += 1
        refresh(&view, &effects)
      }
    }
    proceed(at: now, &effects)
    return (lastTicket, value)
  }

  /// How many other ranges of tickets a mutation may have. Each makes its row longer.
  private static var scatteredMaximum: Int { 8 }

  /// Queued mutations and a new one that become one.
  private struct Merge {
    var change: Change
    /// Where they stand, the last first.
    var places: [Int]
  }

  /// Returns the unsent mutations that can be coalesced with this one: the last one made, or, if it
  /// names an object, those of the same object, as long as all behind them name others. What undoes
  /// another one is coalesced only with that one (`undone`).
  private func merge(with change: Change, toTakeBack undone: MutationTicket?) -> Merge? {
    var merge = Merge(change: change, places: [])
    var lastRefused = refused.reduce(0) { max($0, $1.rank) }
    lastRefused = unreadable.reduce(lastRefused) { max($0, $1.rank) }
    for index in queue.indices.reversed() {
      let earlier = queue[index]
      // A refused one in between may return.
      guard earlier.stage == .unsent, !earlier.mayHaveCopy, lastRefused < earlier.rank,
        earlier.tickets.others.count < Outbox.scatteredMaximum
      else { break }
      if earlier.refusal != nil {
        // It does not hold up others, so it stands behind them soon.
        guard let object = change.object, object != earlier.change.object else { break }
        continue
      }
      if change.object == nil, earlier.ticket != lastTicket { break }
      if change.object != nil {
        guard let object = earlier.change.object else { break }
        if object != change.object { continue }
      }
      if earlier.takesBack != nil { break }
      if let undone, !earlier.tickets.contains(undone) { break }
      guard let joined = earlier.change.coalesced(with: merge.change) else { break }
      merge.change = joined
      merge.places.append(index)
      if change.object == nil { break }
    }
    return merge.places.isEmpty ? nil : merge
  }

  /// Puts one mutation in the place of the first of those that it was coalesced from.
  private mutating func coalesce(_ merge: Merge) {
    let place = merge.places[merge.places.count - 1]
    var tickets = TicketSet(lastTicket)
    for index in merge.places { tickets = tickets.union(queue[index].tickets) }
    queue[place].tickets = tickets
    queue[place].change = merge.change
    queue[place].version = version
    let isLast = place == queue.count - 1
    for index in merge.places.dropLast() { queue.remove(at: index) }
    // Those between were replayed between the two. And one that is stamped may show elsewhere than
    // the two, one after the other.
    if !isLast || merge.change.object != nil { queueVersion += 1 }
  }

  /// A rank above all that are in use, and not below the last ticket.
  var nextRank: UInt64 {
    var last = refused.reduce(queue.last?.rank ?? 0) { max($0, $1.rank) }
    last = unreadable.reduce(last) { max($0, $1.rank) }
    return max(lastTicket.number, last + 1)
  }

  /// Counts a change that must be durable.
  mutating func changed() {
    version.number += 1
    if !settings.machine.isDurable { stored = version }
  }

  /// Asks the host to save.
  func persist(_ effects: inout Effects) {
    if settings.machine.isDurable { effects.persist = version }
  }
}

/// How many pushes and timers the outboxes of one incarnation have named. A late answer to an
/// earlier outbox must not be taken for one to the next.
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

/// The reason why a mutation was not made. Nothing has changed.
public enum MutationError<Refusal: Error & Sendable>: Error, Sendable {
  /// The mutator threw: the change cannot be made in this state.
  case refused(Refusal)
  /// Too many mutations are kept, or too much data. Try again when some are confirmed.
  case full
  /// There is no state yet that could be changed.
  case nothingHeld
  /// The client is not connected, and changes are only taken while it is
  /// (``SyncModel/mutatesOffline``).
  case notConnected
  /// The change's own code throws when it is encoded, so it could not be saved.
  case unstorable(StoredFormError)
}

extension MutationError: Equatable where Refusal: Equatable {}

extension Outbox: Equatable where Change: Equatable, Change.Refusal: Equatable {}
