public import UpdateMachine

/// The data layer of one user, as a plain value: it owns the truth, and runs the mutations that
/// clients push. Users share nothing, so many of them are many of these.
///
/// It promises what the seed asks of it: mutations are run serially; one whose ID is not exactly the
/// one after the client's last is ignored; effects and last mutation ID are one transaction. Pushes may
/// be accepted first and run later, or be lost in between. The client view may be fetched as of any
/// commit that there was: it may lag, and flap.
///
/// A mutation that its mutator refuses is over, too: it becomes the client's last, in one transaction
/// with the refusal, and without effects. Until the client has heard of it, whatever it pushes is
/// ignored, for it was meant to come after the effects. That is ours; so an ID never names two
/// mutations that could both be run, however late old pushes arrive: a client that heard of the refusal
/// may give the IDs above it anew.
public struct DataLayer<Mutators: ViewMutators>: Sendable {
  public typealias Value = Mutators.Value

  public let mutators: Mutators
  /// Whether the client view comes with its commit's number.
  public var tellsCommits: Bool
  /// Every commit there ever was, the empty state first. They share what they have in common.
  @usableFromInline var commits: [Commit] = [Commit()]
  /// Pushes that were accepted and not yet run, in their order.
  public private(set) var accepted: [MutationPush] = []

  /// How this data layer breaks its contract at the next occasion; `nil`: it does not.
  public var breach: ViewBreach?
  /// How often it did.
  public private(set) var breachCount: Int64 = 0

  /// A client's record that is written only with its next push: the plant's.
  private var unwritten: (client: ClientID, record: ClientRecord)?

  /// How many pushes may wait to be run: clients push again what is not confirmed, so a data layer that
  /// stalls would otherwise gather their copies without end.
  @inlinable
  public static var acceptedMaximum: Int { 1000 }

  /// One state, and what led to it.
  public struct Commit: Sendable {
    public fileprivate(set) var view = ViewMap<Value>()
    public fileprivate(set) var cause = Cause.beginning
    fileprivate var clients = VersionedMap<UInt64, ClientRecord>()

    /// How far the mutations of a client are in it.
    public func record(of client: ClientID) -> ClientRecord {
      clients[client.number] ?? ClientRecord()
    }
  }

  /// What led to a commit.
  public enum Cause: Hashable, Sendable {
    case beginning
    /// Somebody else: a batch job, another user, another program.
    case outside
    case mutation(ClientID, MutationID)
    case refusal(ClientID, MutationID)
  }

  public init(_ mutators: Mutators, tellsCommits: Bool = true) {
    self.mutators = mutators
    self.tellsCommits = tellsCommits
  }

  // MARK: Pushes

  /// Takes a push, to be run later; says whether there was room for it.
  public mutating func accept(_ push: MutationPush) -> Bool {
    guard accepted.count < DataLayer.acceptedMaximum else { return false }
    accepted.append(push)
    return true
  }

  /// Runs the push that was accepted first; `nil`: none waits.
  @discardableResult
  public mutating func runNext() -> PushAnswer? {
    guard !accepted.isEmpty else { return nil }
    return run(accepted.removeFirst())
  }

  /// Loses the push that was accepted first, as a queue in memory does. Its client will push again.
  public mutating func loseNext() {
    if !accepted.isEmpty { accepted.removeFirst() }
  }

  /// Runs a push now.
  public mutating func run(_ push: MutationPush) -> PushAnswer {
    let client = push.client
    writeLate(client)
    if let refusal = last.record(of: client).refusal(unknownTo: push) { return .refused(refusal) }
    var voided = push.voided[...]
    for mutation in push.mutations {
      consume(&voided, of: client)
      let record = last.record(of: client)
      // What is not the next one was run before, or comes too early: both are normal.
      guard mutation.id == record.next else { continue }
      run(mutation, of: client, record, isLast: mutation.id == push.mutations.last?.id)
      let refusal = last.record(of: client).refusal
      if let refusal, refusal != record.refusal { return .refused(refusal) }
    }
    return .accepted
  }

  /// What its client counts as refused is refused, when its turn comes: nobody waits for it any more.
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

  /// The plants. Each needs a mutation that has effects; one needs it to be the last of its push.
  private mutating func breakContract(
    of mutation: NamedMutation, _ commit: inout Commit, of client: ClientID, isLast: Bool
  ) {
    guard let breach, commit.view != last.view else { return }
    switch breach {
    case .skipsAMutation: commit.view = last.view
    case .appliesTwice:
      guard let twice = try? effects(of: mutation, on: commit.view), twice != commit.view else {
        return
      }
      commit.view = twice
    case .effectsWithoutID:
      guard isLast else { return }
      unwritten = (client, commit.record(of: client))
      commit.clients = last.clients
    case .wrongDelta: return  // The diff server's.
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

  /// Makes what a transaction of somebody else writes, all of it; nothing if it throws.
  @discardableResult
  public mutating func change<Result, Failure: Error>(
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
  public var last: Commit { commits[commits.count - 1] }

  /// Its number.
  public var lastNumber: CommitNumber { CommitNumber(UInt64(commits.count - 1)) }

  /// The commit of a number that there is.
  public func commit(_ number: CommitNumber) -> Commit { commits[Int(number.number)] }

  /// The client view as a client's pull finds it, as of a commit that there is; `nil`: the newest.
  public func view(for client: ClientID, asOf number: CommitNumber? = nil) -> FetchedView<Value> {
    let number = number ?? lastNumber
    let commit = commit(number)
    let record = commit.record(of: client)
    return FetchedView(
      client: client, view: commit.view.map, lastMutation: record.lastMutation,
      refusal: record.refusal,
      commit: tellsCommits ? number : nil)
  }
}

/// How far a client's mutations are in a data layer.
public struct ClientRecord: Hashable, Sendable {
  /// The last one that was seen to; 0: none was.
  public var lastMutation = MutationID.none
  /// The last one that was refused.
  public var refusal: MutationRefusal?

  public init() {}

  /// The ID that is run next.
  var next: MutationID { MutationID(lastMutation.number + 1) }

  /// The last refusal, if the client did not know of it when it pushed.
  func refusal(unknownTo push: MutationPush) -> MutationRefusal? {
    guard let refusal, refusal.id > push.knownRefusal, !push.voided.contains(refusal.id) else {
      return nil
    }
    return refusal
  }
}

/// What a diff server fetches for one pull: all of it as of one commit.
public struct FetchedView<Value: ViewValue>: Sendable {
  /// Who pulls.
  public var client: ClientID
  public var view: VersionedMap<ViewKey, Value>
  /// Of the client that pulls.
  public var lastMutation: MutationID
  /// Of the client that pulls.
  public var refusal: MutationRefusal?
  /// `nil`: the data layer does not tell.
  public var commit: CommitNumber?

  @inlinable
  public init(
    client: ClientID, view: VersionedMap<ViewKey, Value>, lastMutation: MutationID,
    refusal: MutationRefusal? = nil, commit: CommitNumber? = nil
  ) {
    self.client = client
    self.view = view
    self.lastMutation = lastMutation
    self.refusal = refusal
    self.commit = commit
  }
}
