import Foundation
import SyncProtocols
import Testing

@testable import EtcdSync

/// What a real etcd answered, as `Tests/EtcdSyncTests/record.py` has written it down.
struct Recording: Sendable {
  /// One request and its answer.
  struct Exchange: Decodable, Sendable {
    var name: String
    var path: String
    var request: String
    /// `nil`: no connection could be made.
    var status: Int?
    var type: String?
    var body: String
    /// Whether the answer ended by itself.
    var ended: Bool
  }

  let exchanges: [Exchange]

  static let folder = URL(filePath: #filePath).deletingLastPathComponent()

  init(at file: URL = folder.appending(path: "Recorded.jsonl")) throws {
    exchanges = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map {
      try JSONDecoder().decode(Exchange.self, from: Data($0.utf8))
    }
  }

  subscript(name: String) -> Exchange {
    get throws {
      try #require(exchanges.first { $0.name == name }, "no exchange is called \(name)")
    }
  }

  static func named(_ name: String) throws -> Exchange { try Recording()[name] }
}

extension Recording.Exchange {
  /// The fields of a success, as a connection reads them.
  func fields() throws(EtcdFailure) -> EtcdFields {
    try EtcdFailure.fields(
      of: status.map { EtcdExchange.Head(status: $0, type: type) }, Data(body.utf8), .whole)
  }

  /// Why it is no success; `nil`: it is one.
  var failure: EtcdFailure? {
    do throws(EtcdFailure) {
      _ = try fields()
      return nil
    } catch {
      return error
    }
  }

  /// The messages of a watch.
  func messages() throws -> [EtcdWatchMessage] {
    try body.split(separator: "\n").map { try EtcdWatchMessage(line: Array($0.utf8)) }
  }

  func range() throws -> EtcdRangeAnswer { try EtcdRangeAnswer(try fields()) }
  func transaction() throws -> EtcdTransactionAnswer { try EtcdTransactionAnswer(try fields()) }
}
