internal import SyncProtocols
internal import UpdateMachine

extension Trace {
  /// The run as a space-time diagram, with a lane for each client and one for the server.
  ///
  /// - Parameters:
  ///   - title: what was run, in one line.
  ///   - clients: the number of clients.
  ///   - evidence: what an oracle found and what led to it, in lines.
  package func picture(
    _ title: String, clients: Int, finding: Finding?, evidence: [String] = []
  ) -> SpaceTime {
    var picture = drawing
    picture.title = title
    picture.lanes = Trace.lanes(clients: clients)
    picture.evidence = evidence
    for event in events {
      picture.mark(
        event.at, lane(of: event, clients: clients), told(event), kind(of: event),
        state: event.state)
    }
    if let finding {
      picture.mark(
        finding.at, finding.client,
        "oracle \(finding.oracle.rawValue): expected \(finding.expected); found \(finding.found)",
        .finding)
    }
    return picture
  }

  private static func lanes(clients: Int) -> [String] {
    (0..<clients).map { "client \($0)" } + ["server"]
  }

  private func lane(of event: Event, clients: Int) -> Int? {
    switch event.who {
    case "server", "plant": clients
    default: event.client
    }
  }

  /// The lane says who acts, except for what only happens.
  private func told(_ event: Event) -> String {
    switch event.who {
    case "fault":
      event.client.map { event.what.before(", client \($0)") } ?? event.what
    case "plant", "world": "\(event.who): \(event.what)"
    default: event.what
    }
  }

  private func kind(of event: Event) -> SpaceTime.Mark.Kind {
    if event.isSeam { return .seam }
    switch event.who {
    case "fault", "plant": return .fault
    case "server": return event.what.utf8.starts(with: "commit".utf8) ? .commit : .plain
    default:
      let isBar = event.isPicture && event.what.utf8.first.map { "[.-".utf8.contains($0) } == true
      return isBar ? .list : .plain
    }
  }
}

extension SimulatedServer {
  /// The logs that can be followed, with what they retain, for pictures.
  var toldLogs: [(name: String, text: String)] {
    aliveQueues.map { log in
      guard let (events, expires) = retention(of: log) else { return ("\(log)", "can be followed") }
      let until =
        expires.map { "expires from \(SpaceTimeDrawing.clock($0)) on" } ?? "is being followed"
      return ("\(log)", "retains \(events) event\(events == 1 ? "" : "s"), \(until)")
    }
  }
}

extension String {
  /// The text without an ending, if it has it.
  fileprivate func before(_ ending: String) -> String {
    utf8.count >= ending.utf8.count && utf8.suffix(ending.utf8.count).elementsEqual(ending.utf8)
      ? String(decoding: utf8.dropLast(ending.utf8.count), as: UTF8.self) : self
  }
}
