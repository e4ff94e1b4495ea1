import Foundation
import SyncProtocols
import Testing
import UpdateMachine
import ZulipSync

@testable import ZulipServer

/// Our own client half follows the server through everything that users do, and must end with what
/// a fresh register says.
@Suite struct ReplayTests {
  private static let capabilities =
    #"{"notification_settings_null":true,"bulk_message_deletion":true,"archived_channels":true}"#

  /// Registers as our client does. Returns the queue, the last event, and the state.
  private static func register(
    _ bench: inout ServerBench
  ) throws -> (queue: String, last: Int64, state: ZulipState) {
    let fields = try bench.get(
      0, "POST", "register",
      [("include_subscribers", "true"), ("client_capabilities", capabilities)])
    let value = try ZulipValue(json: Data(fields.description.utf8))
    let snapshot = ZulipSnapshot(try #require(value.fields), .full)
    return (
      try #require(fields["queue_id"]?.string), try #require(fields["last_event_id"]?.int64),
      try ZulipState(snapshot: snapshot)
    )
  }

  /// Somebody does something. What is refused is part of it.
  private static func act(_ bench: inout ServerBench, _ chance: inout SplitMix) {
    let user = chance.below(3)
    let id = Int64(1 + chance.below(40))
    let flag = ["read", "starred"][chance.below(2)]
    let channel = ["general", "kitchen", "library"][chance.below(3)]
    switch chance.below(12) {
    case 0...3:
      _ = bench.ask(
        user, "POST", "messages",
        [
          ("type", "stream"), ("to", channel), ("topic", ["a", "b"][chance.below(2)]),
          ("content", ["hello", "@**Ada** look"][chance.below(2)]),
        ])
    case 4:
      _ = bench.ask(
        user, "POST", "messages",
        [("type", "direct"), ("to", "[\(8 + chance.below(4))]"), ("content", "psst")])
    case 5...7:
      _ = bench.ask(
        0, "POST", "messages/flags",
        [("messages", "[\(id)]"), ("op", ["add", "remove"][chance.below(2)]), ("flag", flag)])
    case 8: _ = bench.ask(user, "PATCH", "messages/\(id)", [("content", "edited @**Ada**")])
    case 9:
      _ = bench.ask(
        user, "PATCH", "messages/\(id)",
        [("topic", "moved"), ("propagate_mode", ["change_one", "change_all"][chance.below(2)])])
    case 10: _ = bench.ask(user, "POST", "messages/\(id)/reactions", [("emoji_name", "tada")])
    default:
      // Another user's subscription: one's own ends with more than events tell.
      _ = bench.ask(
        1 + chance.below(2), ["POST", "DELETE"][chance.below(2)], "users/me/subscriptions",
        [("subscriptions", #"["kitchen"]"#)])
    }
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `a client that follows events ends with what a fresh register says`(_ seed: UInt64) throws {
    var bench = ServerBench()
    var chance = SplitMix(seed)
    var (queue, last, state) = try ReplayTests.register(&bench)
    var count = 0
    for _ in 0..<120 {
      ReplayTests.act(&bench, &chance)
      bench.now = bench.now + .milliseconds(200)
      // It polls after each change, so that the server has no flags to merge.
      for event in try bench.events(0, queue, after: last) {
        last = try #require(event["id"]?.int64)
        count += 1
        let bytes = Data(event.description.utf8)
        try state.apply(try JSONDecoder().decode(ZulipEvent.self, from: bytes))
      }
    }
    queue = ""
    let fresh = try ReplayTests.register(&bench).state
    #expect(count > 40)
    #expect(state.counts.strays == 0)
    for row in state.rows where fresh.rows[row.key] != row.value {
      let other = fresh.rows[row.key].map { "\($0)" } ?? "nothing"
      Issue.record("\(row.key) is \(row.value), and not \(other)")
    }
    #expect(state.rows.count == fresh.rows.count)
  }
}
