import CAllocations
import Foundation
import UpdateMachine

// Compares the versioned map with a dictionary and with a sorted array.

/// The simplest ordered map: a sorted array of entries.
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

func benchmarkMap() {
  benchmarkThroughput()
  benchmarkEntries()
  benchmarkTexts()
  benchmarkForks()
  benchmarkDifference()
}

// MARK: Bytes a second

/// Measures bytes a second. Every byte is written when a value is inserted, and read in a scan.
func benchmarkThroughput() {
  let template = [UInt8](repeating: 7, count: 1024)
  func value(_ number: Int64) -> [UInt8] {
    var value = template
    value[0] = UInt8(truncatingIfNeeded: number)  // The write makes it a kilobyte of its own.
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
  row(
    "map: populate 1 MB of 1 KB values", .rate(fillMap, "MB/s"),
    beside: [
      "goal, 5 × Replicache": .rate(355, "MB/s"),
      "a dictionary": .rate(fillDictionary, "MB/s"),
      "a sorted array": .rate(fillArray, "MB/s"),
    ])
  row(
    "map: scan 10 MB of 1 KB values, every byte", .rate(scanMap, "MB/s"),
    beside: [
      "goal, 5 × Replicache": .rate(1410, "MB/s"),
      "a dictionary, in no order": .rate(scanDictionary, "MB/s"),
      "a sorted array": .rate(scanArray, "MB/s"),
    ])
}

// MARK: One entry

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
    let figures = [one, other, third ?? 0].map { Figure.time($0 / Double(count)) }
    if third == nil {
      row("map: \(name), 100,000 numbers", figures[0], beside: ["a dictionary": figures[1]])
    } else {
      row(
        "map: \(name), 100,000 numbers", figures[0],
        beside: ["a dictionary": figures[1], "a sorted array": figures[2]])
    }
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
  counted("  allocations in 100,000", before < 0 ? -1 : allocations)
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
  row("map with a checksum: set, new, 100,000 numbers", .time(kept / Double(count)))
  row("  checksum of a map, anew", .time(seconds { seen &+= Int64(bitPattern: map.checksum) }))
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
  row(
    "map: get, 100,000 texts", .time(get / Double(count)),
    beside: ["a dictionary": .time(getBaseline / Double(count))])
  row(
    "map: set, there already, 100,000 texts", .time(set / Double(count)),
    beside: ["a dictionary": .time(setBaseline / Double(count))])
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
  row(
    "map: fork and set one of 100,000", .time(forks / Double(count)),
    beside: ["a dictionary, copied": .time(copies / 10)])
  counted("  allocations in 1,000", before < 0 ? -1 : allocations)
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
  row(
    "map: difference, 100 changes in 100,000", .time(difference / 10),
    beside: ["maps that share nothing": .time(unshared), "two dictionaries": .time(naive)])
  row("map: inequality, 100 changes in 100,000", .time(equality))
}
