package import UpdateMachine

/// The server half: a truth, and the log of its changes, as a plain value.
///
/// It keeps the newest changes, ``retained`` at most. A place before the oldest of them is
/// `expired`, and so is one of another epoch, or beyond the latest number: only a server that has
/// lost changes is asked for what comes after a number that it has never given.
package struct ChangeLogServer<Truth: ServerTruth>: Sendable {
  /// The present state, which clients follow.
  package private(set) var truth: Truth
  package private(set) var epoch: ChangeLogEpoch
  /// The number of the last change; 0: there was none in this epoch.
  package private(set) var latest: Int64 = 0
  /// The most changes that are kept. Takes effect with the next change.
  package var retained = 1000
  /// The most changes in one answer; at least 1.
  package var pageMaximum = 100

  /// Ascending. A change of which clients are not told has a number, and no row.
  private var rows: [LoggedChange<Truth.Event>] = []
  /// The number of the last row that was forgotten.
  private var forgotten: Int64 = 0

  package init(_ epoch: ChangeLogEpoch, truth: Truth) {
    self.epoch = epoch
    self.truth = truth
  }

  /// Makes a change and logs it, in one step.
  package mutating func commit(_ change: Truth.Change) {
    let event = truth.announcement(of: change)
    truth.apply(change)
    latest += 1
    if let event { rows.append(LoggedChange(number: latest, event: event)) }
    forget(rows.count - retained)
  }

  /// Forgets all changes so far. A client that lacks any of them starts over.
  package mutating func forget() { forget(rows.count) }

  private mutating func forget(_ count: Int) {
    guard 0 < count, 0 < rows.count else { return }
    forgotten = rows[min(count, rows.count) - 1].number
    rows.removeFirst(min(count, rows.count))
  }

  /// Begins another epoch, as a server must after its truth was restored from a backup. Each epoch
  /// needs a name that was never used before.
  package mutating func begin(_ epoch: ChangeLogEpoch, truth: Truth) {
    self.epoch = epoch
    self.truth = truth
    latest = 0
    rows = []
    forgotten = 0
  }

  /// Answers a register: the state and the number of its last change, read in one step.
  package var snapshot: ChangeLogSnapshot<Truth.Snapshot> {
    ChangeLogSnapshot(epoch: epoch, number: latest, state: truth.snapshot)
  }

  /// Answers a poll at once. Throws `expired` if it cannot name all changes after the place.
  /// O(log n + changes in the answer) with n changes kept.
  package func changes(
    after place: ChangeLogPlace
  ) throws(SyncFailure) -> ChangeLogBatch<Truth.Event> {
    guard place.epoch == epoch, forgotten <= place.number, place.number <= latest else {
      throw .expired
    }
    let news = rows[firstRow(after: place.number)...]
    let page = news.prefix(max(pageMaximum, 1))
    let hasMore = page.count < news.count
    return ChangeLogBatch(
      epoch: epoch, after: place.number, through: hasMore ? page.last?.number ?? latest : latest,
      hasMore: hasMore, changes: Array(page))
  }

  /// The index of the first row with a greater number.
  private func firstRow(after number: Int64) -> Int {
    var (low, high) = (0, rows.count)
    while low < high {
      let middle = (low + high) / 2
      if rows[middle].number > number { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
