// Word-by-word differences of two texts.

/// The words in which what was found differs from what was expected, where most words are equal. An
/// example is "5:0 → nothing, 147481 → 0".
///
/// It replaces, removes and inserts as few words as possible (Wagner and Fischer, "The
/// String-to-String Correction Problem", 1974).
package struct WordDifference: Hashable, Sendable {
  /// Some words, and their replacement.
  package struct Change: Hashable, Sendable {
    package var expected: [String]
    package var found: [String]
  }

  /// The changes in the order of the texts; not empty.
  package private(set) var changes: [Change] = []

  /// Longer texts are not compared: the table would be too large.
  private static var wordsMaximum: Int { 300 }

  /// `nil`: the texts are equal, or have too little in common to be useful (less than a third of
  /// the words of the longer one).
  package init?(from expected: String, to found: String) {
    let (old, new) = (WordDifference.words(expected), WordDifference.words(found))
    guard max(old.count, new.count) <= WordDifference.wordsMaximum else { return nil }
    let costs = WordDifference.costs(old, new)
    let width = new.count + 1
    var (i, j) = (0, 0)
    var kept = 0
    var change = Change(expected: [], found: [])
    func end(_ changes: inout [Change]) {
      guard change != Change(expected: [], found: []) else { return }
      changes.append(change)
      change = Change(expected: [], found: [])
    }
    while i < old.count || j < new.count {
      let cost = costs[i * width + j]
      if i < old.count, j < new.count, old[i] == new[j], cost == costs[(i + 1) * width + j + 1] {
        end(&changes)
        kept += 1
        (i, j) = (i + 1, j + 1)
        continue
      }
      let isReplaced =
        i < old.count && j < new.count && cost == costs[(i + 1) * width + j + 1] + 1
      let isLost = isReplaced || (i < old.count && cost == costs[(i + 1) * width + j] + 1)
      if isLost {
        change.expected.append(old[i])
        i += 1
      }
      if isReplaced || !isLost {
        change.found.append(new[j])
        j += 1
      }
    }
    end(&changes)
    guard !changes.isEmpty, kept * 3 >= max(old.count, new.count) else { return nil }
  }

  /// For each pair of positions, the number of words to change from there on; row by row.
  private static func costs(_ old: [String], _ new: [String]) -> [Int] {
    let width = new.count + 1
    var costs = Array(repeating: 0, count: (old.count + 1) * width)
    for i in (0...old.count).reversed() {
      for j in (0...new.count).reversed() {
        let place = i * width + j
        if i == old.count || j == new.count {
          costs[place] = old.count - i + new.count - j
        } else if old[i] == new[j] {
          costs[place] = costs[place + width + 1]
        } else {
          costs[place] =
            1 + min(costs[place + width + 1], costs[place + width], costs[place + 1])
        }
      }
    }
    return costs
  }

  private static func words(_ text: String) -> [String] {
    var words: [String] = []
    var word: [UInt8] = []
    for byte in text.utf8 {
      if byte > 0x20 {
        word.append(byte)
      } else if !word.isEmpty {
        words.append(String(decoding: word, as: UTF8.self))
        word = []
      }
    }
    if !word.isEmpty { words.append(String(decoding: word, as: UTF8.self)) }
    return words
  }
}

extension WordDifference: CustomStringConvertible {
  /// A text like "2:47+1 → 2:47, nothing → 10:0".
  package var description: String {
    var text = ""
    for (index, change) in changes.enumerated() {
      text += (index == 0 ? "" : ", ") + joined(change.expected) + " → " + joined(change.found)
    }
    return text
  }

  private func joined(_ words: [String]) -> String {
    guard let first = words.first else { return "nothing" }
    return words.dropFirst().reduce(first) { "\($0) \($1)" }
  }
}
