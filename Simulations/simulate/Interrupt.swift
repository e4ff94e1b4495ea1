import Foundation
import Synchronization

/// Whether the user has pressed Ctrl-C. Commands check it between runs, and stop with the results
/// so far. A second press ends the process at once.
enum Interrupt {
  private static let flag = Atomic<Bool>(false)

  static var wasAsked: Bool { flag.load(ordering: .relaxed) }

  static func watch() {
    signal(SIGINT) { _ in
      Interrupt.flag.store(true, ordering: .relaxed)
      signal(SIGINT, SIG_DFL)
    }
  }
}
