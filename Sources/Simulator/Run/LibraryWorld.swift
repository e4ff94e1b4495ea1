internal import UpdateMachine

/// The library's own worlds.
public enum LibraryWorld: String, CaseIterable, Hashable, Sendable {
  /// Every client holds everything: ``Chat``.
  case directory
  /// Every client holds a part, and fetches pages: ``Mail``.
  case messages
  /// Users change things, over the client view's protocol: ``Ledger``.
  case ledger
  /// Users post, over event queues, to a server that knows no post again: ``Posts``.
  case posts

  /// The protocols of these worlds.
  public enum SpokenProtocol: String, CaseIterable, Hashable, Sendable {
    case eventQueue = "event-queue"
    case clientView = "client-view"
  }

  /// What is spoken there.
  public var spoken: SpokenProtocol {
    switch self {
    case .directory, .messages, .posts: .eventQueue
    case .ledger: .clientView
    }
  }

  /// The world that a seed draws: each seed has one.
  ///
  /// - Parameters:
  ///   - seed: the seed.
  ///   - spoken: of the worlds of this protocol; `nil`: of all.
  public static func drawn(by seed: UInt64, of spoken: SpokenProtocol? = nil) -> LibraryWorld {
    let isLedger = Digest.mixed(seed ^ 0xD1B5_4A32_D192_ED03) & 3 == 0
    if spoken == .clientView || spoken == nil && isLedger { return .ledger }
    if Digest.mixed(seed ^ 0x9E37_79B9_7F4A_7C15) & 3 == 0 { return .messages }
    return Digest.mixed(seed ^ 0xA076_1D64_78BD_642F) & 3 == 0 ? .posts : .directory
  }

  /// As ``Simulation/run(_:)`` in the world that the configuration names.
  public static func run(_ configuration: SimulationConfiguration) -> RunResult {
    switch configuration.world {
    case .directory: Simulation<Chat>.run(configuration)
    case .messages: Simulation<Mail>.run(configuration)
    case .ledger: Simulation<Ledger>.run(configuration)
    case .posts: Simulation<Posts>.run(configuration)
    }
  }

  /// As ``Simulation/trace(_:)``.
  public static func trace(_ configuration: SimulationConfiguration) -> (RunResult, Trace) {
    switch configuration.world {
    case .directory: Simulation<Chat>.trace(configuration)
    case .messages: Simulation<Mail>.trace(configuration)
    case .ledger: Simulation<Ledger>.trace(configuration)
    case .posts: Simulation<Posts>.trace(configuration)
    }
  }

  /// As ``Simulation/traceReplay(_:)``.
  public static func traceReplay(_ token: RunToken) -> (RunResult, Trace) {
    switch token.configuration.world {
    case .directory: Simulation<Chat>.traceReplay(token)
    case .messages: Simulation<Mail>.traceReplay(token)
    case .ledger: Simulation<Ledger>.traceReplay(token)
    case .posts: Simulation<Posts>.traceReplay(token)
    }
  }

  /// As ``Simulation/shrunk(_:budget:while:)``.
  public static func shrunk(
    _ configuration: SimulationConfiguration, while goesOn: @escaping (Shrinker) -> Bool
  ) -> Shrunk? {
    switch configuration.world {
    case .directory: Simulation<Chat>.shrunk(configuration, while: goesOn)
    case .messages: Simulation<Mail>.shrunk(configuration, while: goesOn)
    case .ledger: Simulation<Ledger>.shrunk(configuration, while: goesOn)
    case .posts: Simulation<Posts>.shrunk(configuration, while: goesOn)
    }
  }
}
