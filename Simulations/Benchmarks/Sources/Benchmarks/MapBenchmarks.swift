import CAllocations
import Foundation
import UpdateMachine

// The versioned map, beside a dictionary and beside an array that is kept sorted.

/// An array of entries that is kept sorted: what one writes who needs order and has no tree.
struct SortedArray<Key: Comparable, Value> {
  var entries: [(key: Key, value: Value)] = []

  func index(of key: Key) -> Int {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].key < key { low = middle + 1 } else { high = middle }
    }
    return low
  }

  subscript(key: Key) -> Value? {
    get {
      let index = index(of: key)
      return index < entries.count && entries[index].key == key ? entries[index].value : nil
    }
    set {
      let index = index(of: key)
      let isThere = index < entries.count && entries[index].key == key
      switch (newValue, isThere) {
      case (let value?, true): entries[index].value = value
      case (let value?, false): entries.insert((key, value), at: index)
      case (nil, true): entries.remove(at: index)
      case (nil, false): break
      }
    }
  }
}

/// Numbers below `count`, each once, in an order that is the same in every run.
func shuffled(_ count: Int) -> [Int64] {
  var state: UInt64 = 1
  var numbers = (0..<Int64(count)).map { $0 }
  for last in stride(from: count - 1, to: 0, by: -1) {
    state &+= 0x9E37_79B9_7F4A_7C15
    let other = Digest.mixed(state).multipliedFullWidth(by: UInt64(last + 1)).high
    numbers.swapAt(last, Int(other))
  }
  return numbers
}

func benchmarkMap() {
  benchmarkThroughput()
  benchmarkEntries()
  benchmarkTexts()
  benchmarkForks()
  benchmarkDifference()
}

// MARK: Bytes a second

/// Every byte is written when it is put in, and read when it is scanned.
func benchmarkThroughput() {
  let template = [UInt8](repeating: 7, count: 1024)
  func value(_ number: Int64) -> [UInt8] {
    var value = template
    value[0] = UInt8(truncatingIfNeeded: number)  // From here on a kilobyte of its own.
    return value
  }
  func sum(_ value: [UInt8]) -> UInt64 {
    unsafe value.withUnsafeBytes { bytes in
      unsafe bytes.bindMemory(to: UInt64.self).reduce(0, &+)
    }
  }
  func keys(_ count: Int) -> [String] { shuffled(count).map { "key of item \($0)" } }
  let few = Array(zip(keys(1000), shuffled(1000)))
  let many = Array(zip(keys(10_000), shuffled(10_000)))
  var seen: UInt64 = 0
  func fill(_ body: () -> Void) -> Double { 1000 * 1024 / seconds(body) / 1e6 }
  func scan(_ body: () -> Void) -> Double { 10_000 * 1024 / seconds(body) / 1e6 }

  var map = VersionedMap<String, [UInt8]>()
  var dictionary: [String: [UInt8]] = [:]
  var array = SortedArray<String, [UInt8]>()
  let fillMap = fill {
    map = VersionedMap()
    for (key, number) in few { map[key] = value(number) }
  }
  let fillDictionary = fill {
    dictionary = [:]
    for (key, number) in few { dictionary[key] = value(number) }
  }
  let fillArray = fill {
    array = SortedArray()
    for (key, number) in few { array[key] = value(number) }
  }
  for (key, number) in many { map[key] = value(number) }
  for (key, number) in many { dictionary[key] = value(number) }
  array.entries = map.map { ($0, value(Int64($1[0]))) }
  let scanMap = scan { for (_, value) in map { seen &+= sum(value) } }
  let scanDictionary = scan { for (_, value) in dictionary { seen &+= sum(value) } }
  let scanArray = scan { for (_, value) in array.entries { seen &+= sum(value) } }
  precondition(seen > 0, "values were read")
  line("map: populate 1 MB of 1 KB values", String(format: "%.0f MB/s", fillMap))
  line("  goal: 5 × Replicache", "355 MB/s")
  line("  baseline: dictionary", String(format: "%.0f MB/s", fillDictionary))
  line("  baseline: sorted array", String(format: "%.0f MB/s", fillArray))
  line("map: scan 10 MB of 1 KB values, every byte", String(format: "%.0f MB/s", scanMap))
  line("  goal: 5 × Replicache", "1410 MB/s")
  line("  baseline: dictionary (in no order)", String(format: "%.0f MB/s", scanDictionary))
  line("  baseline: sorted array", String(format: "%.0f MB/s", scanArray))
}

// MARK: One entry

func nanoseconds(_ seconds: Double, _ count: Int) -> String {
  String(format: "%.1f ns", seconds / Double(count) * 1e9)
}

/// The best of five, of which each begins with what `prepare` makes.
func timed(_ prepare: () -> Void, _ body: () -> Void) -> Double {
  (0..<5).reduce(Double.infinity) { best, _ in
    prepare()
    return min(best, elapsed(body))
  }
}

func benchmarkEntries() {
  let count = 100_000
  let keys = shuffled(count)
  let order = keys.map { keys[Int($0)] }
  var map = VersionedMap<Int64, Int64>()
  var dictionary: [Int64: Int64] = [:]
  var array = SortedArray<Int64, Int64>()
  let sorted = (0..<Int64(count)).map { (key: $0, value: $0) }
  var seen: Int64 = 0

  func rows(_ name: String, _ one: Double, _ other: Double, _ third: Double? = nil) {
    line("map: \(name), 100,000 numbers", nanoseconds(one, count))
    line("  baseline: dictionary", nanoseconds(other, count))
    if let third { line("  baseline: sorted array", nanoseconds(third, count)) }
  }
  rows(
    "set, new",
    timed({ map = VersionedMap() }, { for key in keys { map[key] = key } }),
    timed({ dictionary = [:] }, { for key in keys { dictionary[key] = key } }))
  array.entries = sorted
  rows(
    "get",
    seconds { for key in order { seen &+= map[key] ?? 0 } },
    seconds { for key in order { seen &+= dictionary[key] ?? 0 } },
    seconds { for key in order { seen &+= array[key] ?? 0 } })
  let before = allocation_count()
  for key in order { map[key] = key }
  let allocations = allocation_count() - before
  rows(
    "set, there already",
    seconds { for key in order { map[key] = key } },
    seconds { for key in order { dictionary[key] = key } },
    seconds { for key in order { array[key] = key } })
  line("  allocations in 100,000", before < 0 ? "not counted here" : "\(allocations)")
  let built = VersionedMap(sorted: sorted)
  rows(
    "scan",
    seconds { for (_, value) in map { seen &+= value } },
    seconds { for (_, value) in dictionary { seen &+= value } },
    seconds { for (_, value) in array.entries { seen &+= value } })
  rows(
    "remove",
    timed({ map = VersionedMap(sorted: built) }, { for key in order { map[key] = nil } }),
    timed(
      { dictionary = Dictionary(uniqueKeysWithValues: sorted.map { ($0.key, $0.value) }) },
      { for key in order { dictionary[key] = nil } }))
  rows(
    "build from sorted",
    seconds { seen &+= Int64(VersionedMap(sorted: sorted).count) },
    seconds {
      seen &+= Int64(Dictionary(uniqueKeysWithValues: sorted.map { ($0.key, $0.value) }).count)
    })
  rows(
    "set, ascending",
    timed({ map = VersionedMap() }, { for (key, _) in sorted { map[key] = key } }),
    timed({ dictionary = [:] }, { for (key, _) in sorted { dictionary[key] = key } }),
    timed({ array.entries = [] }, { for (key, _) in sorted { array[key] = key } }))
  var checksummed = ChecksummedMap<Int64, Int64>()
  let kept = timed(
    { checksummed = ChecksummedMap() }, { for key in keys { checksummed[key] = key } })
  line("map with a checksum: set, new, 100,000 numbers", nanoseconds(kept, count))
  line(
    "  checksum of a map, anew",
    nanoseconds(seconds { seen &+= Int64(bitPattern: map.checksum) }, 1))
  precondition(seen != 0, "entries were seen")
}

func benchmarkTexts() {
  let count = 100_000
  let keys = shuffled(count).map { "conversation \($0)" }
  let order = shuffled(count).map { keys[Int($0)] }
  var map = VersionedMap<String, Int64>()
  var dictionary: [String: Int64] = [:]
  var seen: Int64 = 0
  for key in keys { map[key] = 1 }
  for key in keys { dictionary[key] = 1 }
  let get = seconds { for key in order { seen &+= map[key] ?? 0 } }
  let getBaseline = seconds { for key in order { seen &+= dictionary[key] ?? 0 } }
  let set = seconds { for key in order { map[key] = 2 } }
  let setBaseline = seconds { for key in order { dictionary[key] = 2 } }
  precondition(seen != 0, "entries were seen")
  line("map: get, 100,000 texts", nanoseconds(get, count))
  line("  baseline: dictionary", nanoseconds(getBaseline, count))
  line("map: set, there already, 100,000 texts", nanoseconds(set, count))
  line("  baseline: dictionary", nanoseconds(setBaseline, count))
}

// MARK: Versions

func benchmarkForks() {
  let count = 100_000
  let order = shuffled(count)
  let map = VersionedMap(sorted: (0..<Int64(count)).map { (key: $0, value: $0) })
  let dictionary = Dictionary(uniqueKeysWithValues: (0..<Int64(count)).map { ($0, $0) })
  var seen = 0
  let before = allocation_count()
  for key in order[..<1000] {
    var fork = map
    fork[key] = -1
    seen += fork.count
  }
  let allocations = allocation_count() - before
  let forks = seconds {
    for key in order {
      var fork = map
      fork[key] = -1
      seen += fork.count
    }
  }
  let copies = seconds {
    for key in order[..<10] {
      var copy = dictionary
      copy[key] = -1
      seen += copy.count
    }
  }
  precondition(seen > 0, "versions were made")
  line("map: fork and set one of 100,000", nanoseconds(forks, count))
  line("  allocations", before < 0 ? "not counted here" : "\(Double(allocations) / 1000)")
  line("  baseline: copy a dictionary and set one", nanoseconds(copies, 10))
}

func benchmarkDifference() {
  let count = 100_000
  let old = VersionedMap(sorted: (0..<Int64(count)).map { (key: $0, value: $0) })
  var new = old
  for key in shuffled(count)[..<100] { new[key] = -1 }
  let (naiveOld, naiveNew) = (
    Dictionary(uniqueKeysWithValues: old.map { ($0, $1) }),
    Dictionary(uniqueKeysWithValues: new.map { ($0, $1) })
  )
  let apart = VersionedMap(sorted: new)
  var seen = 0
  let difference = seconds {
    for _ in 0..<10 { seen += new.difference(from: old).changes.count }
  }
  let unshared = seconds { seen += apart.difference(from: old).changes.count }
  let naive = seconds {
    for (key, value) in naiveNew where naiveOld[key] != value { seen += 1 }
    for (key, _) in naiveOld where naiveNew[key] == nil { seen += 1 }
  }
  let equality = seconds { seen += new == old ? 1 : 0 }
  precondition(seen == 5 * 1200, "a hundred changes were found each time")
  line(
    "map: difference, 100 changes in 100,000", String(format: "%.1f µs", difference / 10 * 1e6))
  line("  of maps that share nothing", String(format: "%.1f µs", unshared * 1e6))
  line("  baseline: two dictionaries", String(format: "%.1f µs", naive * 1e6))
  line("map: inequality, 100 changes in 100,000", String(format: "%.2f µs", equality * 1e6))
}
