import CAllocations
import Foundation
import MessageSync
import UpdateMachine

// One list: the cost of building it, filling its gaps, and holding a million IDs.

/// The way of most clients: an array of IDs, sorted anew after every page.
struct NaiveList {
  var ids: [Int64] = []
  var known: [ClosedRange<Int64>] = []

  mutating func merge(_ page: ClosedRange<Int64>) {
    ids += Array(page)
    ids.sort()
    learn(page)
  }

  /// Merges a page by inserting its messages one by one.
  mutating func insert(_ page: ClosedRange<Int64>) {
    for id in page {
      var (low, high) = (0, ids.count)
      while low < high {
        let middle = (low + high) / 2
        if ids[middle] < id { low = middle + 1 } else { high = middle }
      }
      ids.insert(id, at: low)
    }
    learn(page)
  }

  mutating func learn(_ page: ClosedRange<Int64>) {
    var pairs = SortedPairs(pairs: known)
    known = []
    pairs.insert(page)
    known = pairs.pairs
  }
}

extension PartialList<MessageID> {
  /// Merges a page that has a message for every number in its range.
  mutating func merge(_ page: ClosedRange<Int64>) {
    for number in page { insert(MessageID(number)) }
    learn(IDInterval(page))
  }
}

/// Returns pages of `size` messages, without every `apart`-th page.
func pages(_ count: Int64, of size: Int64, apart: Int64) -> [ClosedRange<Int64>] {
  var pages: [ClosedRange<Int64>] = []
  for index in 0..<count where index % apart != apart - 1 {
    pages.append((index * size)...(index * size + size - 1))
  }
  return pages
}

func benchmarkLists() {
  benchmarkBuilding()
  benchmarkFilling()
  benchmarkMerging()
  benchmarkMillion()
}

/// Measures building a list of 100,000 items from pages of 20, with a gap after every fourth page.
func benchmarkBuilding() {
  let pages = pages(6250, of: 20, apart: 5)
  let items = pages.count * 20
  var seen = 0
  let each = seconds {
    var list = PartialList<MessageID>()
    for page in pages { list.merge(page) }
    seen += list.ids.count
  }
  let bulk = seconds {
    var list = PartialList<MessageID>()
    let all = pages.lazy.joined().map {
      (key: MessageID($0), value: PartialList<MessageID>.Present())
    }
    list.hold(VersionedMap(sorted: all))
    for page in pages { list.learn(IDInterval(page)) }
    seen += list.ids.count
  }
  let set = seconds {
    var list = Set<Int64>()
    var known = IndexSet()
    for page in pages {
      list.formUnion(page)
      known.insert(integersIn: page.ints)
    }
    seen += list.count
  }
  let sorted = elapsed {
    var list = NaiveList()
    for page in pages { list.merge(page) }
    seen += list.ids.count
  }
  precondition(seen == items * 16, "all items are there each time")
  let baselines: KeyValuePairs<String, Figure> = [
    "a set and an IndexSet": .rate(Double(items) / set, "items/s"),
    "an array, sorted after each page": .rate(Double(items) / sorted, "items/s"),
  ]
  row(
    "list: build 100,000 items with 1,250 gaps", .rate(Double(items) / each, "items/s"),
    beside: baselines)
  row(
    "list: the same from what is sorted", .rate(Double(items) / bulk, "items/s"),
    beside: ["goal": .rate(20e6, "items/s")])
}

/// Measures filling gaps of 20 messages, each between two pages of 80, anywhere in 100,000
/// messages.
func benchmarkFilling() {
  let gaps = shuffled(1000).map { ($0 * 100 + 80)...($0 * 100 + 99) }
  var holed = PartialList<MessageID>()
  var naive = NaiveList()
  for gap in gaps.sorted(by: { $0.lowerBound < $1.lowerBound }) {
    holed.merge((gap.lowerBound - 80)...(gap.lowerBound - 1))
    naive.ids += (gap.lowerBound - 80)...(gap.lowerBound - 1)
    naive.known.append((gap.lowerBound - 80)...(gap.lowerBound - 1))
  }
  var list = holed
  let learning = timed({ list = holed }, { for gap in gaps { list.learn(IDInterval(gap)) } })
  precondition(list.knowledge.count == 1, "no gap is left")
  let whole = timed({ list = PartialList(copying: holed) }, { for gap in gaps { list.merge(gap) } })
  var other = naive
  let inserting = timed({ other = naive }, { for gap in gaps[..<100] { other.insert(gap) } })
  let sorting = timed({ other = naive }, { for gap in gaps[..<20] { other.merge(gap) } })
  precondition(list.ids.count == 100_000 && other.ids.count == 80_400, "gaps were filled")
  row(
    "list: close one of 1,000 gaps, nothing was in it", .time(learning / 1000),
    beside: ["goal": .time(1e-6)])
  row(
    "list: fill it with 20 messages", .time(whole / 1000),
    beside: [
      "an array, each inserted": .time(inserting / 100),
      "an array, sorted anew": .time(sorting / 20),
    ])
}

extension PartialList<MessageID> {
  /// Creates an equal list that shares nothing with the other.
  init(copying other: PartialList<MessageID>) {
    self.init()
    hold(VersionedMap(sorted: other.ids))
    for interval in other.knowledge.intervals { learn(interval) }
  }
}

/// Measures merging a page of 100 into a list of 100,000.
func benchmarkMerging() {
  let pages = shuffled(1000).map { ($0 * 100)...($0 * 100 + 99) }
  let (held, missing) = (pages.dropFirst(50), pages.prefix(50))
  var full = PartialList<MessageID>()
  for page in held { full.merge(page) }
  let naive = NaiveList(
    ids: held.joined().sorted(), known: held.sorted { $0.lowerBound < $1.lowerBound })
  var list = full
  let alone = timed(
    { list = PartialList(copying: full) }, { for page in missing { list.merge(page) } })
  var kept: [PartialList<MessageID>] = []
  let forked = timed(
    {
      list = full
      kept = []
    },
    {
      for page in missing {
        kept.append(list)
        list.merge(page)
      }
    })
  var other = naive
  let inserting = timed({ other = naive }, { for page in missing { other.insert(page) } })
  let sorting = timed({ other = naive }, { for page in missing { other.merge(page) } })
  precondition(list.ids.count == other.ids.count && list.ids.count == 100_000, "all are there")
  row(
    "list: merge a page of 100 into 100,000", .time(alone / 50),
    beside: [
      "goal": .time(20e-6),
      "an array, each inserted": .time(inserting / 50),
      "an array, sorted anew": .time(sorting / 50),
    ])
  row("list: the same, and every version is kept", .time(forked / 50))
}

func benchmarkMillion() {
  let count: Int64 = 1_000_000
  let order = shuffled(Int(count))
  var start = allocated_bytes()
  func bytes() -> Figure { .bytes(start < 0 ? -1 : allocated_bytes() - start) }
  var list = PartialList<MessageID>()
  let ascending = elapsed {
    for number in 0..<count { list.insert(MessageID(number)) }
    list.learn(.everything)
  }
  let ascendingBytes = bytes()
  list = PartialList()
  start = allocated_bytes()
  let mixed = elapsed { for number in order { list.insert(MessageID(number)) } }
  let mixedBytes = bytes()
  var seen: Int64 = 0
  let looking = seconds {
    for number in order { seen += list.ids.contains(MessageID(number)) ? 1 : 0 }
  }
  start = allocated_bytes()
  var set = Set<Int64>()
  let setting = elapsed { for number in order { set.insert(number) } }
  let setBytes = bytes()
  let asking = seconds { for number in order { seen += set.contains(number) ? 1 : 0 } }
  start = allocated_bytes()
  var array: [Int64] = []
  let appending = elapsed { for number in 0..<count { array.append(number) } }
  let arrayBytes = bytes()
  precondition(seen == count * 10 && list.ids.count == set.count && array.count == set.count)
  row(
    "list: a million IDs, ascending", .time(ascending),
    beside: ["appended to an array": .time(appending)])
  row("  memory", ascendingBytes, beside: ["an array": arrayBytes])
  row("list: a million IDs in any order", .time(mixed), beside: ["a set": .time(setting)])
  row("  memory", mixedBytes, beside: ["a set": setBytes])
  row("  is it there?", .time(looking / 1e6), beside: ["a set": .time(asking / 1e6)])
}
