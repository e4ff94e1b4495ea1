internal import SyncProtocols
internal import UpdateMachine

/// The server half of tables, said once more in the plainest way. It is given what the library's
/// server is given, and must say the same. The plants are said again, too. So a server with a plant
/// is judged like any other: what differs must be what the plant does, and no more.
struct TableTwin: Sendable {
  private struct Subscription: Sendable {
    var id: UInt64
    /// All that was ever notified in it.
    var told: [SyncedRow] = []
    var acknowledged = 0
    var polledAt: Moment
  }

  private let tableCount: UInt8
  /// Which limits the server has.
  private var pageMaximum = 0
  private var notificationMaximum = 0
  private var bufferMaximum = 0
  private var lifetime = TimeSpan.zero
  private var resolution: Int64 = 1
  private var rows = VersionedMap<TableRowKey, SyncedRow>()
  private var used = VersionedMap<TableRowKey, Bool>()
  /// The rows that ever had another parent.
  private var moved = VersionedMap<TableRowKey, Bool>()
  private var subscriptions: [Subscription] = []
  private var subscriptionCount: UInt64 = 0
  private var clock = TableStamp.distantPast
  /// What the server does wrong at every occasion.
  var breach: TableBreach?
  private(set) var breachCount: Int64 = 0

  init(of server: TableServer, tableCount: UInt8) {
    self.tableCount = tableCount
    takeLimits(of: server)
  }

  mutating func takeLimits(of server: TableServer) {
    pageMaximum = server.pageMaximum
    notificationMaximum = server.notificationMaximum
    bufferMaximum = server.bufferMaximum
    lifetime = server.lifetime
    resolution = server.resolution.milliseconds
  }

  private mutating func commits(_ occasion: TableBreach) -> Bool {
    if breach == occasion { breachCount += 1 }
    return breach == occasion
  }

  /// Stamps are whole multiples of the resolution, and none is before the last one.
  private mutating func stamp(at now: Moment) -> TableStamp {
    let whole = TableStamp(milliseconds: now.milliseconds / resolution * resolution)
    if clock < whole { clock = whole }
    return clock
  }

  // MARK: Subscriptions

  private mutating func subscribe(at now: Moment) -> UInt64 {
    subscriptionCount += 1
    subscriptions.append(Subscription(id: subscriptionCount, polledAt: now))
    return subscriptionCount
  }

  mutating func register(_ client: ClientID, at now: Moment) -> TableSnapshot {
    TableSnapshot(client: client, subscription: subscribe(at: now), tableCount: tableCount)
  }

  mutating func expire(_ id: UInt64) { subscriptions.removeAll { $0.id == id } }

  mutating func restart() { subscriptions = [] }

  mutating func advance(to now: Moment) {
    subscriptions.removeAll { $0.polledAt + lifetime <= now }
  }

  var subscriptionIDs: [UInt64] { subscriptions.map { $0.id } }

  /// The subscription that goes on from a finger. A fetch needs all of its notifications, and
  /// nothing comes twice that was acknowledged.
  private func followed(from finger: TableFinger) -> Int? {
    guard finger.watermarks.count == Int(tableCount) else { return nil }
    return subscriptions.firstIndex { subscription in
      guard subscription.id == finger.subscription else { return false }
      switch finger.progress {
      case .fetching(let fetch): return fetch.table < tableCount && subscription.acknowledged == 0
      case .draining(let heard), .following(let heard, _):
        return subscription.acknowledged <= heard && heard <= subscription.told.count
      }
    }
  }

  /// Only a client that has heard everything waits.
  func hasNews(for finger: TableFinger) -> Bool {
    guard let index = followed(from: finger), case .following(let heard, _) = finger.progress else {
      return true
    }
    return heard != subscriptions[index].told.count
  }

  // MARK: Answers

  mutating func answer(to finger: TableFinger, at now: Moment) -> TableBatch {
    let asOf = stamp(at: now)
    guard let index = followed(from: finger) else {
      let content = page(TableFetch(table: 0), from: finger)
      return TableBatch(subscription: subscribe(at: now), asOf: asOf, content: content)
    }
    subscriptions[index].polledAt = now
    var content: TableBatch.Content
    switch finger.progress {
    case .fetching(let fetch): content = page(fetch, from: finger)
    case .draining(let heard), .following(let heard, _):
      subscriptions[index].acknowledged = Int(heard)
      let rest = Array(subscriptions[index].told.dropFirst(Int(heard)))
      content = .notifications(after: heard, rest, isAll: true)
      if rest.count > notificationMaximum {
        content = .notifications(
          after: heard, Array(rest[..<notificationMaximum]), isAll: false)
      }
    }
    return TableBatch(subscription: finger.subscription, asOf: asOf, content: content)
  }

  private mutating func page(_ fetch: TableFetch, from finger: TableFinger) -> TableBatch.Content {
    let table = Int(fetch.table)
    let watermark = table < finger.watermarks.count ? finger.watermarks[table] : .distantPast
    var asked = rows.map { $0.value }.filter { row in
      guard row.key.table == fetch.table, watermark <= row.stamp else { return false }
      guard let last = fetch.page else { return true }
      return last.stamp < row.stamp || last.stamp == row.stamp && last.id < row.key.id
    }
    asked.sort { $0.stamp == $1.stamp ? $0.key.id < $1.key.id : $0.stamp < $1.stamp }
    let hasDeletion = asked.contains { $0.content == nil && watermark < $0.stamp }
    if hasDeletion, watermark != .distantPast, commits(.omitsDeletions) {
      asked = asked.filter { $0.content != nil }
    }
    let first = fetch.page?.stamp ?? watermark
    if let row = asked.first, row.stamp == first, commits(.excludesStart) {
      asked = asked.filter { $0.stamp != first }
    }
    guard asked.count > pageMaximum else {
      return .page(fetch, from: watermark, asked, isLast: true)
    }
    return .page(
      fetch, from: watermark, Array(asked[..<pageMaximum]), isLast: commits(.endsEarly))
  }

  // MARK: Changes

  /// Makes a change, or returns why not.
  mutating func make(_ change: TableChange, at now: Moment) -> String? {
    if let code = refusal(of: change) { return code }
    let key = change.row
    switch change {
    case .insert(_, let parent, let fields):
      used[key] = true
      rows[key] = SyncedRow(
        key, stamp: stamp(at: now), version: 1,
        content: SyncedRow.Content(parent: parent, fields: fields))
      notify(key)
    case .set(_, let fields), .restore(_, let fields, _):
      write(key, at: now) { content in
        for field in fields.members { content?.fields[field.name] = field.value }
      }
    case .move(_, let parent), .moveBack(_, let parent, _):
      if rows[key]?.content?.parent != parent { moved[key] = true }
      write(key, at: now) { $0?.parent = parent }
    case .delete: delete(key, at: now)
    }
    return nil
  }

  private func refusal(of change: TableChange) -> String? {
    let key = change.row
    guard key.table < tableCount else { return "unknown" }
    let content = rows[key]?.content
    func isGone(_ key: TableRowKey) -> String { used.contains(key) ? "deleted" : "unknown" }
    func refusal(ofParent parent: Int64?) -> String? {
      guard let parent else { return nil }
      if key.table == 0 { return "no-parent" }
      let above = TableRowKey(key.table - 1, parent)
      return rows[above]?.content == nil ? isGone(above) : nil
    }
    if case .insert(_, let parent, _) = change {
      return used.contains(key) ? "taken" : refusal(ofParent: parent)
    }
    guard let content else { return isGone(key) }
    switch change {
    case .move(_, let parent): return refusal(ofParent: parent)
    case .moveBack(_, let parent, let found):
      return content.parent == found ? refusal(ofParent: parent) : "changed"
    case .restore(_, _, let found):
      let isFound = found.members.allSatisfy { (content.fields[$0.name] ?? .null) == $0.value }
      return isFound ? nil : "changed"
    case .insert, .set, .delete: return nil
    }
  }

  /// All that is below goes first. What is below a node leaves no trace, unless it was moved in.
  private mutating func delete(_ key: TableRowKey, at now: Moment) {
    var gone: [TableRowKey] = []
    for (row, _) in rows where isBelow(row, key) { gone.append(row) }
    for row in gone {
      if key.table == 0, !moved.contains(row) { rows[row] = nil } else { bury(row, at: now) }
    }
    bury(key, at: now)
  }

  private func isBelow(_ row: TableRowKey, _ key: TableRowKey) -> Bool {
    guard let parent = rows[row]?.parent else { return false }
    return parent == key || isBelow(parent, key)
  }

  private mutating func bury(_ key: TableRowKey, at now: Moment) {
    moved[key] = nil
    write(key, at: now) { $0 = nil }
  }

  private mutating func write(
    _ key: TableRowKey, at now: Moment, _ change: (inout SyncedRow.Content?) -> Void
  ) {
    guard var row = rows[key] else { return }
    change(&row.content)
    row.version += 1
    let stamp = stamp(at: now)
    if stamp != row.stamp, !commits(.keepsStamp) { row.stamp = stamp }
    rows[key] = row
    notify(key)
  }

  private mutating func notify(_ key: TableRowKey) {
    guard let row = rows[key], !subscriptions.isEmpty, !commits(.skipsNotification) else { return }
    for index in subscriptions.indices { subscriptions[index].told.append(row) }
    subscriptions.removeAll { $0.told.count - $0.acknowledged > bufferMaximum }
  }
}
