import Foundation

/// The folder of the lists' files, unless `--state` names one.
enum StateFolder {
  /// Returns the folder for a process with this environment: on Linux where the XDG Base Directory
  /// Specification wants it. A variable counts as unset if it is empty or relative.
  static func path(_ environment: [String: String]) -> String {
    func folder(_ variable: String) -> String? {
      environment[variable].flatMap { $0.hasPrefix("/") ? $0 : nil }
    }
    let states = "\(folder("HOME") ?? NSHomeDirectory())/.local/state"
    #if os(macOS)
      return "\(states)/todo"
    #else
      return "\(folder("XDG_STATE_HOME") ?? states)/todo"
    #endif
  }
}
