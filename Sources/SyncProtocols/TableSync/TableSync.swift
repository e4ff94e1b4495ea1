// TableSync: the room of NextApp's protocol, client half and server half, as plain values. It
// follows the author's article on the app's local cache; comments say which rules are ours.
//
// TableSync may use: JSON, Server.

public import UpdateMachine

/// The client half: how the answer to a poll follows on a finger.
///
/// The server has tables of rows. A row may refer to a parent in the table above. The server marks
/// each row with the time of its last change. There is no log: a client fetches the rows that have
/// changed since the *watermark* of each table.
///
///     subscribe ──▶ fetch table 0 ──▶ … ──▶ fetch the last table ──▶ drain ──▶ follow
///         ▲          (the server holds notifications back meanwhile)             │
///         └──────────────── the subscription is lost, at any time ───────────────┘
///
/// The tables are read at different moments, so a fetched row may refer to one that has not come
/// yet. Everything that changes after the subscription began is told again by a notification, and a
/// row is taken only if it is newer. So after the notifications have been drained, the client holds
/// the server's state. ``TableModel`` shows nothing before that.
///
/// A lost subscription is no failure. The next poll subscribes anew, and fetches from the
/// watermarks.
///
/// Notifications come in the order of the changes, and stamps never go backwards in that order.
/// Both are promises of the server. A database that stamps a row before its transaction commits
/// breaks the second, and its clients would miss rows.
public enum TableSync: SyncProtocol {
  public typealias Place = TableFinger
  public typealias Batch = TableBatch

  public static func advance(
    _ finger: TableFinger, over batch: TableBatch
  ) -> SyncAdvance<TableFinger> {
    switch batch.content {
    case .page(let fetch, let watermark, let rows, let isLast):
      page(of: fetch, from: watermark, rows, isLast: isLast, finger, in: batch)
    case .notifications(let number, let rows, let isAll):
      notifications(after: number, rows, isAll: isAll, from: finger, in: batch)
    }
  }

  /// A watermark moves to the stamp of the page's last row. But it never moves beyond the time at
  /// which the first page was read: rows that changed then may sort before a later page.
  private static func page(
    of fetch: TableFetch, from watermark: TableStamp, _ rows: [SyncedRow], isLast: Bool,
    _ finger: TableFinger, in batch: TableBatch
  ) -> SyncAdvance<TableFinger> {
    let isSame = batch.subscription == finger.subscription
    let place = isSame ? finger.progress : .fetching(TableFetch(table: 0))
    let table = fetch.table
    guard place == .fetching(fetch), Int(table) < finger.watermarks.count,
      watermark <= finger.watermarks[Int(table)]
    else { return .gap }
    let began = fetch.page?.began ?? batch.asOf
    var last = fetch.page
    for row in rows {
      guard row.key.table == table, row.stamp >= watermark else { return .gap }
      if let last, (row.stamp, row.key.id) <= (last.stamp, last.id) { return .gap }
      last = TablePageEnd(began: began, stamp: row.stamp, id: row.key.id)
    }
    var next = finger
    next.subscription = batch.subscription
    if isLast {
      next.raise(table, to: began)
      let isEnd = Int(table) + 1 == finger.watermarks.count
      next.progress = isEnd ? .draining(0) : .fetching(TableFetch(table: table + 1))
    } else {
      // A page without rows would be asked for again for ever (SyncBugs 75).
      guard let last, !rows.isEmpty else { return .gap }
      next.raise(table, to: min(last.stamp, began))
      next.progress = .fetching(TableFetch(table: table, page: last))
    }
    return .next(next, first: 0, isComplete: false)
  }

  /// Drops the notifications that were taken before: the answer to our last request was lost.
  private static func notifications(
    after number: UInt64, _ rows: [SyncedRow], isAll: Bool, from finger: TableFinger,
    in batch: TableBatch
  ) -> SyncAdvance<TableFinger> {
    guard batch.subscription == finger.subscription, let heard = finger.progress.heard,
      number <= heard
    else { return .gap }
    guard heard - number <= UInt64(rows.count) else { return .incomplete }  // An old answer.
    let first = Int(heard - number)
    var next = finger
    var stamp = TableStamp.distantPast
    for row in rows {
      guard Int(row.key.table) < finger.watermarks.count, row.stamp >= stamp else { return .gap }
      stamp = row.stamp
      next.raise(row.key.table, to: stamp)
    }
    let nextHeard = number &+ UInt64(rows.count)
    guard isAll else {
      guard first < rows.count else { return .incomplete }
      next.progress = .draining(nextHeard)
      return .next(next, first: first, isComplete: false)
    }
    var isSettled = false
    if case .following(_, let wasSettled) = finger.progress, first == rows.count {
      // The watermarks pass the last change once, so that a reconnect need not fetch it again. They
      // do not move with every ping.
      let least = finger.watermarks.min() ?? batch.asOf
      guard !wasSettled, batch.asOf > least else { return .seen }
      isSettled = true
    }
    for table in finger.watermarks.indices { next.raise(UInt8(table), to: batch.asOf) }
    next.progress = .following(nextHeard, isSettled: isSettled)
    return .next(next, first: first)
  }
}

extension ServerTerms {
  /// The terms of a server of tables. Clients subscribe: after each answer of a waiting poll, the
  /// next one goes on. Watermarks never expire. A year stands for that.
  ///
  /// - Parameter period: the time between two pings, after which a waiting poll is answered at the
  ///   latest. Silence for one and a half times as long is an outage.
  public static func tableSync(pingingEvery period: TimeSpan = .seconds(20)) -> ServerTerms {
    ServerTerms(
      longDeadline: period + .milliseconds(max(period.milliseconds / 2, 1)),
      lifetime: .seconds(365 * 86_400),
      cadence: .pushed)
  }
}
