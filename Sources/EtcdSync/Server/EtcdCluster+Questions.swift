import SyncProtocols
package import UpdateMachine

/// Why a cluster gave no answer that a client can use.
package enum EtcdTrouble: Error, Hashable, Sendable {
  /// The cluster has refused the request.
  case refused(EtcdRefusal)
  /// It is not the history that the client knows.
  case foreign
  /// An answer contradicts itself, or the question. The field says where.
  case malformed(String)
}

/// What ``EtcdSource`` asks a cluster, and how it judges the answers: each is one request.
extension EtcdCluster {
  /// Reads all keys of a prefix, in pages, for a client that registers.
  package mutating func snapshot(
    of prefix: [UInt8], for client: ClientID, pageCount: Int64, at member: Int
  ) throws(EtcdTrouble) -> (EtcdSnapshot, EtcdFinger) {
    var pages = EtcdPages(prefix: prefix, limit: pageCount)
    let lag = lagOfRange(EtcdSpan(prefix: prefix))
    repeat {
      let request = pages.request
      var answer = try EtcdCluster.asking { () throws(EtcdRefusal) in try range(request, at: member)
      }
      if let lag { answer.range = lag.range(request) }
      try EtcdCluster.reading { () throws(EtcdWireError) in try pages.take(answer) }
    } while pages.hasMore
    if lag != nil { breachCount += 1 }
    guard let finger = pages.finger else { throw .malformed("kvs") }
    return (pages.snapshot(for: client), finger)
  }

  /// The plant: an older state, in place of which a range names the present revision; `nil`: none
  /// differs.
  private func lagOfRange(_ span: EtcdSpan) -> OlderKeys? {
    guard breach == .rangeIsOlder else { return nil }
    let isNews = self[revision].events.contains {
      span.contains($0.pair.key) && !$0.pair.key.dropFirst(span.start.count).starts(with: [0])
    }
    return isNews ? OlderKeys(cluster: self, revision: revision - 1) : nil
  }

  private struct OlderKeys {
    let cluster: EtcdCluster
    let revision: Int64

    func range(_ request: EtcdRangeRequest) -> EtcdRange {
      var request = request
      request.revision = revision
      return cluster.read(request, cluster[revision].keys)
    }
  }

  /// What has changed since a finger, as far as the first question tells.
  package enum Checked: Sendable {
    /// All that has changed.
    case batch(EtcdBatch)
    /// So many keys are gone besides. ``gone(_:since:besides:)`` asks which.
    case deleted(Int64, besides: EtcdBatch)
  }

  /// Asks what has changed since a finger. The member that is asked catches up with the others.
  package mutating func changes(
    since finger: EtcdFinger, of prefix: [UInt8], at member: Int
  ) throws(EtcdTrouble) -> Checked {
    let question = EtcdCheck.request(finger, prefix: prefix)
    let answer = try ask(question, at: member)
    let verdict = try EtcdCluster.reading { () throws(EtcdWireError) in
      try EtcdCheck.verdict(answer, finger, prefix: prefix)
    }
    switch verdict {
    case .foreign: throw .foreign
    case .batch(let batch): return .batch(batch)
    case .deleted(let count, let batch): return .deleted(count, besides: batch)
    }
  }

  /// Asks which keys are gone, and completes a batch with them.
  package mutating func gone(
    _ count: Int64, since finger: EtcdFinger, besides batch: EtcdBatch, of prefix: [UInt8],
    at member: Int
  ) throws(EtcdTrouble) -> EtcdBatch {
    let question = EtcdKeyList.request(finger, through: batch.through, prefix: prefix)
    let answer = try ask(question, at: member)
    return try EtcdCluster.reading { () throws(EtcdWireError) in
      try EtcdKeyList.completed(batch, lacking: count, answer, prefix: prefix)
    }
  }

  /// What an open watch tells a client at a finger; `nil`: nothing yet.
  package mutating func news(
    from watch: EtcdClusterWatch, after finger: EtcdFinger, of prefix: [UInt8]
  ) throws(EtcdTrouble) -> EtcdBatch? {
    let message = try EtcdCluster.asking { () throws(EtcdRefusal) in
      try next(of: EtcdSpan(prefix: prefix), watch)
    }
    guard let message else { return nil }
    return try EtcdCluster.reading { () throws(EtcdWireError) in
      try EtcdBatch(message.events, message.header, prefix: prefix, after: finger)
    }
  }

  /// Sends a planned push, and judges what the cluster says.
  package mutating func take<Change: EtcdMutation>(
    _ planned: EtcdPush, of push: PushRequest<Change>, from finger: EtcdFinger, at member: Int
  ) throws(EtcdTrouble) -> PushAnswer {
    let answer: EtcdTransactionAnswer
    do throws(EtcdTrouble) {
      answer = try ask(planned.transaction, at: member)
    } catch {
      switch error {
      // As a source says: the next poll says the same, and what becomes of the state.
      case .foreign, .refused(.compacted), .refused(.future): return .behind
      case .refused(.tooLarge): return .tooLarge
      case .refused, .malformed: throw error
      }
    }
    switch EtcdPush.outcome(of: answer, at: finger) {
    case .done: return planned.answer
    case .foreign: return .behind
    case .doneElsewhere: throw .refused(.unavailable)  // As good as no answer.
    case .notDone(let record):
      do throws(EtcdRecordError) {
        return try EtcdPush.answer(push, found: record)
      } catch {
        throw .malformed("a record")
      }
    }
  }

  // MARK: Helpers

  private mutating func ask(
    _ transaction: EtcdTransaction, at member: Int
  ) throws(EtcdTrouble) -> EtcdTransactionAnswer {
    try EtcdCluster.asking { () throws(EtcdRefusal) in try perform(transaction, at: member) }
  }

  private static func asking<Answer>(
    _ body: () throws(EtcdRefusal) -> Answer
  ) throws(EtcdTrouble) -> Answer {
    do throws(EtcdRefusal) {
      return try body()
    } catch {
      throw .refused(error)
    }
  }

  private static func reading<Value>(
    _ body: () throws(EtcdWireError) -> Value
  ) throws(EtcdTrouble) -> Value {
    do throws(EtcdWireError) {
      return try body()
    } catch {
      throw .malformed(error.field)
    }
  }
}
