import CAllocations
import Foundation
import MessageSync
import UpdateMachine

// A store of messages with many lists, and the cost of going live again.

typealias Filter = MessageFilter<UInt32>
typealias Letters = MessageStore<Filter>
typealias Letter = ChatMessage<UInt32>

/// Messages spread over `topics` topics in 100 channels. Message *n* is in topic *n* modulo
/// `topics`.
struct Library {
  var topics: Int64

  func place(_ number: Int64) -> MessagePlace {
    let topic = number % topics
    return .channel(ChannelID(topic % 100), topic: MessageTopic("topic \(topic)"))
  }

  func letter(_ number: Int64) -> Letter {
    Letter(
      id: MessageID(number), sender: UserID(number % 50), place: place(number), content: 0,
      flags: number % 10 == 0 ? [] : .read)
  }

  func narrow(_ topic: Int64) -> Filter {
    Filter([.channel(ChannelID(topic % 100)), .topic(MessageTopic("topic \(topic)"))])
  }

  /// Returns a store in which all lists are open, all messages are held, and everything is known:
  /// each list took a page that found both ends.
  func store(_ count: Int64) -> Letters {
    var store = Letters(following: (0..<100).map { ChannelID($0) })
    for topic in 0..<topics { store.open(narrow(topic)) }
    fill(&store, count)
    return store
  }

  func fill(_ store: inout Letters, _ count: Int64) {
    for topic in 0..<topics {
      let numbers = stride(from: topic, to: count, by: Int(topics))
      let fetch = RequestID(incarnation: Incarnation(1), part: .pages, number: UInt64(topic + 1))
      store.begin(fetch, PageRequest(narrow(topic), .newest, before: 1000, after: 0))
      let page = MessagePage(
        messages: numbers.map(letter), foundOldest: true, foundNewest: true)
      let outcome = store.take(page, for: fetch)
      precondition(outcome == .taken, "the page was waited for")
    }
    store.asked()
    store.answered()
  }
}

/// The simplest way: an array of IDs for each narrow. Every message is tested against all of them.
struct NaiveNarrows {
  var messages: [MessageID: Letter] = [:]
  var lists: [(narrow: Filter, ids: [MessageID])] = []

  mutating func take(_ message: Letter) {
    messages[message.id] = message
    for index in lists.indices {
      let place = lists[index].ids.firstIndex { $0 >= message.id } ?? lists[index].ids.count
      let isThere = place < lists[index].ids.count && lists[index].ids[place] == message.id
      let isIn = lists[index].narrow.verdict(on: PartialMessage(message)) == .yes
      if isIn, !isThere { lists[index].ids.insert(message.id, at: place) }
      if !isIn, isThere { lists[index].ids.remove(at: place) }
    }
  }
}

func benchmarkStores() {
  benchmarkNarrows()
  benchmarkPages()
  benchmarkReturns()
}

// MARK: Ten thousand narrows

func benchmarkNarrows() {
  let count: Int64 = 10_000
  let library = Library(topics: count)
  let start = allocated_bytes()
  var store = library.store(count)
  let bytes = start < 0 ? -1 : allocated_bytes() - start
  let begun = allocated_bytes()
  let few = Library(topics: 1).store(count)
  let messages = start < 0 ? -1 : allocated_bytes() - begun
  precondition(store.narrows.count == Int(count) && store.count == few.count, "all are there")
  row(
    "narrows: 10,000 lists of 10,000 messages, all known", .bytes(bytes),
    beside: ["one list of them": .bytes(messages)])

  var naive = NaiveNarrows()
  for topic in 0..<count { naive.lists.append((library.narrow(topic), [MessageID(topic)])) }
  var number = count
  func apply(_ events: (Int64) -> Letters.Event) -> Double {
    seconds {
      for _ in 0..<100 {
        store.apply(events(number))
        number += 1
      }
      store.asked()
      store.answered()
    } / 100
  }
  let new = apply { .new(library.letter($0)) }
  let flagged = apply { .flagged([MessageID($0 % count)], .starred, isSet: $0 % 20_000 < count) }
  let edited = apply {
    .updated(MessageUpdate(.init(MessageID($0 % count), content: UInt32($0)), version: $0))
  }
  let moved = apply {
    .updated(
      MessageUpdate(
        moving: [MessageID($0 % count)],
        .init(from: library.place($0), to: library.place($0 + 7)), version: $0))
  }
  let unheld = apply { .flagged([MessageID($0 + 1_000_000)], .starred, isSet: true) }
  let deleted = apply { .deleted([MessageID($0 % count)]) }
  let baseline = seconds { for step in 0..<10 { naive.take(library.letter(count + Int64(step))) } }
  let narrows = store.narrows
  var seen = 0
  let finding = seconds {
    for narrow in narrows { seen += store.list(of: narrow)?.ids.count ?? 0 }
  }
  precondition(seen > 0, "lists were found")
  row(
    "  an event: a new message", .time(new),
    beside: ["an array for each narrow": .time(baseline / 10)])
  row("  an event: a flag", .time(flagged))
  row("  an event: an edit", .time(edited))
  row("  an event: a move", .time(moved))
  row("  an event: a flag of a message that is not held", .time(unheld))
  row("  an event: a deletion", .time(deleted))
  row("  to find a list by its narrow", .time(finding / Double(count)))
}

// MARK: Pages

func benchmarkPages() {
  for topics in [1, 1000, 10_000] as [Int64] {
    let library = Library(topics: topics)
    let full = library.store(100_000)
    var store = full
    var fetch: UInt64 = 1_000_000
    let time = timed(
      { store = full },
      {
        fetch += 1
        let id = RequestID(incarnation: Incarnation(1), part: .pages, number: fetch)
        store.begin(id, PageRequest(library.narrow(0), .newest, before: 100, after: 0))
        let messages = (0..<100).map { library.letter(200_000 + $0 * topics) }
        let outcome = store.take(MessagePage(messages: messages, foundNewest: true), for: id)
        precondition(outcome == .taken)
      })
    row("store: a page of 100 into 100,000 messages, \(topics) lists", .time(time))
  }
}

// MARK: Going live again

func benchmarkReturns() {
  let library = Library(topics: 1000)
  let full = library.store(100_000)
  var lists = 0
  let beginning = seconds {
    let next = Letters(following: (0..<100).map { ChannelID($0) }, after: full)
    lists += next.list(of: library.narrow(999))?.former == nil ? 0 : 1
  }
  precondition(lists == 5, "the lists are open again")
  row("going live again: a new generation of 1,000 lists", .time(beginning))
  for windows in [1, 10, 100] as [Int64] {
    var fetches = 0
    var rows = 0
    let time = timed(
      {
        fetches = 0
        rows = 0
      },
      {
        var settings = PageSettings()
        settings.retry.paceBurst = 1000
        settings.fetchesMaximum = 4
        var planner = PagePlanner<MessageStore<Filter>>(
          incarnation: Incarnation(2), settings: settings)
        var store = Letters(following: (0..<100).map { ChannelID($0) }, after: full)
        var now = Moment(milliseconds: 0)
        var waiting: [(id: RequestID, request: PageRequest<Filter, MessageID>)] = []
        for window in 0..<windows {
          var effects = PagePlanner<Letters>.Effects()
          _ = planner.open(library.narrow(window), .newest(30))
          planner.plan(&store, &effects, isLive: true, at: now)
          waiting += effects.fetch
        }
        while let (id, request) = waiting.popLast() {
          fetches += 1
          now = now + .milliseconds(1)
          let topic = library.topic(of: request)
          let numbers = stride(from: topic + 97_000, to: 100_000, by: 1000)
          let page = MessagePage(
            messages: numbers.map(library.letter), foundOldest: true, foundNewest: true)
          let outcome = store.take(page, for: id)
          var effects = PagePlanner<Letters>.Effects()
          planner.note(.answered(id, outcome, anchor: nil), &store, &effects, at: now)
          planner.plan(&store, &effects, isLive: true, at: now)
          waiting += effects.fetch
        }
        for window in 0..<windows {
          rows += store.list(of: library.narrow(window))?.excerpt(of: .newest(30)).rows.count ?? 0
        }
      })
    row("going live again: \(windows) windows, 1,000 lists", .time(time))
    counted("  fetches", Int64(fetches))
    line("  rows shown", "\(rows)")
  }
}

extension Library {
  func topic(of request: PageRequest<Filter, MessageID>) -> Int64 {
    for term in request.narrow?.terms ?? [] {
      if case .topic(let name) = term.subject { return Int64(name.key.dropFirst(6)) ?? 0 }
    }
    return 0
  }
}
