import Testing

@testable import MessageSync
@testable import UpdateMachine

/// A source that answers at once, from any thread.
struct QuickPages: SyncSource {
  typealias Model = Shelf
  typealias Sync = ShelfSync

  /// Settings for as many fetches as there is time for, because windows must not wait here.
  static var pages: PageSettings {
    var settings = PageSettings()
    settings.retry.paceBurst = 1_000_000
    return settings
  }

  func register(
    as client: ClientID
  ) async throws(SyncFailure) -> Registered<[ChannelID], Spot> {
    Registered(snapshot: [ChannelID(1), ChannelID(2)], finger: Spot("a", 0), terms: testTerms)
  }

  /// There is never any news.
  func poll(after finger: Spot, waits: Bool) async throws(SyncFailure) -> ShelfBatch {
    guard waits else { return ShelfBatch(first: 1, events: []) }
    let (never, end) = AsyncStream.makeStream(of: Never.self)
    for await _ in never {}
    end.finish()
    throw .timedOut
  }

  func release(_ log: String) async {}

  func page(
    _ request: PageRequest<ShelfNarrow, MessageID>
  ) async throws(SyncFailure) -> MessagePage<Int> {
    await Task.yield()
    if Task.isCancelled { throw .unreachable }
    guard let narrow = request.narrow else { return MessagePage(messages: []) }
    var messages: [ChatMessage<Int>] = []
    for number in 1...40 { messages.append(PageBench.message(number, in: Int64(number % 2 + 1))) }
    messages = messages.filter { narrow.verdict(on: PartialMessage($0)) == .yes }
    return MessagePage(messages: messages, foundOldest: true, foundNewest: true)
  }
}

/// Tests windows on real threads.
@Suite struct DriverWindowRaceTests {
  @Test func `windows opened and closed on many threads are filled, and leave nothing behind`()
    async
  {
    let machine = UpdateMachine(source: QuickPages(), replicas: nil, pages: QuickPages.pages)
    async let following: Void = machine.run()
    await withDiscardingTaskGroup { group in
      for viewer in 0..<8 {
        group.addTask {
          for step in 0..<100 {
            let narrow = ShelfNarrow([
              .channel(ChannelID(Int64(viewer % 2 + 1))), .sender(UserID(Int64(step % 10))),
            ])
            let views = await machine.openWindow(on: narrow, showing: .newest(3))
            if (viewer + step) % 3 == 0 { continue }  // Dropped before anybody looks.
            for await view in views {
              if (viewer + step) % 3 == 1 { await machine.closeWindow(views.id) }
              if view.isComplete { break }
            }
          }
        }
      }
    }
    await machine.stop()
    await following
    #expect(await machine.operations.isIdle)
    #expect(await machine.client.model?.lists.openFetches == [])
  }

  @Test func `the model is told of repairs once, as soon as the page is taken`() {
    let (bench, _) = PageBench.following()
    let id = MessageID(500)
    var message = PageBench.message(500, in: 1)
    message.flags = []
    bench.messages = [message]
    let viewer = bench.look(PageBench.a, .newest(3))
    viewer.follow()
    bench.page()
    bench.batch([
      .flagged([id, MessageID(1)], .starred, isSet: false),
      .flagged([id, MessageID(1)], .starred, isSet: true),
    ])
    #expect(bench.asked == ["item 500"])
    #expect(bench.read { $0.state.model?.heard } == [])
    // What the model hears is in the state that is shown with the page, and in the next save.
    let seen = Box<[[MessageID]]>([])
    bench.start { machine in
      for await state in await machine.states() {
        seen.change { $0.append(state.model?.heard ?? []) }
      }
    }
    bench.drain()
    bench.page()
    #expect(seen.value == [[], [id]])
    #expect(bench.read { $0.client.saved?.model.heard } == [id])
    bench.batch([.reacted(id, MessageReaction(user: UserID(1), emoji: "a"), isSet: true)])
    #expect(bench.read { $0.state.model?.heard } == [id])
  }
}
