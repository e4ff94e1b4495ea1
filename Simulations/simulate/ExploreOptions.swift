import Simulator

/// What `explore` is asked to visit.
struct ExploreOptions {
  enum Subject {
    case eventQueue(SmallWorld)
    /// Several clients of event-queue.
    case crowd(SmallCrowd)
    case clientView(SmallView)
    case messages(changes: Int)
    case twoPhaseCommit(TwoPhaseCommit)
  }

  static let models = ["event-queue", "two-phase-commit"]
  static let protocols = ["event-queue", "client-view"]
  static let worlds = ["messages"]
  static let names = [
    "--clients", "--queue-length", "--depth", "--memory", "--model", "--participants", "--votes",
    "--protocol", "--world", "--changes", "--refusals", "--seeds", "--share", "--walks",
  ]
  static let flags = ["--json", "--signals", "--no-symmetry", "--by-client"]

  var subject: Subject
  var depth = Int64.max
  var megabytes: UInt64 = 2048
  var json = false
  /// Whether the clients of a crowd are visited one by one.
  var byClient = false
  /// The number of seeds to simulate as well, to compare their runs with what was explored.
  var seeds: UInt64?
  /// How long random walks are taken, to compare them with what was explored; or how many.
  var share: Int64?
  var walks: Int64?

  init(_ arguments: Arguments) throws(UsageError) {
    let name = try ExploreOptions.name(arguments)
    try ExploreOptions.checkOptions(of: name, arguments)
    subject = try ExploreOptions.subject(name, arguments)
    if let number = try arguments.number("--depth", in: 1...Int64(1_000_000)) { depth = number }
    if let number = try arguments.number("--memory", in: 1...UInt64(1_000_000)) {
      megabytes = number
    }
    seeds = try arguments.number("--seeds", in: 1...UInt64(1_000_000))
    share = try arguments.number("--share", in: 1...Int64(1_000_000))
    walks = try arguments.number("--walks", in: 1...Int64(1_000_000_000))
    guard share == nil || walks == nil else {
      throw UsageError(message: "--share and --walks cannot be combined: both limit the walks")
    }
    guard depth == .max || share == nil && walks == nil else {
      throw UsageError(message: "--share and --walks need a whole world, so leave out --depth")
    }
    json = arguments.has("--json")
    byClient = arguments.has("--by-client")
    guard !byClient || depth == .max && share == nil && walks == nil else {
      throw UsageError(
        message: "--by-client visits every client, so leave out --depth, --share and --walks")
    }
  }

  /// The name of what is explored. At most one option gives it; the default is the event queue.
  private static func name(_ arguments: Arguments) throws(UsageError) -> String {
    var found: (option: String, name: String)?
    let kinds = [("model", models), ("protocol", protocols), ("world", worlds)]
    for (kind, known) in kinds {
      guard let name = arguments.values["--\(kind)"] else { continue }
      guard known.contains(name) else {
        let names = known.joined(separator: ", ")
        throw UsageError(message: "unknown \(kind) \"\(name)\". There are: \(names)")
      }
      if let found {
        throw UsageError(message: "--\(kind) cannot be combined with --\(found.option)")
      }
      found = (kind, name)
    }
    return found?.name ?? "event-queue"
  }

  /// Refuses options that belong to another model.
  private static func checkOptions(of name: String, _ arguments: Arguments) throws(UsageError) {
    let own = [
      (["event-queue"], "--clients"), (["event-queue"], "--queue-length"),
      (["event-queue"], "--seeds"), (["event-queue"], "--no-symmetry"),
      (["event-queue"], "--by-client"), (["client-view", "messages"], "--changes"),
      (["client-view"], "--refusals"), (["client-view"], "--signals"),
      (["two-phase-commit"], "--participants"), (["two-phase-commit"], "--votes"),
    ]
    for (models, option) in own
    where !models.contains(name) && (arguments.values[option] != nil || arguments.has(option)) {
      throw UsageError(message: "\(option) has no meaning for \(name)")
    }
  }

  private static func subject(
    _ name: String, _ arguments: Arguments
  ) throws(UsageError) -> Subject {
    switch name {
    case "client-view":
      return .clientView(
        SmallView(
          changes: try arguments.number("--changes", in: SmallView.changesAllowed) ?? 1,
          refusals: try arguments.number("--refusals", in: SmallView.refusalsAllowed) ?? 1,
          hasSignals: arguments.has("--signals")))
    case "messages":
      return .messages(
        changes: try arguments.number("--changes", in: SmallMessages.changesAllowed) ?? 2)
    case "two-phase-commit":
      let participants =
        try arguments.number("--participants", in: TwoPhaseCommit.participantsAllowed) ?? 3
      return .twoPhaseCommit(
        TwoPhaseCommit(
          participants: participants,
          votesNeeded: try arguments.number("--votes", in: 0...participants)))
    default:
      return try eventQueue(arguments)
    }
  }

  private static func eventQueue(_ arguments: Arguments) throws(UsageError) -> Subject {
    let clients = try arguments.number("--clients", in: 1...SmallCrowd.clientsAllowed.upperBound)
    let queueLength =
      try arguments.number("--queue-length", in: SmallWorld.queueLengthAllowed) ?? 1
    guard let clients, clients > 1 else {
      for option in ["--no-symmetry", "--by-client"] where arguments.has(option) {
        throw UsageError(message: "\(option) needs several --clients")
      }
      return .eventQueue(SmallWorld(queueLength: queueLength))
    }
    guard arguments.values["--seeds"] == nil else {
      throw UsageError(message: "--seeds compares runs with one client, so leave out --clients")
    }
    return .crowd(
      SmallCrowd(
        clients: clients, queueLength: queueLength, isSymmetric: !arguments.has("--no-symmetry")))
  }
}

extension ExploreOptions {
  /// Compares the explored world with runs of seeds; `nil`: this was not requested, or Ctrl-C was
  /// pressed.
  func shapes(_ console: Console) -> ShapeCount? {
    guard case .eventQueue(let world) = subject, let seeds else { return nil }
    let progress = Progress(console)
    defer { console.progress(nil) }
    return ShapeCount(of: world, in: 1...seeds) { runs in
      progress.show(
        runs == 0 ? "runs: visiting the states again" : "runs: \(runs) of \(seeds)")
      return !Interrupt.wasAsked
    }
  }
}
