internal import UpdateMachine

/// The library's own worlds.
public enum LibraryWorld: String, CaseIterable, Hashable, Sendable {
  /// Every client holds everything: ``Chat``.
  case directory
  /// Every client holds a part, and fetches pages: ``Mail``.
  case messages

  /// The world that a seed draws: each seed has one.
  public static func drawn(by seed: UInt64) -> LibraryWorld {
    Digest.mixed(seed ^ 0x9E37_79B9_7F4A_7C15) & 3 == 0 ? .messages : .directory
  }

  /// As ``Simulation/run(_:)`` in the world that the configuration names.
  public static func run(_ configuration: SimulationConfiguration) -> RunResult {
    switch configuration.world {
    case .directory: Simulation<Chat>.run(configuration)
    case .messages: Simulation<Mail>.run(configuration)
    }
  }

  /// As ``Simulation/trace(_:)``.
  public static func trace(_ configuration: SimulationConfiguration) -> (RunResult, Trace) {
    switch configuration.world {
    case .directory: Simulation<Chat>.trace(configuration)
    case .messages: Simulation<Mail>.trace(configuration)
    }
  }

  /// As ``Simulation/traceReplay(_:)``.
  public static func traceReplay(_ token: RunToken) -> (RunResult, Trace) {
    switch token.configuration.world {
    case .directory: Simulation<Chat>.traceReplay(token)
    case .messages: Simulation<Mail>.traceReplay(token)
    }
  }

  /// As ``Simulation/shrunk(_:budget:while:)``.
  public static func shrunk(
    _ configuration: SimulationConfiguration, while goesOn: @escaping (Shrinker) -> Bool
  ) -> Shrunk? {
    switch configuration.world {
    case .directory: Simulation<Chat>.shrunk(configuration, while: goesOn)
    case .messages: Simulation<Mail>.shrunk(configuration, while: goesOn)
    }
  }
}
