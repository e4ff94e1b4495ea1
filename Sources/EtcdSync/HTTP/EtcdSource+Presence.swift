public import UpdateMachine

extension EtcdSource {
  /// Writes a key that is there as long as this task runs, and takes it away when the task is
  /// cancelled. Others see it come and go among their model's keys.
  ///
  ///     .task { try? await source.present(as: "here/ann-7", value: "Ann") }
  ///
  /// It is a key with a lease of etcd. The library renews the lease three times in its time to
  /// live. If the app is killed or suspended, or its network is away, the key goes when that time
  /// has passed, not before: a cluster that is started again lets it live as long anew. It comes
  /// back when the cluster can be asked again: after a third of the time at most, and another
  /// third, or two seconds if that is more, for each question that a silent member leaves
  /// unanswered.
  ///
  /// A presence is not a change: it does not go through the outbox, is not undone, and no order
  /// with changes is promised. It follows the history that this call has seen first; if all members
  /// are of another one, that one is followed from then on.
  ///
  /// - Parameters:
  ///   - key: a key below the prefix that no other client uses, and no change writes or reads. If
  ///     two clients use one, it stays until both have gone, but each may go for a moment.
  ///   - value: what others read.
  ///   - timeToLive: how long the key outlives an app that is killed. In whole seconds, from 1 s
  ///     to a day; etcd may grant more, and at least 2 s by default.
  /// - Throws: ``EtcdPresenceError``, when no later try would do better. All other failures are
  ///   tried again. Returns when the task is cancelled, once the key is deleted. If members are
  ///   silent, that takes up to ``EtcdSettings/memberDeadline``, of which each member gets its
  ///   share; if all are, the key goes when its time to live has passed.
  @concurrent
  public func present(
    as key: EtcdKey, value: String, timeToLive: TimeSpan = .seconds(30)
  ) async throws(EtcdPresenceError) {
    guard !key.isReserved else { throw .reservedKey }
    var presence = EtcdPresence(
      key: prefix + key.bytes, value: Array(value.utf8),
      timeToLive: timeToLive.milliseconds / 1000)
    let clock = SystemClock()
    var random = SystemRandomNumberGenerator()
    while !Task.isCancelled {
      switch await round(&presence) {
      case .rest(let from, let to):
        let span = Int64.random(in: from.milliseconds...to.milliseconds, using: &random)
        // It throws if the task is cancelled, which ends the loop.
        try? await clock.sleep(until: clock.now + .milliseconds(span))
      case .fail(let error):
        await takeBack(presence)
        throw error
      }
    }
    await takeBack(presence)
  }

  /// Performs a round with one member, or begins it anew with the next.
  private func round(_ presence: inout EtcdPresence) async -> EtcdPresence.Ending {
    do throws(EtcdFailure) {
      return try await connection.first { (member, span) throws(EtcdFailure) in
        let span = min(span, presence.patience)
        var question = presence.begin()
        while true {
          switch presence.handle(try await answer(to: question, at: member, within: span)) {
          case .ask(let next): question = next
          case .passOver: throw .foreign
          case .end(let ending): return ending
          }
        }
      }
    } catch {
      let isOtherHistory = error.reason == .foreign
      return presence.failed(isOtherHistory ? .otherHistory : .other(error.failure))
    }
  }

  private func answer(
    to question: EtcdPresence.Question, at member: EtcdAddress, within span: TimeSpan
  ) async throws(EtcdFailure) -> EtcdPresence.Answer {
    switch question {
    case .look(let range):
      return .looked(try await look(range, at: member, within: span))
    case .grant(let request):
      let fields = try await connection.ask(member, request.path, request.json, within: span)
      return .granted(
        try EtcdFailure.reading { () throws(EtcdWireError) in try EtcdLease(granted: fields) })
    case .renew(let request):
      let fields = try await connection.ask(member, request.path, request.json, within: span)
      return .renewed(
        try EtcdFailure.reading { () throws(EtcdWireError) in try EtcdLease(renewed: fields) })
    case .write(let transaction):
      do throws(EtcdFailure) {
        let fields = try await connection.ask(
          member, "/v3/kv/txn", transaction.json, within: span)
        return .written(
          try EtcdFailure.reading { () throws(EtcdWireError) in
            try EtcdTransactionAnswer(fields)
          })
      } catch {
        guard error.reason == .refused(.leaseNotFound) else { throw error }
        return .leaseNotFound
      }
    }
  }

  private func look(
    _ range: EtcdRangeRequest, at member: EtcdAddress, within span: TimeSpan
  ) async throws(EtcdFailure) -> EtcdRangeAnswer {
    let fields = try await connection.ask(member, "/v3/kv/range", range.json, within: span)
    return try EtcdFailure.reading { () throws(EtcdWireError) in try EtcdRangeAnswer(fields) }
  }

  /// Ends the lease, and with it the key. What was written to the cluster and comes late finds no
  /// lease, and is refused.
  private func takeBack(_ presence: EtcdPresence) async {
    guard presence.lease != 0 else { return }
    let clock = SystemClock()
    let end = clock.now + connection.settings.memberDeadline
    // A task of its own, because this one is cancelled. It ends: each member has a deadline.
    let revoking = Task {
      var membersLeft = Int64(connection.members.count)
      do throws(EtcdFailure) {
        try await connection.first { (member, _) throws(EtcdFailure) in
          // One that fails at once leaves its time to the others.
          let share = TimeSpan.milliseconds((end - clock.now).milliseconds / membersLeft)
          let due = clock.now + share
          membersLeft -= 1
          // A lease of this number in another history is not ours.
          let range = EtcdRangeRequest(EtcdSpan(key: presence.key))
          let answer = try await look(range, at: member, within: share)
          guard presence.knows(answer.header) else { throw .foreign }
          let request = EtcdLeaseRequest.revoke(presence.lease)
          _ = try await connection.ask(
            member, request.path, request.json, within: due - clock.now)
        }
      } catch {
        // The lease ends by itself, when its time to live has passed.
      }
    }
    await revoking.value
  }
}
