import Foundation

/// The folder of the accounts' files, unless `--state` names one.
enum StateFolder {
  /// Returns the folder for a process with this environment.
  static func path(_ environment: [String: String]) -> String {
    #if os(macOS)
      NSString(string: "~/.local/state/follow").expandingTildeInPath
    #else
      xdg(environment, home: NSHomeDirectory())
    #endif
  }

  /// Returns the folder where the XDG Base Directory Specification wants it: in `XDG_STATE_HOME`,
  /// or by default in `.local/state` in `HOME`. A variable counts as unset if it is empty or
  /// relative.
  /// - Parameter home: the home folder if `HOME` is unset, too.
  static func xdg(_ environment: [String: String], home: String) -> String {
    let home = folder("HOME", environment) ?? home
    let states = folder("XDG_STATE_HOME", environment) ?? "\(home)/.local/state"
    return NSString(string: states).appendingPathComponent("follow")
  }

  private static func folder(_ variable: String, _ environment: [String: String]) -> String? {
    environment[variable].flatMap { $0.hasPrefix("/") ? $0 : nil }
  }
}
