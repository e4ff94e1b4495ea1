internal import UpdateMachine

/// Choices by stream, as a replay reads them.
package struct ChoiceLists: Hashable, Sendable {
  private var values: [[UInt64]]

  package init(_ record: [Choices.Choice]) {
    values = Choices.Stream.allCases.map { _ in [] }
    for choice in record { values[Int(choice.stream.rawValue)].append(choice.value) }
    for stream in values.indices { trim(stream) }
  }

  /// The choices as a record, stream after stream.
  package var record: [Choices.Choice] {
    var record: [Choices.Choice] = []
    for (index, stream) in Choices.Stream.allCases.enumerated() {
      for value in values[index] { record.append(Choices.Choice(stream: stream, value: value)) }
    }
    return record
  }

  /// The number of choices that are not 0.
  package var choicesLeft: Int64 { size.choices }

  /// A measure of simplicity: smaller is simpler.
  struct Size: Comparable {
    var choices: Int64 = 0
    var length: Int64 = 0
    /// The sum of all values; `order` is the sum in which earlier values count more. So lower
    /// values are simpler, and so are lists with the lower values first.
    var weight: UInt64 = 0
    var order: UInt64 = 0

    static func < (one: Size, other: Size) -> Bool {
      (one.choices, one.length, one.weight, one.order)
        < (other.choices, other.length, other.weight, other.order)
    }
  }

  var size: Size {
    var size = Size()
    for stream in values {
      size.length += Int64(stream.count)
      for (index, value) in stream.enumerated() where value != 0 {
        size.choices += 1
        size.weight &+= min(value, 1 << 48)
        size.order &+= UInt64(stream.count - index) &* min(value, 1 << 40)
      }
    }
    return size
  }

  var streams: Range<Int> { values.indices }

  func count(_ stream: Int) -> Int { values[stream].count }

  func value(_ stream: Int, _ index: Int) -> UInt64 { values[stream][index] }

  func value(_ stream: Int, _ index: Int, else other: UInt64) -> UInt64 {
    index < values[stream].count ? values[stream][index] : other
  }

  mutating func set(_ stream: Int, _ index: Int, to value: UInt64) {
    values[stream][index] = value
    trim(stream)
  }

  mutating func zero(_ stream: Int, _ span: Range<Int>) {
    for index in span { values[stream][index] = 0 }
    trim(stream)
  }

  /// Replaces a span by its sum, in the place of its last value that is not 0: one long wait for
  /// many short ones.
  mutating func gather(_ stream: Int, _ span: Range<Int>) {
    guard let last = span.last(where: { values[stream][$0] != 0 }) else { return }
    let sum = span.reduce(0) { $0 &+ values[stream][$1] }
    for index in span { values[stream][index] = index == last ? sum : 0 }
  }

  mutating func delete(_ stream: Int, _ span: Range<Int>) {
    values[stream].removeSubrange(span)
    trim(stream)
  }

  mutating func swap(_ stream: Int, _ one: Int, _ other: Int) {
    values[stream].swapAt(one, other)
    trim(stream)
  }

  /// Removes zeros at the end: a replay returns them anyway.
  private mutating func trim(_ stream: Int) {
    while values[stream].last == 0 { values[stream].removeLast() }
  }
}
