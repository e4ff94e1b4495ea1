internal import SyncProtocols
internal import UpdateMachine

/// One line of a scenario that is neither a comment nor output.
enum Directive {
  case machine(MachineSettings)
  case terms(ServerTerms)
  case restored(QueueFinger, age: TimeSpan?)
  case step(Time, Step)
  case server(ServerRules.Kind, ServerRules.Rule)
  case capacity(snapshotsASecond: Int64)
  case writes(after: TimeSpan, fail: Bool)
  case habit(every: TimeSpan, Habit)
  case clients(Int, shareFinger: Bool)
  case seed(UInt64)
  case run(TimeSpan)

  /// When a step is taken.
  enum Time {
    case now
    case after(TimeSpan)
    case at(Moment)
  }

  /// One event of a client.
  enum Step {
    case look
    case restart(fromBackup: Bool)
    case backup
    case signal(AppSignal)
    case snapshotArrived(ID?, QueueFinger, isComplete: Bool)
    /// `nil` stands for an empty batch.
    case polled(ID?, lastEventID: Int64?, isComplete: Bool)
    case failed(ID?, SyncFailure)
    case fired(TimerID?)
    case written(WriteID?)
    case writeFailed(WriteID?)
  }

  /// Names a request other than the open one.
  struct ID {
    var number: UInt64
    /// `nil` stands for the machine's current process.
    var incarnation: Incarnation?
  }

  /// An action that the device repeats.
  enum Habit {
    case signal(AppSignal)
    /// Goes to the background and comes back, in turn.
    case toggled
  }

  init(_ words: inout Words) throws(ScenarioError) {
    switch words.next {
    case "machine":
      _ = words.take("machine")
      self = .machine(try Directive.settings(&words))
    case "terms":
      _ = words.take("terms")
      self = .terms(try Directive.terms(&words))
    case "restored":
      _ = words.take("restored")
      let finger = try words.finger()
      self = .restored(finger, age: words.take("age") ? try words.span() : nil)
    case "server":
      _ = words.take("server")
      self = try Directive.server(&words)
    case "writes":
      _ = words.take("writes")
      let fail = words.take("fail")
      try words.require("after")
      self = .writes(after: try words.span(), fail: fail)
    case "every":
      _ = words.take("every")
      self = try Directive.habit(&words)
    case "clients":
      _ = words.take("clients")
      self = .clients(try words.count(to: ServerRules.clientsMaximum), shareFinger: false)
    case "processes":
      _ = words.take("processes")
      self = .clients(try words.count(to: ServerRules.clientsMaximum), shareFinger: true)
    case "seed":
      _ = words.take("seed")
      self = .seed(try words.value("a whole number") { UInt64($0) })
    case "run":
      _ = words.take("run")
      self = .run(try words.span())
    case "after":
      _ = words.take("after")
      let span = try words.span()
      self = .step(.after(span), try Step(&words))
    case "at":
      _ = words.take("at")
      let span = try words.span()
      self = .step(.at(Moment(milliseconds: span.milliseconds)), try Step(&words))
    case _: self = .step(.now, try Step(&words))
    }
    try words.requireEnd()
  }

  private static func settings(_ words: inout Words) throws(ScenarioError) -> MachineSettings {
    var settings = MachineSettings()
    while words.next != nil {
      settings = try words.value("a setting such as spread=30s or durable=no") { word in
        guard let pair = Words.pair(word) else { return nil }
        var changed = settings
        return changed.assign(pair.name, pair.value) ? changed : nil
      }
    }
    return settings
  }

  private static func terms(_ words: inout Words) throws(ScenarioError) -> ServerTerms {
    var terms = ServerTerms.unspoken
    while words.next != nil {
      if words.take("pushed") {
        terms.cadence = .pushed
        continue
      }
      terms = try words.value("longDeadline=100s, lifetime=600s, every=30s or pushed") { word in
        guard let pair = Words.pair(word), let span = Words.span(pair.value) else { return nil }
        var changed = terms
        switch pair.name {
        case "longDeadline": changed.longDeadline = span
        case "lifetime": changed.lifetime = span
        case "every": changed.cadence = .every(span)
        default: return nil
        }
        return changed
      }
    }
    return terms
  }

  private static func habit(_ words: inout Words) throws(ScenarioError) -> Directive {
    let period = try words.span()
    guard period > .zero else { throw words.error("a period longer than nothing") }
    try words.require(":")
    if words.take("toggled") { return .habit(every: period, .toggled) }
    return .habit(every: period, .signal(try Step.signal(&words)))
  }

  private static func server(_ words: inout Words) throws(ScenarioError) -> Directive {
    if words.take("gives") {
      let count = try words.count(to: 1000)
      try words.require("snapshots")
      try words.require("a")
      try words.require("second")
      return .capacity(snapshotsASecond: Int64(count))
    }
    let kind = try words.value("register, quick, waiting, poll or gives") {
      ServerRules.Kind(rawValue: $0)
    }
    try words.require("after")
    let latency = try words.span()
    try words.require(":")
    var replies = [try ServerRules.Reply(&words, kind: kind)]
    var repeats = true
    while words.next != nil {
      let isList = words.take(",")
      guard isList || words.take("then") else { throw words.error("\",\" or \"then\"") }
      guard replies.count == 1 || isList == repeats else {
        throw words.error("either \",\" or \"then\" throughout")
      }
      repeats = isList
      replies.append(try ServerRules.Reply(&words, kind: kind))
    }
    return .server(
      kind, ServerRules.Rule(latency: latency, replies: replies, repeats: repeats))
  }
}

extension Directive.Step {
  init(_ words: inout Words) throws(ScenarioError) {
    switch words.next {
    case "look":
      _ = words.take("look")
      self = .look
    case "backup":
      _ = words.take("backup")
      self = .backup
    case "restart":
      _ = words.take("restart")
      let fromBackup = words.take("from")
      if fromBackup { try words.require("backup") }
      self = .restart(fromBackup: fromBackup)
    case "snapshotArrived":
      _ = words.take("snapshotArrived")
      let id = try Directive.ID(&words)
      let finger = try words.finger()
      self = .snapshotArrived(id, finger, isComplete: !words.take("incomplete"))
    case "polled":
      _ = words.take("polled")
      let id = try Directive.ID(&words)
      var lastEventID: Int64?
      if !words.take("nothing") {
        guard words.take("to") else { throw words.error("\"to\" and an event ID, or \"nothing\"") }
        lastEventID = try words.value("an event ID") { Int64($0) }
      }
      self = .polled(id, lastEventID: lastEventID, isComplete: !words.take("incomplete"))
    case "failed":
      _ = words.take("failed")
      let id = try Directive.ID(&words)
      self = .failed(id, try words.failure())
    case "fired":
      _ = words.take("fired")
      self = .fired(try Directive.number(&words).map { TimerID($0) })
    case "written":
      _ = words.take("written")
      self = .written(try Directive.number(&words).map { WriteID($0) })
    case "writeFailed":
      _ = words.take("writeFailed")
      self = .writeFailed(try Directive.number(&words).map { WriteID($0) })
    case _: self = .signal(try Directive.Step.signal(&words))
    }
  }

  /// An input without an ID.
  static func signal(_ words: inout Words) throws(ScenarioError) -> AppSignal {
    if words.take("started") {
      guard words.take("in") else { return .started(foreground: true) }
      try words.require("background")
      return .started(foreground: false)
    }
    return try words.value("a directive, or an input such as networkChanged") { word in
      switch word {
      case "stopped": .stopped
      case "loggedOut": .loggedOut
      case "foregrounded": .foregrounded
      case "backgrounded": .backgrounded
      case "networkChanged": .networkChanged
      case "retryRequested": .retryRequested
      case "credentialsChanged": .credentialsChanged
      default: nil
      }
    }
  }
}

extension Directive {
  /// A number, if the next word is one.
  fileprivate static func number(_ words: inout Words) throws(ScenarioError) -> UInt64? {
    guard let word = words.next, UInt64(word) != nil else { return nil }
    return try words.value("a whole number") { UInt64($0) }
  }
}

extension Directive.ID {
  /// `nil` if the next word is not a number. Then the open request is meant.
  fileprivate init?(_ words: inout Words) throws(ScenarioError) {
    guard let number = try Directive.number(&words) else { return nil }
    self.number = number
    guard words.take("of") else { return }
    try words.require("incarnation")
    incarnation = Incarnation(try words.value("an incarnation's number") { UInt64($0) })
  }
}
