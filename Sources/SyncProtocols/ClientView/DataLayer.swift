public import UpdateMachine

/// The data layer of one user, as a plain value: it owns the truth, and runs the mutations that
/// clients push. Users share nothing, so each has one of these.
///
/// It keeps the promises of Replicache's design. Mutations run serially. A mutation is ignored
/// unless its ID directly follows the client's last. Effects and last mutation ID are one
/// transaction. Pushes may be accepted first and run later, or be lost in between. The client view
/// may be fetched as of any past commit, so it may lag and flap.
///
/// A refused mutation is finished, too. It becomes the client's last mutation, in one transaction
/// with the refusal and without effects. Until the client has heard of the refusal, all its pushes
/// are ignored, because they were meant to follow the missing effects. This rule is ours. It lets a
/// client that has heard of the refusal reuse the IDs above it. However late old pushes arrive, an
/// ID never names two mutations that could both run.
@usableFromInline
package struct DataLayer<Mutators: ViewMutators>: Sendable {
  @usableFromInline
  package typealias Value = Mutators.Value

  package let mutators: Mutators
  /// Whether the client view includes its commit's number.
  package var tellsCommits: Bool
  /// All commits ever, beginning with the empty state. Their common parts are shared.
  @usableFromInline var commits: [Commit] = [Commit()]
  /// Pushes that were accepted and have not run yet, in order.
  package private(set) var accepted: [MutationPush] = []

  /// How this data layer breaks its contract at the next opportunity; `nil`: it keeps it.
  package var breach: ViewBreach? {
    didSet { if breach != .claimsToBeCurrent { stoppedAt = nil } }
  }
  /// How often it broke its contract.
  package private(set) var breachCount: Int64 = 0

  /// A client's record that the plant writes only with the client's next push.
  private var unwritten: (client: ClientID, record: ClientRecord)?
  /// The commit at which the plant's replica has stopped.
  package private(set) var stoppedAt: CommitNumber?

  /// The most pushes that may wait to run. Clients repeat unconfirmed pushes, so without a bound a
  /// stalled data layer would collect copies without end.
  @inlinable
  package static var acceptedMaximum: Int { 1000 }

  /// One state, and what led to it.
  @usableFromInline
  package struct Commit: Sendable {
    package fileprivate(set) var view = ViewMap<Value>()
    package fileprivate(set) var cause = Cause.beginning
    fileprivate var clients = VersionedMap<UInt64, ClientRecord>()

    /// The record of a client's mutations.
    package func record(of client: ClientID) -> ClientRecord {
      clients[client.number] ?? ClientRecord()
    }
  }

  /// What led to a commit.
  package enum Cause: Hashable, Sendable {
    case beginning
    /// Something else: a batch job, another user, another program.
    case outside
    case mutation(ClientID, MutationID)
    case refusal(ClientID, MutationID)
  }

  package init(_ mutators: Mutators, tellsCommits: Bool = true) {
    self.mutators = mutators
    self.tellsCommits = tellsCommits
  }

  // MARK: Pushes

  /// Accepts a push to be run later. Returns whether there was room.
  package mutating func accept(_ push: MutationPush) -> Bool {
    guard accepted.count < DataLayer.acceptedMaximum else { return false }
    accepted.append(push)
    return true
  }

  /// Runs the oldest accepted push; `nil`: none waits.
  @discardableResult
  package mutating func runNext() -> PushAnswer? {
    guard !accepted.isEmpty else { return nil }
    return run(accepted.removeFirst())
  }

  /// Loses the oldest accepted push, as a queue in memory can. Its client will push again.
  package mutating func loseNext() {
    if !accepted.isEmpty { accepted.removeFirst() }
  }

  /// Runs a push now.
  package mutating func run(_ push: MutationPush) -> PushAnswer {
    let client = push.client
    writeLate(client)
    if let refusal = last.record(of: client).refusal(unknownTo: push) { return .refused(refusal) }
    var voided = push.voided[...]
    for mutation in push.mutations {
      consume(&voided, of: client)
      let record = last.record(of: client)
      // Any other ID was run before, or comes too early. Both are normal.
      guard mutation.id == record.next else { continue }
      run(mutation, of: client, record, isLast: mutation.id == push.mutations.last?.id)
      let refusal = last.record(of: client).refusal
      if let refusal, refusal != record.refusal { return .refused(refusal) }
    }
    return .accepted
  }

  /// Refuses each mutation that its client has voided, when its turn comes. The client no longer
  /// waits for it.
  private mutating func consume(_ voided: inout ArraySlice<MutationID>, of client: ClientID) {
    var record = last.record(of: client)
    while let id = voided.first, id <= record.next {
      voided.removeFirst()
      guard id == record.next else { continue }
      record.lastMutation = id
      record.refusal = MutationRefusal(id)
      var commit = last
      commit.clients[client.number] = record
      commit.cause = .refusal(client, id)
      commits.append(commit)
    }
  }

  private mutating func run(
    _ mutation: NamedMutation, of client: ClientID, _ record: ClientRecord, isLast: Bool
  ) {
    var record = record
    record.lastMutation = mutation.id
    var commit = last
    do throws(ChangeRefusal) {
      commit.view = try effects(of: mutation, on: commit.view)
      commit.cause = .mutation(client, mutation.id)
    } catch {
      record.refusal = MutationRefusal(mutation.id, error.code)
      commit.cause = .refusal(client, mutation.id)
    }
    commit.clients[client.number] = record
    breakContract(of: mutation, &commit, of: client, isLast: isLast)
    commits.append(commit)
  }

  private func effects(
    of mutation: NamedMutation, on view: ViewMap<Value>
  ) throws(ChangeRefusal) -> ViewMap<Value> {
    var transaction = ViewTransaction(on: view)
    _ = try mutators.run(mutation.name, mutation.arguments, in: &transaction)
    return transaction.view
  }

  /// Performs the plants. Each needs a mutation with effects; one needs the last mutation of its
  /// push.
  private mutating func breakContract(
    of mutation: NamedMutation, _ commit: inout Commit, of client: ClientID, isLast: Bool
  ) {
    guard let breach, commit.view != last.view else { return }
    switch breach {
    case .skipsAMutation: commit.view = last.view
    case .appliesTwice:
      do throws(ChangeRefusal) {
        let twice = try effects(of: mutation, on: commit.view)
        guard twice != commit.view else { return }
        commit.view = twice
      } catch {
        return  // It cannot be run twice, so it is no occasion.
      }
    case .effectsWithoutID:
      guard isLast else { return }
      unwritten = (client, commit.record(of: client))
      commit.clients = last.clients
    case .wrongDelta, .claimsToBeCurrent: return  // Breaches of pulls.
    }
    self.breach = nil
    breachCount += 1
  }

  private mutating func writeLate(_ client: ClientID) {
    guard let record = unwritten?.record, unwritten?.client == client else { return }
    unwritten = nil
    var commit = last
    commit.clients[client.number] = record
    commit.cause = .mutation(client, record.lastMutation)
    commits.append(commit)
  }

  // MARK: Changes from outside

  /// Commits all writes of a transaction from outside; none if it throws.
  @discardableResult
  package mutating func change<Result, Failure: Error>(
    _ body: (inout ViewTransaction<Value>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var commit = last
    let result = try commit.view.transact(body)
    commit.cause = .outside
    commits.append(commit)
    return result
  }

  // MARK: Queries

  /// The newest commit.
  package var last: Commit { commits[commits.count - 1] }

  /// The newest commit's number.
  package var lastNumber: CommitNumber { CommitNumber(UInt64(commits.count - 1)) }

  /// The commit of a number. There must be one.
  package func commit(_ number: CommitNumber) -> Commit { commits[Int(number.number)] }

  /// The client view that a client's pull gets, as of an existing commit; `nil`: the newest.
  package func view(for client: ClientID, asOf number: CommitNumber? = nil) -> FetchedView<Value> {
    let number = number ?? lastNumber
    let commit = commit(number)
    let record = commit.record(of: client)
    return FetchedView(
      client: client, view: commit.view.map, lastMutation: record.lastMutation,
      refusal: record.refusal, commit: tellsCommits ? number : nil,
      isCurrent: number == lastNumber)
  }

  /// As ``view(for:asOf:)``, but a plant's replica stops before the first change of the view, and
  /// still says that it is current.
  package mutating func read(
    for client: ClientID, asOf number: CommitNumber?
  ) -> FetchedView<Value> {
    guard breach == .claimsToBeCurrent else { return view(for: client, asOf: number) }
    let known = stoppedAt ?? lastNumber
    let stopped = commit(known).view == last.view ? lastNumber : known
    stoppedAt = stopped
    guard stopped < lastNumber else { return view(for: client, asOf: number) }
    breachCount += 1
    var view = view(for: client, asOf: stopped)
    view.isCurrent = true
    return view
  }
}

/// How many of a client's mutations a data layer has processed.
package struct ClientRecord: Hashable, Sendable {
  /// The last processed mutation; 0: none.
  package var lastMutation = MutationID.none
  /// The last refused mutation.
  package var refusal: MutationRefusal?

  package init() {}

  /// The ID that runs next.
  var next: MutationID { MutationID(lastMutation.number + 1) }

  /// The last refusal, if the client did not know of it when it pushed.
  func refusal(unknownTo push: MutationPush) -> MutationRefusal? {
    refusal(after: push.knownRefusal, orIn: push.voided)
  }

  /// The last refusal, unless the client knows it, or has declared its ID void.
  package func refusal(after known: MutationID, orIn voided: [MutationID]) -> MutationRefusal? {
    guard let refusal, refusal.id > known, !voided.contains(refusal.id) else { return nil }
    return refusal
  }
}

/// The data that a diff server fetches for one pull, as of one commit.
@usableFromInline
package struct FetchedView<Value: ViewValue>: Sendable {
  /// The client that pulls.
  @usableFromInline package var client: ClientID
  @usableFromInline package var view: VersionedMap<ViewKey, Value>
  /// The last processed mutation of the client that pulls.
  @usableFromInline package var lastMutation: MutationID
  /// The last refusal of the client that pulls.
  @usableFromInline package var refusal: MutationRefusal?
  /// `nil`: the data layer does not send it.
  @usableFromInline package var commit: CommitNumber?
  /// Whether there is no later commit. A data layer that reads a replica knows how far the replica
  /// has come, and whether that is all.
  @usableFromInline package var isCurrent: Bool

  @inlinable
  package init(
    client: ClientID, view: VersionedMap<ViewKey, Value>, lastMutation: MutationID,
    refusal: MutationRefusal? = nil, commit: CommitNumber? = nil, isCurrent: Bool = true
  ) {
    self.client = client
    self.view = view
    self.lastMutation = lastMutation
    self.refusal = refusal
    self.commit = commit
    self.isCurrent = isCurrent
  }
}
