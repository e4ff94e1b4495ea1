public import UpdateMachine

/// A client's place: what it has fetched, and how far it has heard its subscription. The first one
/// is ``TableSnapshot/finger``. ``TableRequest`` says what a server must know of it.
public struct TableFinger: Finger, Hashable {
  /// The subscription that the client last knew. The server may have lost it.
  package var subscription: UInt64
  /// One for each table. The client has every change with an earlier stamp. Changes with this stamp
  /// may be missing, because a stamp is not unique. So a fetch begins here, included.
  package var watermarks: [TableStamp]
  /// How far the client is with its subscription.
  package var progress: TableProgress

  package init(subscription: UInt64, watermarks: [TableStamp], progress: TableProgress) {
    self.subscription = subscription
    self.watermarks = watermarks
    self.progress = progress
  }

  /// An empty log: nothing is to be released.
  public var log: TableLog { TableLog() }

  mutating func raise(_ table: UInt8, to stamp: TableStamp) {
    watermarks[Int(table)] = max(watermarks[Int(table)], stamp)
  }
}

/// How far a client is with its subscription.
package enum TableProgress: Hashable, Sendable {
  /// A page of this fetch comes next.
  case fetching(TableFetch)
  /// Everything was fetched, and this many notifications were taken. More were waiting.
  case draining(UInt64)
  /// The client was up to date after this many notifications. `isSettled`: its watermarks are later
  /// than the last change.
  case following(UInt64, isSettled: Bool)

  /// The number of notifications that were taken; `nil`: none may come yet.
  package var heard: UInt64? {
    switch self {
    case .fetching: nil
    case .draining(let heard), .following(let heard, _): heard
    }
  }
}

/// The place in the fetch of a table.
package struct TableFetch: Hashable, Sendable {
  /// The table.
  package var table: UInt8
  /// The end of the last page; `nil`: none has come.
  package var page: TablePageEnd?

  package init(table: UInt8, page: TablePageEnd? = nil) {
    self.table = table
    self.page = page
  }
}

/// The end of a page that has others after it. The next one begins after this row.
package struct TablePageEnd: Hashable, Sendable {
  /// When the first page of this fetch was read.
  package var began: TableStamp
  /// The last row's stamp.
  package var stamp: TableStamp
  /// The last row's ID.
  package var id: Int64

  package init(began: TableStamp, stamp: TableStamp, id: Int64) {
    self.began = began
    self.stamp = stamp
    self.id = id
  }
}

/// The log of every ``TableFinger``.
public struct TableLog: Hashable, Sendable {
  package init() {}
}

extension TableLog: CustomStringConvertible {
  public var description: String { "tables" }
}

extension TableFinger: CustomStringConvertible {
  /// "3 fetching 1 [40 20 -]", "3 draining 7 [40 44 41]", "3:9 [50 50 50]".
  public var description: String {
    var text = "\(subscription)"
    switch progress {
    case .fetching(let fetch):
      text += " fetching \(fetch.table)"
      if let page = fetch.page { text += " after \(page.id) at \(page.stamp)" }
    case .draining(let heard): text += " draining \(heard)"
    case .following(let heard, _): text += ":\(heard)"
    }
    var separator = " ["
    for watermark in watermarks {
      text += "\(separator)\(watermark)"
      separator = " "
    }
    return text + "]"
  }
}
