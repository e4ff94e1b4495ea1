package import UpdateMachine

/// The server half: tables of rows, and subscriptions to their changes. Simple, and slow with large
/// tables.
///
/// The host keeps waiting polls. It answers one as soon as ``hasNews(for:)``, and at each ping.
package struct TableServer: Sendable {
  /// A row at the server.
  struct Row: Sendable {
    var stamp: TableStamp
    var version: UInt64 = 1
    var parent: Int64?
    /// `nil`: deleted. Only the ID and the flag are left.
    var fields: JSONObject?
    /// Whether it ever had another parent.
    var wasMoved = false

    func sent(as key: TableRowKey) -> SyncedRow {
      SyncedRow(
        key, stamp: stamp, version: version,
        content: fields.map { SyncedRow.Content(parent: parent, fields: $0) })
    }
  }

  private struct Subscription: Sendable {
    var id: UInt64
    /// What the client has not acknowledged yet.
    var buffer: [SyncedRow] = []
    /// The number of notifications before the buffer's first.
    var dropped: UInt64 = 0
    var polledAt: Moment
  }

  /// The most rows in a page.
  package var pageMaximum = 100
  /// The most notifications in an answer.
  package var notificationMaximum = 100
  /// The most notifications that wait for a client. If there are more, its subscription ends. A
  /// fetch is cheaper then, and memory is bounded.
  package var bufferMaximum = 1000
  /// How long a subscription lives that no client polls.
  package var lifetime = TimeSpan.seconds(600)
  /// Stamps are multiples of this. Some databases store only whole seconds.
  package var resolution = TimeSpan.milliseconds(1)

  let tableCount: UInt8
  /// All rows, and what is left of those that are deleted.
  var stored = VersionedMap<TableRowKey, Row>()
  /// Every key that was ever used, with `true`. A server whose IDs are UUIDs does not need it.
  var taken = VersionedMap<TableRowKey, Bool>()
  private var subscriptions: [Subscription] = []
  private var lastSubscription: UInt64 = 0
  /// The latest stamp that was given. Stamps never go backwards, even if the clock does.
  var clock = TableStamp.distantPast

  /// The breach that happens at every occasion, as a mistake in a query does.
  package var breach: TableBreach?
  /// How often the server broke its contract.
  package private(set) var breachCount: Int64 = 0

  package init(tableCount: UInt8) { self.tableCount = tableCount }

  // MARK: Requests

  /// Begins a subscription for a client that has nothing.
  package mutating func register(_ client: ClientID, at now: Moment) -> TableSnapshot {
    TableSnapshot(client: client, subscription: subscribe(at: now), tableCount: tableCount)
  }

  /// Answers a poll. If the subscription is gone, another begins, and the fetch with it.
  package mutating func poll(_ finger: TableFinger, at now: Moment) -> TableBatch {
    tick(now)
    guard let index = index(of: finger) else {
      return page(TableFetch(table: 0), from: finger, for: subscribe(at: now))
    }
    subscriptions[index].polledAt = now
    guard case .fetching(let fetch) = finger.progress else {
      return notifications(after: finger.progress.heard ?? 0, at: index)
    }
    return page(fetch, from: finger, for: finger.subscription)
  }

  /// Whether a poll from there need not wait.
  package func hasNews(for finger: TableFinger) -> Bool {
    guard let index = index(of: finger), case .following(let heard, _) = finger.progress else {
      return true
    }
    return subscriptions[index].dropped + UInt64(subscriptions[index].buffer.count) > heard
  }

  /// Makes the changes in order, up to the first that it refuses. Makes a second copy like any
  /// other.
  package mutating func push(_ push: MutationPush, at now: Moment) -> PushAnswer {
    for mutation in push.mutations {
      do throws(ChangeRefusal) {
        guard let change = TableChange(name: mutation.name, arguments: mutation.arguments) else {
          throw ChangeRefusal("malformed")
        }
        try make(change, at: now)
      } catch {
        return .refused(MutationRefusal(mutation.id, error.code))
      }
    }
    return .accepted
  }

  // MARK: What happens there

  /// Ends a subscription: its connection is lost.
  package mutating func expire(_ subscription: UInt64) {
    subscriptions.removeAll { $0.id == subscription }
  }

  /// Ends the subscriptions that nobody polls any more.
  package mutating func advance(to now: Moment) {
    subscriptions.removeAll { now - $0.polledAt >= lifetime }
  }

  /// Starts anew. The tables are on disk; the subscriptions are not.
  package mutating func restart() { subscriptions = [] }

  // MARK: Queries

  /// The subscriptions, oldest first.
  package var subscriptionIDs: [UInt64] { subscriptions.map { $0.id } }

  /// The rows that are not deleted, ascending by key.
  package var rows: [SyncedRow] { allRows.filter { $0.content != nil } }

  /// All rows, including what is left of deleted ones, ascending by key.
  package var allRows: [SyncedRow] { stored.map { $0.value.sent(as: $0.key) } }

  // MARK: Helpers

  @discardableResult
  mutating func tick(_ now: Moment) -> TableStamp {
    let milliseconds = now.milliseconds - now.milliseconds % max(resolution.milliseconds, 1)
    clock = max(clock, TableStamp(milliseconds: milliseconds))
    return clock
  }

  private mutating func subscribe(at now: Moment) -> UInt64 {
    lastSubscription += 1
    subscriptions.append(Subscription(id: lastSubscription, polledAt: now))
    return lastSubscription
  }

  /// The index of the subscription that can be followed from a finger.
  private func index(of finger: TableFinger) -> Int? {
    guard let index = subscriptions.firstIndex(where: { $0.id == finger.subscription }),
      finger.watermarks.count == Int(tableCount)
    else { return nil }
    let subscription = subscriptions[index]
    switch finger.progress {
    case .fetching(let fetch):
      return fetch.table < tableCount && subscription.dropped == 0 ? index : nil
    case .draining(let heard), .following(let heard, _):
      let end = subscription.dropped + UInt64(subscription.buffer.count)
      return (subscription.dropped...end).contains(heard) ? index : nil
    }
  }

  private mutating func page(
    _ fetch: TableFetch, from finger: TableFinger, for subscription: UInt64
  ) -> TableBatch {
    let table = Int(fetch.table)
    let watermark =
      finger.watermarks.indices.contains(table) ? finger.watermarks[table] : .distantPast
    var rows: [SyncedRow] = []
    for (key, row) in stored.ascending(from: TableRowKey(fetch.table, .min)) {
      guard key.table == fetch.table else { break }
      guard row.stamp >= watermark else { continue }
      if let end = fetch.page, (row.stamp, key.id) <= (end.stamp, end.id) { continue }
      rows.append(row.sent(as: key))
    }
    rows.sort { ($0.stamp, $0.key.id) < ($1.stamp, $1.key.id) }
    // Only a client that holds rows must hear of deletions.
    let isDeletion = { (row: SyncedRow) in row.content == nil && row.stamp > watermark }
    if watermark > .distantPast, rows.contains(where: isDeletion), commits(.omitsDeletions) {
      rows.removeAll { $0.content == nil }
    }
    let start = fetch.page?.stamp ?? watermark
    if rows.first?.stamp == start, commits(.excludesStart) {
      rows.removeAll { $0.stamp == start }
    }
    let isLast = rows.count <= pageMaximum || commits(.endsEarly)
    rows = Array(rows.prefix(pageMaximum))
    return TableBatch(
      subscription: subscription, asOf: clock,
      content: .page(fetch, from: watermark, rows, isLast: isLast))
  }

  /// What the client has heard is acknowledged, and dropped.
  private mutating func notifications(after heard: UInt64, at index: Int) -> TableBatch {
    subscriptions[index].buffer.removeFirst(Int(heard - subscriptions[index].dropped))
    subscriptions[index].dropped = heard
    let buffer = subscriptions[index].buffer
    return TableBatch(
      subscription: subscriptions[index].id, asOf: clock,
      content: .notifications(
        after: heard, Array(buffer.prefix(notificationMaximum)),
        isAll: buffer.count <= notificationMaximum))
  }

  /// Notifies all subscribers of a row.
  mutating func announce(_ key: TableRowKey) {
    guard let row = stored[key]?.sent(as: key) else { return }
    if !subscriptions.isEmpty, commits(.skipsNotification) { return }
    for index in subscriptions.indices { subscriptions[index].buffer.append(row) }
    subscriptions.removeAll { $0.buffer.count > bufferMaximum }
  }

  /// Whether this breach was armed. Then it happens now, and again at the next occasion.
  mutating func commits(_ occasion: TableBreach) -> Bool {
    guard breach == occasion else { return false }
    breachCount += 1
    return true
  }
}

/// The ways in which a server of tables can break its contract (*plants*), where a client must
/// trust it. An oracle must catch each.
package enum TableBreach: String, CaseIterable, Hashable, Sendable {
  /// A change is not notified to anyone.
  case skipsNotification = "skips-notification"
  /// A page begins after a stamp: its watermark, or the stamp of the last page's last row. Rows
  /// with this stamp are missing.
  case excludesStart = "excludes-start"
  /// A page with others after it is called the last.
  case endsEarly = "ends-early"
  /// A fetch leaves out what is deleted.
  case omitsDeletions = "omits-deletions"
  /// A changed row keeps its old stamp.
  case keepsStamp = "keeps-stamp"
}
