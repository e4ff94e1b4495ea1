import Foundation
import MessageSync
import TestSupport
import Testing
import UpdateMachine
import ZulipSync

@Suite("Damaged answers")
struct ZulipFuzzTests {
  /// Reads an answer as both kinds, and uses it as a client does.
  private static func read(_ bytes: Data) -> Bool {
    var isRead = false
    if let answer = try? ZulipError.decode(ZulipEvents.self, from: bytes) {
      var store = MessageStore<MessageFilter<ZulipContent>>(following: [ChannelID(3)])
      store.open(MessageFilter())
      store.begin(
        RequestID(incarnation: Incarnation(1), part: .pages, number: 1),
        PageRequest(MessageFilter(), .newest, before: 9, after: 0))
      for event in answer.events {
        for change in event.changes(.rendered) { store.apply(change) }
      }
      store.answered()
      isRead = true
    }
    if let page = try? ZulipError.decode(ZulipPage.self, from: bytes) {
      let requests: [PageAnchor<MessageID>] = [.newest, .firstUnread, .id(MessageID(page.anchor))]
      for anchor in requests {
        let narrow = MessageFilter<ZulipContent>()
        var store = MessageStore<MessageFilter<ZulipContent>>(following: [ChannelID(4)])
        store.open(narrow)
        let fetch = RequestID(incarnation: Incarnation(1), part: .pages, number: 1)
        store.begin(fetch, PageRequest(narrow, anchor, before: 5, after: 5))
        let request = ZulipPageRequest(ZulipNarrow([]), anchor, before: 5, after: 5)
        if let page = page.page(for: request) { _ = store.take(page, for: fetch) }
        if let list = store.list(of: narrow) {
          _ = list.excerpt(of: ListWindow(.newest, before: 20, after: 0))
          _ = list.excerpt(of: ListWindow(.id(MessageID(page.anchor)), before: 9, after: 9))
        }
      }
      isRead = true
    }
    return isRead
  }

  private static let answers = [
    RecordedLines.answer(RecordedLines.events), Data(RecordedLines.page.utf8),
  ]

  @Test func `the undamaged answers are read`() {
    for answer in Self.answers { #expect(Self.read(answer)) }
  }

  @Test func `wrong bytes never trap`() throws {
    var random = SplitMix(1)
    var readCount = 0
    for _ in 0..<2_000 {
      var bytes = Array(try #require(Self.answers.randomElement(using: &random)))
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.remove(at: place)
        case 2: bytes.insert(UInt8(ascii: "9"), at: place)
        default: bytes.removeSubrange(place..<min(place + 9, bytes.count - 1))
        }
      }
      if Self.read(Data(bytes)) { readCount += 1 }
    }
    // Some must be readable, or nothing beyond Foundation was tested. Not all may be, or nothing
    // was broken.
    #expect((100...1_900).contains(readCount), "\(readCount)")
  }

  /// The values that replace a field.
  private static var strange: [Any] {
    [
      0, -1, Int64.max, Int64.min, 9_223_372_036_854_775_806 as Int64, 1e300, 0.5, UInt64.max,
      NSNull(), true, "", "read", "stream", "private", "add", [] as [Any], [7] as [Any],
      ["a": 1] as [String: Any], [NSNull()] as [Any], [Int64.max, Int64.min] as [Any],
    ]
  }

  /// A copy of a tree in which about one value in `count` is replaced, removed or doubled.
  private static func mutated(_ tree: Any, _ random: inout SplitMix, oneOf count: Int) -> Any {
    if Int.random(in: 0..<count, using: &random) == 0 {
      return strange.randomElement(using: &random) ?? NSNull()
    }
    if let fields = tree as? [String: Any] {
      var changed: [String: Any] = [:]
      for (key, value) in fields.sorted(by: { $0.key < $1.key }) {
        if Int.random(in: 0..<count * 2, using: &random) == 0 { continue }
        changed[key] = mutated(value, &random, oneOf: count)
      }
      return changed
    }
    guard let elements = tree as? [Any] else { return tree }
    var changed: [Any] = []
    for element in elements {
      changed.append(mutated(element, &random, oneOf: count))
      if Int.random(in: 0..<count, using: &random) == 0 { changed.append(element) }
    }
    return changed
  }

  @Test func `wrong fields never trap`() throws {
    var random = SplitMix(2)
    let trees = try Self.answers.map { try JSONSerialization.jsonObject(with: $0) }
    var readCount = 0
    for _ in 0..<2_000 {
      let tree = try #require(trees.randomElement(using: &random))
      let count = [20, 60, 200].randomElement(using: &random) ?? 60
      let changed = Self.mutated(tree, &random, oneOf: count)
      guard JSONSerialization.isValidJSONObject(changed) else { continue }
      let bytes = try JSONSerialization.data(withJSONObject: changed, options: .sortedKeys)
      if Self.read(bytes) { readCount += 1 }
    }
    #expect((100...1_900).contains(readCount), "\(readCount)")
  }
}
