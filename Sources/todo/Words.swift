import Foundation
import UpdateMachine

// What the program says about connection and changes.

extension Todo {
  /// How fresh the list is, and what is not sent yet.
  static func words(_ state: Machine.State) -> String {
    var parts = [freshness(state)]
    switch state.pending.count {
    case 0: break
    case 1: parts.append("1 change is not sent yet.")
    case let count: parts.append("\(count) changes are not sent yet.")
    }
    return parts.joined(separator: " ")
  }

  private static func freshness(_ state: Machine.State) -> String {
    switch state.freshness.claim {
    case .connected: "Up to date."
    case .halted(.credentials): "The cluster refuses the user or the password."
    default: state.freshness.sentence(locale: Locale(identifier: "en")) ?? "Reading the list."
    }
  }

  /// Whether a change has no effect because somebody else has changed or removed the item.
  static func isLate(_ code: RejectionCode) -> Bool { ["GONE", "CHANGED"].contains(code.text) }

  static func words(_ report: DriverReport) -> String {
    switch report {
    case .failure(.rejected(let code)) where code.text == "OTHER_HISTORY":
      "the cluster has another history: it was restored from a backup, or is another one. "
        + "The list is read anew, and your changes that were not sent are kept"
    case .failure(.rejected(let code)) where isLate(code):
      "somebody was faster (\(code.text))"
    case .failure(.rejected(let code)): "the cluster refuses it: \(code.text)"
    case .failure(.modelRefused):
      "another program has written over the cluster's record of your changes, a key of this list "
        + "that begins with a zero byte. The list goes on when that key is deleted"
    default: "\(report)"
    }
  }
}
