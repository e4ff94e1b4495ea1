internal import UpdateMachine

/// A world's fault plan and tempo: how fast things happen, how far apart the parties are, and which
/// faults occur. Each seed draws one. Most faults are left out of a run, which lets the others go
/// deeper: swarm testing (Groce and others, "Swarm Testing", 2012).
struct FaultPlan: Sendable {
  var settings = MachineSettings()
  var pages = PageSettings()
  /// Whether only every other client saves its state: two machines of one account, of which one is
  /// cheap to fill anew.
  var isMixed = false
  var server = ServerSettings()
  /// The most changes in one push that the server takes; `nil`: any number.
  var pushMaximum: Int?
  /// The table from which one-way latencies are drawn.
  var latencies: [Int64]
  /// The longest time between two committed events. `disturbanceGap` is the same for disturbances.
  var workloadGap: Int64
  var disturbanceGap: Int64
  /// How many messages in 64 a fault strikes.
  var strength: UInt64
  /// In a hasty world: each time that a client waits for an answer or for its disk, something
  /// happens to it meanwhile in one of so many cases. Two things that are far apart in other worlds
  /// come together here. `nil`: the world is not hasty.
  var haste: UInt64?

  /// The enabled faults, grouped by when they strike.
  var outgoing: [Fault] = []
  var answering: [Fault] = []
  var incoming: [Fault] = []
  var writing: [Fault] = []
  var disturbances: [Fault] = []
  var faults = FaultSet()

  /// Tables of latencies in milliseconds: constant, next door, a city, and a long tail.
  private static var tables: [[Int64]] {
    [[25], [1, 2, 5], [20, 40, 60, 80, 100, 150, 200], [10, 30, 50, 100, 300, 1000, 3000, 8000]]
  }

  /// The longest delays, used by the faults that cost the most time.
  static var slowTrip: Int64 { 30_000 }
  static var slowSnapshot: Int64 { 200_000 }
  static var quickSnapshot: Int64 { 400 }
  static var quickWrite: Int64 { 20 }
  static var slowWrite: Int64 { HonestyOracle.longestWrite.milliseconds }

  /// The faults that hasty worlds need: an answer that was given up comes, and what ends a request
  /// comes while another is out.
  private static var meetingOthers: FaultSet {
    [
      .lateAnswer, .rejectedRequest, .queueExpiry, .stopAndStart, .background, .logOut, .slowLoad,
      .unloadedRows,
    ]
  }

  /// The disturbances of this world that meet others.
  var meetings: [Fault] { disturbances.filter(FaultPlan.meetingOthers.contains) }

  /// - Parameter hasPages: whether clients read pages. If not, faults of pages are left out.
  /// - Parameter hasChanges: whether users change things. If not, faults of changes are left out.
  /// - Parameter hasNames: whether the server names its clients. If not, it forgets no name.
  /// - Parameter cadences: how the server may want to be asked.
  init(
    _ choices: inout Choices, allowed: FaultSet, isSwarm: Bool = true, hasPages: Bool = true,
    hasChanges: Bool = true, hasNames: Bool = true, cadences: [Cadence] = [.waits]
  ) {
    if cadences.count > 1 { server.cadence = choices.pick(.cadence, cadences) }
    latencies = FaultPlan.tables[Int(choices.draw(.swarm, below: UInt64(FaultPlan.tables.count)))]
    workloadGap = choices.pick(.swarm, [2000, 300, 15_000, 120_000])
    disturbanceGap = choices.pick(.swarm, [10_000, 1500, 60_000, 400_000])
    strength = choices.pick(.swarm, [4, 1, 12, 24])
    if choices.happens(.swarm, 1, in: 4) { settings.isDurable = false }
    isMixed = !hasChanges && settings.isDurable && choices.happens(.machines, 1, in: 4)
    settings.refreshPeriod = choices.pick(.swarm, [nil, nil, .seconds(60), .seconds(300)])
    server.lifetime = choices.pick(.swarm, [.seconds(600), .seconds(600), .seconds(45)])
    server.mergesFlags = !choices.happens(.swarm, 1, in: 4)
    if allowed != .none {
      let cases: UInt64 = choices.pick(.haste, [6, 3, 2])
      if choices.happens(.haste, 1, in: 8) { haste = cases }
    }
    if hasPages, choices.happens(.lists, 1, in: 4) {
      pages.unwatchedMaximum = Int(choices.draw(.lists, below: 4))
    }
    for fault in Fault.allCases where allowed.contains(fault) {
      if fault.isOfPages && !hasPages || fault.isOfChanges && !hasChanges { continue }
      if fault == .forgottenName, !hasNames { continue }
      let isDrawn = !isSwarm || choices.happens(fault.stream, 1, in: 3)
      let isOfHaste = haste != nil && FaultPlan.meetingOthers.contains(fault)
      if isDrawn || isOfHaste && choices.happens(.haste, 1, in: 2) { add(fault) }
    }
    if faults.contains(.smallPushes) { pushMaximum = choices.pick(.updates, [4, 2, 1]) }
    if faults.contains(.rateLimit), choices.happens(.swarm, 1, in: 3) {
      server.requestsPerWindow = choices.pick(.swarm, [20, 6, 60])
    }
  }

  /// The settings of a client's machine.
  func settings(of client: Int) -> MachineSettings {
    var own = settings
    if isMixed, client % 2 == 1 { own.isDurable = false }
    return own
  }

  /// The settings of a client.
  func clientSettings(of client: Int) -> ClientSettings {
    var own = ClientSettings()
    own.machine = settings(of: client)
    own.pages = pages
    return own
  }

  /// The longest one-way latency.
  var latencyMaximum: TimeSpan {
    .milliseconds(
      (latencies.last ?? 0) + (faults.contains(.slowNetwork) ? FaultPlan.slowTrip : 0))
  }

  /// Once the faults have stopped, the longest time until a request is answered and its snapshot is
  /// written.
  var calmTrip: TimeSpan {
    .milliseconds((latencies.last ?? 0) * 2 + FaultPlan.quickSnapshot + FaultPlan.quickWrite)
  }

  private mutating func add(_ fault: Fault) {
    faults.insert(fault)
    switch fault {
    case .lostRequest, .refusedConnection, .sourceTimeout, .halfOpen: outgoing.append(fault)
    case .slowNetwork:
      outgoing.append(fault)
      incoming.append(fault)
    case .lostAnswer, .repeatedAnswer, .repeatedEvents: incoming.append(fault)
    case .serverError, .portal, .rateLimit, .malformedAnswer, .rejectedRequest, .expiredRegister,
      .refusedSnapshot, .slowSnapshot:
      answering.append(fault)
    case .slowWrite, .failedWrite: writing.append(fault)
    case .lateAnswer, .clockJump, .slowLoad, .oldBackup, .damagedForm, .oldOutbox, .crashAtWrite,
      .unloadedRows, .failedRead, .appUpdate, .smallPushes, .undo, .forgottenName:
      break  // These strike after a cancel or a crash, or when a disk is asked or a user acts.
    case .brokenConnection, .partition, .unknownEvent, .revokedCredentials, .unsupportedServer,
      .refusedEvent, .gentleRestart, .killedServer, .queueExpiry, .secondPoller, .background,
      .suspension, .crash, .stopAndStart, .logOut, .networkChanges, .storm, .endlessPartition,
      .abandonedClient, .silentChange, .oldCache, .fullDisk:
      disturbances.append(fault)
    }
  }

  /// Removes all faults.
  mutating func calm() {
    faults = .none
    pushMaximum = nil
    haste = nil
    outgoing = []
    answering = []
    incoming = []
    writing = []
    disturbances = []
  }
}
