import EtcdSync
import Foundation
import UpdateMachine

/// The list as it is shown: what was added first comes first.
struct Rows: Equatable {
  struct Row: Equatable {
    var key: EtcdKey
    var item: Item
    /// Whether the cluster does not have it like this yet.
    var isPending: Bool
  }

  var all: [Row]

  init(_ view: EtcdView, pending: [PendingMutation<Deed>]) {
    let waiting = Set(pending.map(\.change.key))
    all = view.entries(under: Deed.prefix).compactMap { key, entry in
      Item(entry).map { Row(key: key, item: $0, isPending: waiting.contains(key)) }
    }
  }

  /// Each item as a line, with the number by which the user may name it.
  var lines: [String] {
    let width = "\(all.count)".count
    return all.enumerated().map { index, row in
      let number = "\(index + 1)"
      return String(repeating: " ", count: width - number.count) + number
        + " [\(row.item.isDone ? "x" : " ")] \(Rows.plain(row.item.title))"
        + (row.isPending ? "  (not sent yet)" : "")
    }
  }

  /// Finds the item that a user names: by its number, or by the first letters of its title.
  func row(_ words: String) throws(Misuse) -> Row {
    if let number = Int(words) {
      guard all.indices.contains(number - 1) else { throw Misuse("there is no item \(number)") }
      return all[number - 1]
    }
    func begins(_ row: Row) -> Bool { row.item.title.lowercased().hasPrefix(words.lowercased()) }
    let found = all.filter(begins)
    guard let row = found.first else { throw Misuse("no item begins with '\(words)'") }
    guard found.count == 1 else {
      throw Misuse("\(found.count) items begin with '\(words)': use a number")
    }
    return row
  }

  /// Makes a title safe to show on one line: without characters that a terminal would obey.
  static func plain(_ text: String) -> String {
    String(
      String.UnicodeScalarView(
        text.unicodeScalars.filter {
          ![.control, .format, .lineSeparator, .paragraphSeparator]
            .contains($0.properties.generalCategory)
        }))
  }
}
