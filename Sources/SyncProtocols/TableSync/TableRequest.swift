/// A request for rows: what a source must ask its server, and how it makes the answer.
public struct TableRequest: Hashable, Sendable {
  /// The subscription that the client knows. If the server does not have it any more, the source
  /// begins another one, and makes the request of ``init(after:in:)`` for that.
  public let subscription: UInt64
  /// What is asked for.
  public let want: Want
  private let finger: TableFinger

  /// What a request asks for.
  public enum Want: Hashable, Sendable {
    /// A page of a table: all rows with this stamp or a later one; with this very stamp only those
    /// with a greater ID. Ascending by stamp and ID, as many as the server likes, but one at least
    /// if there is any. What is deleted is among them. `nil`: from the beginning, whatever the ID.
    case rows(table: UInt8, from: TableStamp?, afterID: Int64?)
    /// The notifications of the subscription after this many, in the order of the changes. The
    /// server may forget the earlier ones. A client that was killed may ask for some of them again:
    /// then the subscription is gone, as if it had ended. The answer may wait until there are any,
    /// but not longer than the terms say (`ServerTerms.tableSync`).
    case notifications(after: UInt64)
  }

  /// Prepares a request.
  ///
  /// - Parameters:
  ///   - finger: the finger of the poll.
  ///   - subscription: a subscription that has begun just now, because the server does not have the
  ///     finger's any more; `nil`: the finger's. In a new one, everything is fetched from the
  ///     watermarks on.
  public init(after finger: TableFinger, in subscription: UInt64? = nil) {
    var finger = finger
    if let subscription, subscription != finger.subscription {
      finger.subscription = subscription
      finger.progress = .fetching(TableFetch(table: 0))
    }
    self.finger = finger
    self.subscription = finger.subscription
    switch finger.progress {
    case .draining(let heard), .following(let heard, _): want = .notifications(after: heard)
    case .fetching(let fetch):
      let watermark = TableRequest.watermark(of: fetch.table, in: finger)
      let from = fetch.page?.stamp ?? (watermark == .distantPast ? nil : watermark)
      want = .rows(table: fetch.table, from: from, afterID: fetch.page?.id)
    }
  }

  /// Makes the server's answer to this request.
  ///
  /// - Parameters:
  ///   - rows: the rows that were asked for, in the order in which they were asked for. No rows
  ///     after a wait: a ping.
  ///   - isLast: whether the server had no others.
  ///   - time: when it was read, by the server. Later changes have this stamp or a later one.
  public func answer(_ rows: [SyncedRow], isLast: Bool, at time: TableStamp) -> TableBatch {
    let content: TableBatch.Content
    switch finger.progress {
    case .draining(let heard), .following(let heard, _):
      content = .notifications(after: heard, rows, isAll: isLast)
    case .fetching(let fetch):
      content = .page(
        fetch, from: TableRequest.watermark(of: fetch.table, in: finger), rows, isLast: isLast)
    }
    return TableBatch(subscription: subscription, asOf: time, content: content)
  }

  private static func watermark(of table: UInt8, in finger: TableFinger) -> TableStamp {
    Int(table) < finger.watermarks.count ? finger.watermarks[Int(table)] : .distantPast
  }
}
