internal import SyncProtocols
internal import UpdateMachine

/// The library's own server of a change log, beside the world's: both are given the same changes,
/// and must give the same answers. Each was written without the other, so what one of them does
/// wrong shows.
struct LogTwin<Event: Sendable>: Sendable {
  /// A state of which only the number of changes is known.
  private struct Truth: ServerTruth {
    var snapshot: Int64 = 0
    var checksum: UInt64 { UInt64(snapshot) }

    /// - Parameter change: what is logged; `nil`: nothing is.
    mutating func apply(_ change: Logged?) { snapshot += 1 }

    func announcement(of change: Logged?) -> Logged? { change }
  }

  /// What is in a row: an event, or none, which no client understands.
  private struct Logged: Sendable {
    var event: Event?
  }

  /// An answer to a poll; `nil` in its place: the place has expired.
  struct Answer: Equatable, Sendable {
    var through: Int64
    var hasMore: Bool
    var numbers: [Int64]
  }

  private var server = ChangeLogServer(ChangeLogEpoch("log1"), truth: Truth())

  static func epoch(_ log: Int) -> ChangeLogEpoch { ChangeLogEpoch("log\(log + 1)") }

  /// Commits a change that is not logged.
  mutating func commit() { server.commit(nil) }

  /// Commits a change that is logged.
  mutating func commit(_ event: Event?, retained: Int) {
    server.retained = retained
    server.commit(Logged(event: event))
  }

  mutating func forget() { server.forget() }

  mutating func begin(log: Int) { server.begin(LogTwin.epoch(log), truth: Truth()) }

  /// What is wrong with an answer; `nil`: the twin gives the same.
  func objection(
    to answer: Answer?, after number: Int64, inLog log: Int, atMost maximum: Int
  ) -> String? {
    var twin = server
    twin.pageMaximum = maximum
    var own: Answer?
    do throws(SyncFailure) {
      let batch = try twin.changes(
        after: ChangeLogPlace(epoch: LogTwin.epoch(log), number: number))
      own = Answer(
        through: batch.through, hasMore: batch.hasMore, numbers: batch.changes.map { $0.number })
    } catch {}
    let snapshot = server.snapshot
    guard own == answer else {
      return "after \(number) \(LogTwin.words(answer)), and of the library \(LogTwin.words(own))"
    }
    return snapshot.state == snapshot.number
      ? nil : "\(snapshot.state) changes have the number \(snapshot.number)"
  }

  private static func words(_ answer: Answer?) -> String {
    answer.map { "\($0.numbers) through \($0.through)\($0.hasMore ? ", and more" : "")" }
      ?? "nothing: it has expired"
  }
}
