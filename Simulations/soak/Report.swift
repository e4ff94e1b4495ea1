import Foundation
import Synchronization

/// What a client tells its parent, as a line of text.
enum Report: Equatable {
  /// It is about to make this change.
  case makes(Int, isWrite: Bool)
  /// It has not made it.
  case unmade(Int)
  /// The change is on its disk.
  case stored(Int)
  /// Its user is shown that the change has no effect.
  case setAside(Int, isClaim: Bool)
  /// Its user has given it up.
  case discarded(Int)
  /// It shows this heartbeat as up to date.
  case shows(beat: Int, at: Int64)
  /// It has read all keys anew.
  case registered
  /// The cluster has another history than the one that it knew.
  case otherHistory
  /// Nothing is pending, and this is the sum of what it holds.
  case level(UInt64)
  /// What keeps it from being level, in words, after some seconds.
  case waits(String)
  /// The simulator's oracles have nothing against it.
  case judged
  /// Something that must never happen.
  case wrong(String)

  var line: String {
    switch self {
    case .makes(let number, let isWrite): "makes \(number) \(isWrite ? 1 : 0)"
    case .unmade(let number): "unmade \(number)"
    case .stored(let number): "stored \(number)"
    case .setAside(let number, let isClaim): "aside \(number) \(isClaim ? 1 : 0)"
    case .discarded(let number): "discarded \(number)"
    case .shows(let beat, let moment): "shows \(beat) \(moment)"
    case .registered: "registered"
    case .otherHistory: "other"
    case .level(let sum): "level \(sum)"
    case .waits(let text): "waits \(text)"
    case .judged: "judged"
    case .wrong(let text): "wrong \(text.split(whereSeparator: \.isNewline).joined(separator: " "))"
    }
  }

  /// `nil`: it is none, or half of one, of a client that was killed.
  init?(line: String) {
    let words = line.split(separator: " ")
    let number = words.count > 1 ? Int(words[1]) : nil
    switch (words.first, number) {
    case ("makes", let number?) where words.count == 3:
      self = .makes(number, isWrite: words[2] == "1")
    case ("unmade", let number?): self = .unmade(number)
    case ("stored", let number?): self = .stored(number)
    case ("aside", let number?) where words.count == 3:
      self = .setAside(number, isClaim: words[2] == "1")
    case ("discarded", let number?): self = .discarded(number)
    case ("shows", let beat?):
      guard words.count == 3, let moment = Int64(words[2]) else { return nil }
      self = .shows(beat: beat, at: moment)
    case ("registered", _): self = .registered
    case ("other", _): self = .otherHistory
    case ("level", _):
      guard words.count == 2, let sum = UInt64(words[1]) else { return nil }
      self = .level(sum)
    case ("waits", _): self = .waits(String(line.dropFirst("waits ".count)))
    case ("judged", _): self = .judged
    case ("wrong", _): self = .wrong(String(line.dropFirst("wrong ".count)))
    default: return nil
    }
  }
}

/// A client's way to its parent.
final class ReportLine: Sendable {
  private let output = Mutex(FileHandle.standardOutput)

  /// Exits the process if the parent is gone.
  func tell(_ report: Report) {
    output.withLock { handle in
      do {
        try handle.write(contentsOf: Data((report.line + "\n").utf8))
      } catch {
        exit(0)
      }
    }
  }
}
