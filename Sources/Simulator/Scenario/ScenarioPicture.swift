internal import SyncProtocols
internal import UpdateMachine

extension Scenario {
  /// A scenario as a space-time diagram, with a lane for each client and one for the server.
  ///
  /// Where a scenario is about one machine, a request is drawn where it is sent, and its answer
  /// where it is taken: the text does not say how long either was on its way. Of several machines,
  /// only their counts are known.
  ///
  /// - Throws: ``ScenarioError`` for the first invalid line.
  package static func picture(
    of text: String, title: String
  ) throws(ScenarioError) -> SpaceTime {
    var picture = SpaceTime(title: title, lanes: ["client", "server"])
    var player: Player?
    var number = 0
    for line in lines(of: text) {
      number += 1
      if line.utf8.isEmpty || line.utf8.first == UInt8(ascii: "#") { continue }
      if line.utf8.starts(with: "  ".utf8) { continue }  // Output.
      var words = Words(line, number: number)
      let stage = if case .machines(let stage) = player { stage } else { Stage() }
      var copy = words
      let outputs = try Player.perform(&words, in: &player)
      guard case .machines(let after) = player else { continue }
      picture.take(line, try Directive(&copy), outputs, before: stage.clients[0].body, after)
    }
    if case .session(let playing) = player { return playing.session.picture(title) }
    return picture
  }
}

extension SpaceTime {
  fileprivate mutating func take(
    _ line: String, _ directive: Directive, _ outputs: [String], before: Client.Body, _ stage: Stage
  ) {
    guard case .step(_, let step) = directive, stage.clients.count == 1 else {
      let told = outputs.isEmpty ? line : "\(line): \(outputs.joined(separator: ", "))"
      return mark(stage.now, nil, told)
    }
    let body = stage.clients[0].body
    let asked = before.status.outstanding
    let isOver = asked != nil && body.status.outstanding?.id != asked?.id
    var kind = Mark.Kind.plain
    if let asked, isOver {
      let request = SpaceTime.Key(.request, 0, asked.id.number)
      let answer = SpaceTime.Key(.answer, 0, asked.id.number)
      switch step {
      // The request did not reach the server, or nothing came back in time.
      case .failed(_, .unreachable), .failed(_, .timedOut), .fired: lose(request, at: asked.sent)
      case .snapshotArrived, .polled, .failed:
        arrive(request, at: asked.sent)
        send(answer, from: 1, to: 0, line, at: stage.now)
        arrive(answer, at: stage.now)
        if case .snapshotArrived = step, body.status.isLive { kind = .seam }
      case .look, .backup, .restart, .signal, .written, .writeFailed: break
      }
    }
    mark(
      stage.now, 0, ([line] + outputs.dropFirst()).joined(separator: " · "), kind,
      state: .status(body.status.code))
    if let new = body.status.outstanding, new.id != asked?.id {
      let key = SpaceTime.Key(.request, 0, new.id.number)
      send(key, from: 0, to: 1, body.finger.map { "poll from \($0)" } ?? "register", at: stage.now)
    }
  }
}
