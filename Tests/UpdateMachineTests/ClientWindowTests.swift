import MessageSync
import TestSupport
import Testing

@testable import UpdateMachine

/// Tests windows on a client value: what is fetched for them, and what they show.
@Suite struct ClientWindowTests {
  private typealias Hand = ClientHand<Shelf, ShelfSync>

  /// A client that follows from a:0, up to date, with no page fetched.
  private static func following() -> Hand {
    var hand = Hand()
    _ = hand.put(.started(foreground: true))
    _ = hand.put(
      .snapshotArrived(
        hand.request!, [ChannelID(1), ChannelID(2)], finger: Spot("a", 0), terms: testTerms))
    #expect(hand.client.machine.status.outstanding?.waits == true)
    return hand
  }

  private static func page(_ numbers: Int...) -> MessagePage<Int> {
    MessagePage(
      messages: numbers.map { PageBench.message($0, in: 1) }, foundOldest: true, foundNewest: true)
  }

  private static func words(_ hand: Hand, _ id: WindowID) -> String? {
    hand.client.view(of: id).map(Viewer.words)
  }

  @Test func `a window's missing rows are fetched, and its view changes`() {
    var hand = Self.following()
    let (id, texts) = hand.openWindow(on: PageBench.a, showing: .newest(3))
    #expect(texts.filter { $0.hasPrefix("fetch pages 1") }.count == 1)
    #expect(texts.last?.hasPrefix("arm pages 1") == true, "the fetch has a deadline")
    #expect(hand.effects?.windows == [id])
    #expect(Self.words(hand, id) == "gap")

    _ = hand.put(.pageArrived(hand.fetches[0].id, Self.page(10, 20)))
    #expect(hand.effects?.windows == [id])
    #expect(hand.changes.contains(.model))
    #expect(Self.words(hand, id) == "10 20")
    #expect(hand.client.view(of: id)?.isComplete == true)
    #expect(hand.client.fetchesOut == 0)

    // A second copy of the page, and a page that nobody asked for, are absorbed.
    for fetch in [
      hand.fetches[0].id, RequestID(incarnation: Incarnation(1), part: .pages, number: 9),
    ] {
      #expect(hand.put(.pageArrived(fetch, Self.page(30))) == [])
      #expect(hand.effects?.windows == [] && hand.changes == [])
    }
    #expect(Self.words(hand, id) == "10 20")
  }

  /// Found by seed 1503 with real actors: the list was closed, and the app still showed the model
  /// with it.
  @Test func `an app is told of the model if a list is closed to make room, and only then`() {
    var hand = Self.following()
    let most = hand.client.settings.pages.unwatchedMaximum
    #expect(most == 200)
    for number in 1...Int64(most) + 1 {
      let (id, _) = hand.openWindow(on: ShelfNarrow([.sender(UserID(number))]), showing: .newest(3))
      _ = hand.put(.window(.closed(id)))
      #expect(hand.changes.contains(.model) == (number > most), "\(number)")
    }
  }

  @Test func `only windows whose view changed are named`() {
    var hand = Self.following()
    let (one, _) = hand.openWindow(on: PageBench.a, showing: .newest(3))
    let (other, _) = hand.openWindow(on: PageBench.b, showing: .newest(3))
    for (id, request) in hand.fetches {
      let page =
        request.narrow == PageBench.a
        ? Self.page(10)
        : MessagePage(
          messages: [PageBench.message(11, in: 2)], foundOldest: true, foundNewest: true)
      _ = hand.put(.pageArrived(id, page))
    }
    let news = ShelfBatch(first: 1, events: [.new(PageBench.message(21, in: 2))])
    _ = hand.put(.batchArrived(hand.request!, news))
    #expect(hand.effects?.windows == [other])
    #expect(Self.words(hand, one) == "10" && Self.words(hand, other) == "11 21")
    _ = hand.put(.networkChanged)
    #expect(hand.effects?.windows == [])

    _ = hand.put(.window(.closed(other)))
    #expect(hand.client.view(of: other) == nil)
    #expect(hand.client.openWindows == [one])
    _ = hand.put(
      .batchArrived(
        hand.request!, ShelfBatch(first: 2, events: [.new(PageBench.message(31, in: 2))])))
    #expect(hand.effects?.windows == [])
  }

  @Test func `a window moves to held and to missing rows`() {
    var hand = Self.following()
    let (id, _) = hand.openWindow(on: PageBench.a, showing: .newest(2))
    let page = MessagePage(
      messages: [10, 20, 30].map { PageBench.message($0, in: 1) }, foundNewest: true)
    _ = hand.put(.pageArrived(hand.fetches[0].id, page))
    #expect(Self.words(hand, id) == "20 30")
    #expect(
      hand.put(.window(.moved(id, ListWindow(.id(MessageID(20)), before: 1, after: 1)))) == [])
    #expect(hand.effects?.windows == [id])
    #expect(Self.words(hand, id) == "10 20")
    let texts = hand.put(.window(.moved(id, ListWindow(.id(MessageID(20)), before: 5, after: 1))))
    #expect(texts.contains { $0.hasPrefix("fetch pages 2") })
    #expect(Self.words(hand, id) == "gap 10 20")
  }

  @Test func `a window that is opened before there is a model is filled when there is one`() {
    var hand = Hand()
    let (id, texts) = hand.openWindow(on: PageBench.a, showing: .newest(3))
    #expect(texts == [])
    #expect(hand.effects?.windows == [id] && Self.words(hand, id) == "gap")
    _ = hand.put(.started(foreground: true))
    #expect(hand.fetches.isEmpty)
    _ = hand.put(
      .snapshotArrived(hand.request!, [ChannelID(1)], finger: Spot("a", 0), terms: testTerms))
    #expect(hand.fetches.count == 1)
  }

  @Test func `fetches are given up in the background and repeated in the foreground`() {
    var hand = Self.following()
    let (id, _) = hand.openWindow(on: PageBench.a, showing: .newest(3))
    #expect(hand.put(.backgrounded).contains("cancel pages 1"))
    #expect(hand.client.fetchesOut == 0)
    #expect(hand.timers[.pages] == nil)
    #expect(hand.put(.pageArrived(hand.fetches[0].id, Self.page(10))) == [], "late")
    #expect(hand.put(.foregrounded).contains { $0.hasPrefix("fetch pages 2") })
    _ = hand.put(.pageArrived(hand.fetches.last!.id, Self.page(10)))
    #expect(Self.words(hand, id) == "10")
  }

  @Test func `a failed fetch waits, and a rejection is reported`() {
    var hand = Self.following()
    _ = hand.openWindow(on: PageBench.a, showing: .newest(3))
    let texts = hand.put(.failed(hand.fetches[0].id, .serverFault))
    #expect(texts.allSatisfy { !$0.hasPrefix("fetch") && !$0.hasPrefix("report") })
    #expect(hand.timers[.pages] != nil)
    // The planner waits for its pause, and until this request may be repeated.
    for _ in 0..<3 where hand.fetches.count == 1 { hand.fire(.pages) }
    #expect(hand.fetches.count == 2)
    #expect(
      hand.put(.failed(hand.fetches.last!.id, .malformed)).contains("report malformed"))
    #expect(hand.heard == [], "the machine hears nothing of it")
  }

  @Test func `a page that repairs messages tells the model in the same step`() {
    var hand = Self.following()
    _ = hand.openWindow(on: PageBench.a, showing: .newest(3))
    _ = hand.put(.pageArrived(hand.fetches[0].id, Self.page(10)))
    let contrary = [false, true].map {
      MessageEvent<Int>.flagged([MessageID(10), MessageID(1)], .starred, isSet: $0)
    }
    _ = hand.put(.batchArrived(hand.request!, ShelfBatch(first: 1, events: contrary)))
    #expect(hand.fetches.last?.request.want == .item(MessageID(10)))
    _ = hand.put(.pageArrived(hand.fetches.last!.id, Self.page(10)))
    #expect(hand.client.model?.heard == [MessageID(10)])
  }

  @Test func `dropped items are fetched again if a window shows them`() {
    var hand = Self.following()
    let (id, _) = hand.openWindow(on: PageBench.a, showing: .newest(3))
    _ = hand.put(.pageArrived(hand.fetches[0].id, Self.page(10, 20, 30)))
    _ = hand.put(.lists(.dropped(MessageID(20))))
    #expect(hand.changes.contains(.model) && hand.effects?.windows == [id])
    #expect(hand.fetches.last?.request.want == .item(MessageID(20)))
    _ = hand.put(.lists(.reconsidered(PageBench.a)))
    #expect(Self.words(hand, id)?.contains("gap") == true)
  }
}
