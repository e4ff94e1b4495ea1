import Foundation
import Synchronization

/// Whether the user has pressed Ctrl-C. Commands check it between runs, and stop with the results
/// so far. A second press ends the process at once.
enum Interrupt {
  private static let flag = Atomic<Bool>(false)

  static var wasAsked: Bool { flag.load(ordering: .relaxed) }

  /// From here on the first Ctrl-C ends the process: the command has no results before its end.
  static func endsProcess() {
    signal(SIGINT) { _ in _exit(130) }
  }

  static func watch() {
    // A program that is started by a thread that blocks signals would never hear of them.
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    for signal in [SIGINT, SIGTERM] { unsafe sigaddset(&signals, signal) }
    unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    signal(SIGINT) { _ in
      Interrupt.flag.store(true, ordering: .relaxed)
      signal(SIGINT, SIG_DFL)
    }
  }
}
