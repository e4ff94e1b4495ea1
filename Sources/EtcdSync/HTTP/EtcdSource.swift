import Foundation
import SyncProtocols
public import UpdateMachine

/// The driver's source for a model that is a prefix of an etcd cluster's keys.
///
///     let source = try EtcdSource(cluster, prefix: "app/", for: EtcdMap.self)
///     let machine = UpdateMachine(source: source, store: store)
///
/// It registers with all keys of one revision, polls with a watch from the next revision on, and
/// sends changes as transactions. A model is ``EtcdMap``, ``EtcdModel``, or the app's own, made of
/// ``EtcdSnapshot`` and ``EtcdEvent``.
///
/// **Another history.** A client goes on only in the history that it knows. If every member says
/// that it is of another cluster, or of one that was restored from a backup, the state is given up,
/// the app's log gets `rejected(OTHER_HISTORY)`, and the client registers anew, slowly. As long as
/// one member does not answer, the client waits for it.
///
/// **Up to date.** What a poll returns is read at a quorum, or watched at a member that was level
/// with a quorum when the watch began. A member that is cut off later ends its watches. If it does
/// not, it is noticed after ``EtcdSettings/silence``.
public struct EtcdSource<Model: SyncModel>: SyncSource
where Model.Snapshot == EtcdSnapshot, Model.Event == EtcdEvent, Model.Lists == NoLists {
  public typealias Sync = EtcdLog
  typealias Plan =
    @Sendable (PushRequest<Model.Change>, Model.Change.State, EtcdFinger)
    throws(EtcdRecordError) -> EtcdPush.Plan
  typealias Judge =
    @Sendable (PushRequest<Model.Change>, EtcdEntry?) throws(EtcdRecordError) -> PushAnswer

  let connection: EtcdConnection
  let prefix: [UInt8]
  private let cadence: EtcdCadence
  private let plan: Plan
  private let judge: Judge
  private let memory = EtcdMemory()

  private init(
    _ connection: EtcdConnection, prefix: String, cadence: EtcdCadence,
    plan: @escaping Plan, judge: @escaping Judge
  ) throws(EtcdConnectionError) {
    let bytes = Array(prefix.utf8)
    guard let first = bytes.first, first != 0 else { throw .malformedPrefix }
    self.connection = connection
    self.prefix = bytes
    self.cadence = cadence
    self.plan = plan
    self.judge = judge
  }

  // MARK: Register

  /// Reads all keys of the prefix, page by page, as of the revision of the first page.
  @concurrent
  public func register(
    as client: ClientID
  ) async throws(SyncFailure) -> Registered<EtcdSnapshot, EtcdFinger> {
    memory.forget()
    do throws(EtcdFailure) {
      var pages = EtcdPages(prefix: prefix, limit: connection.settings.pageCount)
      repeat {
        let request = pages.request
        let fields: EtcdFields
        do throws(EtcdFailure) {
          fields = try await connection.first { (member, span) throws(EtcdFailure) in
            try await connection.ask(member, "/v3/kv/range", request.json, within: span)
          }
        } catch {
          guard error.reason == .tooLarge, pages.shrink() else { throw error }
          continue
        }
        try EtcdFailure.reading { () throws(EtcdWireError) in
          try pages.take(try EtcdRangeAnswer(fields))
        }
      } while pages.hasMore
      guard let finger = pages.finger else { throw EtcdFailure(EtcdWireError(field: "kvs")) }
      return Registered(
        snapshot: pages.snapshot(for: client), finger: finger, terms: terms)
    } catch {
      // What was thrown away between two pages was not ours yet.
      throw error.failure == .expired ? .serverFault : error.failure
    }
  }

  /// A watch is silent for ``EtcdSettings/silence``, and then the cluster is asked. History is kept
  /// until an administrator says otherwise; a year stands for that.
  private var terms: ServerTerms {
    let settings = connection.settings
    // First a watch is opened and checked. Each takes the last member's time at most.
    let long =
      settings.silence + settings.memberDeadline * Int64(connection.members.count)
      + settings.deadline * 2
    return ServerTerms(
      longDeadline: long + .seconds(10), lifetime: .seconds(365 * 86_400),
      cadence: cadence == .waits ? .waits : .pushed)
  }

  // MARK: Poll

  @concurrent
  public func poll(
    after finger: EtcdFinger, waits: Bool
  ) async throws(SyncFailure) -> EtcdBatch {
    do throws(EtcdFailure) {
      var batch = waits ? try await news(after: finger) : try await check(finger)
      batch.hidesReserved = !Model.Change.isPossible
      return batch
    } catch {
      throw error.failure
    }
  }

  /// Asks for what has changed up to now.
  private func check(_ finger: EtcdFinger) async throws(EtcdFailure) -> EtcdBatch {
    try await connection.first { (member, span) throws(EtcdFailure) in
      try await check(finger, at: member, within: span)
    }
  }

  private func check(
    _ finger: EtcdFinger, at member: EtcdAddress, within span: TimeSpan
  ) async throws(EtcdFailure) -> EtcdBatch {
    memory.distrust(member)
    let question = EtcdCheck.request(finger, prefix: prefix)
    let answer = try await ask(member, question, within: span)
    let verdict = try EtcdFailure.reading { () throws(EtcdWireError) in
      try EtcdCheck.verdict(answer, finger, prefix: prefix)
    }
    switch verdict {
    case .foreign: throw .foreign
    case .batch(let batch):
      memory.trust(member)
      return batch
    case .deleted(let count, let batch):
      let request = EtcdKeyList.request(finger, through: batch.through, prefix: prefix)
      let lists = try await ask(member, request, within: span)
      memory.trust(member)
      return try EtcdFailure.reading { () throws(EtcdWireError) in
        try EtcdKeyList.completed(batch, lacking: count, lists, prefix: prefix)
      }
    }
  }

  /// Asks for ranges.
  private func ask(
    _ member: EtcdAddress, _ transaction: EtcdTransaction, within span: TimeSpan
  ) async throws(EtcdFailure) -> EtcdTransactionAnswer {
    do throws(EtcdFailure) {
      let fields = try await connection.ask(
        member, "/v3/kv/txn", transaction.json, within: span)
      return try EtcdFailure.reading { () throws(EtcdWireError) in
        try EtcdTransactionAnswer(fields)
      }
    } catch {
      // So much has changed that a register, in pages, is better.
      throw error.reason == .tooLarge ? .expired : error
    }
  }

  /// Waits for something to happen, on a watch that goes on from one poll to the next.
  private func news(after finger: EtcdFinger) async throws(EtcdFailure) -> EtcdBatch {
    let settings = connection.settings
    let clock = SystemClock()
    var watch: EtcdWatch
    // However much a watch says, its member is asked now and then whether it is level.
    if let kept = memory.takeWatch(
      at: finger.revision, checkedAfter: clock.now - settings.silence)
    {
      watch = kept
    } else {
      let (opened, batch) = try await connection.first { (member, span) throws(EtcdFailure) in
        try await open(finger, at: member, within: span)
      }
      guard batch.events.isEmpty else {
        try keep(opened, at: batch.through)
        return batch
      }
      watch = opened
    }
    do throws(EtcdFailure) {
      if let batch = try await watch.batch(
        after: finger, prefix: prefix, within: settings.silence)
      {
        try keep(watch, at: batch.through)
        return batch
      }
      // A watch that says nothing proves nothing.
      let asked = clock.now
      let batch = try await check(finger)
      if batch.events.isEmpty {
        watch.checkedAt = asked
        try keep(watch, at: batch.through)
      } else {
        watch.exchange.end(.cancelled)  // It should have said so.
      }
      return batch
    } catch {
      watch.exchange.end(.cancelled)
      // It may have been restarted, with another history.
      memory.distrust(watch.member)
      // More has come than may be kept. The next watch goes on from here.
      throw error.reason == .tooLarge ? EtcdFailure(.unreachable, .broken) : error
    }
  }

  /// Keeps a watch for the next poll, unless the library has given this one up.
  private func keep(_ watch: EtcdWatch, at revision: Int64) throws(EtcdFailure) {
    guard !Task.isCancelled else {
      watch.exchange.end(.cancelled)
      throw .cancelled
    }
    memory.keep(watch, at: revision)
  }

  /// Opens a watch, and asks the same member whether its history is the finger's. In this order:
  /// what comes after the answer is then watched.
  private func open(
    _ finger: EtcdFinger, at member: EtcdAddress, within span: TimeSpan
  ) async throws(EtcdFailure) -> (EtcdWatch, EtcdBatch) {
    let request = EtcdWatchRequest(
      span: EtcdSpan(prefix: prefix), start: finger.revision + 1)
    let (exchange, header) = try await connection.open(member, request, within: span)
    do throws(EtcdFailure) {
      guard header.cluster == finger.cluster.number else { throw .foreign }
      let clock = SystemClock()
      let asked = clock.now
      let batch = try await check(finger, at: member, within: span)
      return (EtcdWatch(exchange: exchange, member: member, checkedAt: asked), batch)
    } catch {
      exchange.end(.cancelled)
      throw error
    }
  }

  /// Ends the watch. The cluster keeps nothing for a client.
  public func release(_ log: EtcdClusterID) async { memory.forget() }

  // MARK: Push

  /// Not to be called, and traps: no changes can be run without the state. The library passes it. A
  /// source around this one passes it on.
  public func push(
    _ push: PushRequest<Model.Change>, at finger: EtcdFinger?
  ) async throws(PushFailure) -> PushAnswer {
    preconditionFailure("a source around an EtcdSource must implement push(_:at:over:)")
  }

  /// Runs changes over the state, and writes what they have done.
  @concurrent
  public func push(
    _ push: PushRequest<Model.Change>, at finger: EtcdFinger?, over state: Model.Change.State?
  ) async throws(PushFailure) -> PushAnswer {
    guard let finger, let state else { return .behind }
    // What was pushed last has not come back yet, so the record that is known is an old one.
    guard finger.revision >= memory.pushedAt else { return .behind }
    let planned: EtcdPush
    switch try PushFailure.reading({ () throws(EtcdRecordError) in try plan(push, state, finger) })
    {
    case .answer(let answer): return answer
    case .send(let push): planned = push
    }
    let outcome: EtcdPush.Outcome
    let isWithOthers: Bool
    do throws(EtcdFailure) {
      (outcome, isWithOthers) = try await connection.firstOfAll {
        (member, span) throws(EtcdFailure) in
        try await write(planned, from: finger, at: member, within: span)
      }
    } catch {
      switch error.reason {
      case .foreign, .expired, .refused(.compacted), .refused(.future), .refused(.tooLarge):
        // A member that was asked before may yet run it.
        guard !error.hasLeft else { throw PushFailure(.serverFault) }
        // The next poll says the same, and what becomes of the state.
        return error.reason == .refused(.tooLarge) ? .tooLarge : .behind
      default: throw PushFailure(error.failure, hasLeft: error.hasLeft)
      }
    }
    guard case .notDone(let found) = outcome else { return planned.answer }
    let judged = try PushFailure.reading(hasLeft: isWithOthers) { () throws(EtcdRecordError) in
      try judge(push, found)
    }
    // What does not hold now may hold when another member runs it, late.
    if isWithOthers, judged == .behind { throw PushFailure(.serverFault) }
    return judged
  }

  /// Writes to a member of whose history it is known that it is the finger's. The outcome is
  /// ``EtcdPush/Outcome/done`` or ``EtcdPush/Outcome/notDone(_:)``; others throw.
  private func write(
    _ push: EtcdPush, from finger: EtcdFinger, at member: EtcdAddress, within span: TimeSpan
  ) async throws(EtcdFailure) -> EtcdPush.Outcome {
    if !memory.trusts(member) {
      do throws(EtcdFailure) {
        _ = try await check(finger, at: member, within: span)
      } catch {
        var error = error
        error.hasLeft = false  // The push was not sent.
        throw error
      }
    }
    memory.distrust(member)
    let answer: EtcdTransactionAnswer
    do throws(EtcdFailure) {
      let fields = try await connection.ask(
        member, "/v3/kv/txn", push.transaction.json, within: span)
      answer = try EtcdFailure.reading { () throws(EtcdWireError) in
        try EtcdTransactionAnswer(fields)
      }
    } catch {
      var error = error
      if error.isUndone { error.hasLeft = false }
      throw error
    }
    let outcome = EtcdPush.outcome(of: answer, at: finger)
    switch outcome {
    case .foreign, .doneElsewhere:
      var failure = EtcdFailure.foreign
      failure.hasLeft = outcome == .doneElsewhere
      throw failure
    case .done: memory.notePush(at: answer.header.revision)
    case .notDone: break
    }
    memory.trust(member)
    return outcome
  }
}

extension EtcdSource where Model.Change == Never {
  /// Creates a source for a model that only reads.
  ///
  /// - Parameters:
  ///   - connection: the cluster. Several sources may share it.
  ///   - prefix: what all keys of the model begin with; not empty. A slash at its end keeps the
  ///     keys apart from those of longer prefixes.
  ///   - model: the model's type.
  ///   - cadence: `waits`, the default, saves each batch before it asks for the next. `pushed`
  ///     takes them as they come.
  public init(
    _ connection: EtcdConnection, prefix: String, for model: Model.Type,
    cadence: EtcdCadence = .waits
  ) throws(EtcdConnectionError) {
    try self.init(
      connection, prefix: prefix, cadence: cadence,
      plan: { _, _, _ in .answer(.accepted) }, judge: { _, _ in .accepted })
  }
}

extension EtcdSource {
  /// Creates a source for a model whose user changes things.
  ///
  /// - Parameters:
  ///   - connection: the cluster. Several sources may share it.
  ///   - prefix: what all keys of the model begin with; not empty. A slash at its end keeps the
  ///     keys apart from those of longer prefixes.
  ///   - model: an ``EtcdModel`` of the app's changes.
  ///   - cadence: `waits`, the default, saves each batch before it asks for the next. `pushed`
  ///     takes them as they come.
  public init<Change: EtcdMutation>(
    _ connection: EtcdConnection, prefix: String, for model: EtcdModel<Change>.Type,
    cadence: EtcdCadence = .waits
  ) throws(EtcdConnectionError) where Model == EtcdModel<Change> {
    let bytes = Array(prefix.utf8)
    try self.init(
      connection, prefix: prefix, cadence: cadence,
      plan: { (push, state, finger) throws(EtcdRecordError) in
        try EtcdPush.plan(push, over: state, at: finger, prefix: bytes)
      },
      judge: { (push, record) throws(EtcdRecordError) in
        try EtcdPush.answer(push, found: record)
      })
  }
}

/// When a client asks for the next changes.
public enum EtcdCadence: Hashable, Sendable {
  /// When those that came last are applied and, with a store, saved.
  case waits
  /// At once: the watch is a subscription.
  case pushed
}

extension PushFailure {
  /// A record that is not one of ours: nothing was written.
  /// - Parameter hasLeft: whether another member may yet write it.
  fileprivate static func reading<Value>(
    hasLeft: Bool = false, _ body: () throws(EtcdRecordError) -> Value
  ) throws(PushFailure) -> Value {
    do throws(EtcdRecordError) {
      return try body()
    } catch {
      throw PushFailure(.malformed, hasLeft: hasLeft)
    }
  }
}
