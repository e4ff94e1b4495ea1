internal import SyncProtocols
internal import UpdateMachine

extension PlaygroundWorld {
  /// Everything that a page shows. Moments are milliseconds.
  var state: JSONObject {
    JSONObject(
      of: ("now", number(now)),
      ("protocol", .string(App.played.rawValue)),
      ("latency", JSONValue(integerLiteral: latency.milliseconds)),
      ("snapshotTime", JSONValue(integerLiteral: snapshotTime.milliseconds)),
      ("server", .object(serverState)),
      ("settings", .array(settings)),
      ("clients", .array(devices.indices.map { .object(state(of: $0)) })),
      ("messages", .array(messages.indices.map { .object(state(ofMessage: $0)) })),
      ("notes", .array(notes.map { .object(state(of: $0)) })))
  }

  private func number(_ moment: Moment) -> JSONValue {
    JSONValue(integerLiteral: moment.milliseconds)
  }

  private func number(_ number: Int) -> JSONValue { JSONValue(integerLiteral: Int64(number)) }

  /// Every parameter of this world with its value: what the server tells its clients, what the
  /// world takes for granted, and the settings of the clients' machines.
  private var settings: [JSONValue] {
    let terms = server.terms
    let cadence =
      switch terms.cadence {
      case .waits: "a poll waits for news"
      case .every(let span): "every \(Words.text(span))"
      case .pushed: "a subscription brings news"
      }
    let all: [(name: String, value: String?)] =
      [
        ("server: how it is asked", cadence), ("server: lifetime", Words.text(terms.lifetime)),
        ("server: longDeadline", Words.text(terms.longDeadline)),
        ("server: heartbeat", Words.text(PlaygroundWorld.heartbeat)),
        ("world: a disk takes", Words.text(PlaygroundWorld.diskTime)),
        ("world: messages take", Words.text(latency)),
        ("world: a timer fires", "at the end of its range"),
      ] + (devices.first?.client.settings.machine.named ?? [])
    return all.map { setting in
      .object(
        JSONObject(
          of: ("name", .string(setting.name)), ("value", .string(setting.value ?? "none"))))
    }
  }

  // MARK: The server

  private var serverState: JSONObject {
    JSONObject(
      of: ("items", App.things(on: server, made)),
      ("logs", .array(server.aliveQueues.map { .string("\($0)") })),
      ("changes", JSONValue(integerLiteral: server.position)),
      ("held", .array(heldPolls)),
      ("makesSnapshotFor", .array(makings.map { number(exchanges[$0.exchange].client + 1) })),
      ("asked", number(askedLately)))
  }

  /// How often the server was asked in the last second.
  var askedLately: Int {
    messages.count { message in
      guard message.answer == nil, case .arrived(let at) = message.fate else { return false }
      return now - at < .seconds(1)
    }
  }

  /// The clients whose polls have arrived and are not answered.
  private var heldPolls: [JSONValue] {
    exchanges.indices.compactMap { index in
      guard exchanges[index].isOpen, case .poll = exchanges[index].request,
        !messages.contains(where: {
          $0.exchange == index && ($0.answer != nil || isTravelling($0))
        }),
        messages.contains(where: { $0.exchange == index && hasArrived($0) })
      else { return nil }
      return number(exchanges[index].client + 1)
    }
  }

  private func isTravelling(_ message: Message) -> Bool {
    if case .travels = message.fate { true } else { false }
  }

  private func hasArrived(_ message: Message) -> Bool {
    if case .arrived = message.fate { true } else { false }
  }

  // MARK: Clients

  private func state(of client: Int) -> JSONObject {
    let device = devices[client]
    var state = JSONObject(
      of: ("number", number(client + 1)), ("running", .bool(device.isRunning)),
      ("online", .bool(device.isOnline)), ("diskFull", .bool(device.isDiskFull)),
      ("asked", number(asked(by: client))),
      ("asleepUntil", device.asleepUntil > now ? number(device.asleepUntil) : nil),
      ("disk", device.disk.map { .object(self.state(ofDisk: $0)) }))
    guard device.isRunning else { return state }
    let body = device.client
    let freshness = body.freshness(at: now)
    state["status"] = .string("\(body.status)")
    state["claim"] = .string("\(freshness.claim)")
    state["banner"] = .string(banner(freshness))
    state["finger"] = body.finger.map { .string("\($0)") }
    state["items"] = App.things(shownBy: body, through: device.window, made)
    state["hasView"] = .bool(body.view != nil)
    state["isLevel"] = .bool(App.isLevel(body, through: device.window, with: server, made))
    if let picture = picture(of: client) {
      state["window"] = .object(
        JSONObject(of: ("list", .string(picture.list)), ("bar", .string(picture.bar))))
    }
    state["pending"] = .array(body.pending.map { .object(self.state(of: $0)) })
    state["setAside"] = .array(
      body.setAside.map {
        .object(
          JSONObject(
            of: ("ticket", JSONValue(integerLiteral: Int64($0.ticket.number))),
            ("change", .string($0.change.name)), ("reason", .string(reason($0.reason)))))
      })
    state["undoable"] = body.undoable.map { .string($0) }
    state["redoable"] = body.redoable.map { .string($0) }
    state["timers"] = .array(timers(of: client))
    state["signals"] = .array(
      PlaygroundStep.signals.map { word, sentence, signal in
        .object(
          JSONObject(
            of: ("word", .string(word)), ("sentence", .string(sentence)),
            ("ignored", .bool(ignores(signal, client)))))
      })
    return state
  }

  /// How often a client has asked in the last minute.
  func asked(by client: Int) -> Int {
    exchanges.count { $0.client == client && now - $0.sent < .seconds(60) }
  }

  private func state(ofDisk disk: (saved: Saved, at: Moment)) -> JSONObject {
    JSONObject(
      of: ("finger", disk.saved.finger.map { .string("\($0)") }), ("at", number(disk.at)),
      ("pending", disk.saved.outbox.map { number($0.pending.count) }))
  }

  private func timers(of client: Int) -> [JSONValue] {
    tasks.compactMap { task in
      guard task.client == client else { return nil }
      let what =
        switch task.what {
        case .timer(let timer): "timer \(timer)"
        case .written: "the disk has written"
        case .told(let input): "\(input)"
        }
      return .object(JSONObject(of: ("what", .string(what)), ("at", number(task.at))))
    }
  }

  private func state(of pending: PendingMutation<App.Model.Change>) -> JSONObject {
    JSONObject(
      of: ("ticket", JSONValue(integerLiteral: Int64(pending.ticket.number))),
      ("change", .string(pending.change.name)), ("stage", .string(stage(of: pending))),
      ("refused", .bool(pending.refusal != nil)))
  }

  func stage(of pending: PendingMutation<App.Model.Change>) -> String {
    switch pending.stage {
    case .unsent: "not sent"
    case .marked: "about to leave"
    case .sent: "sent"
    case .accepted: "accepted"
    case .uncertain: "uncertain"
    }
  }

  private func reason(_ reason: MutationSetAside<App.Model.Change>.Reason) -> String {
    switch reason {
    case .refused(let code): "refused by the server: \(code.text)"
    case .threw: "impossible now"
    }
  }

  /// What an app may tell its user, in words.
  private func banner(_ freshness: Freshness) -> String {
    func ago(_ moment: Moment) -> String {
      let seconds = (now - moment).milliseconds / 1000
      return seconds < 120 ? "\(seconds) s" : "\(seconds / 60) min"
    }
    let last = freshness.upToDateAsOf.map { " Up to date \(ago($0)) ago." } ?? ""
    let next = freshness.nextAttempt.map {
      " Next try in \(max(0, ($0 - now).milliseconds + 999) / 1000) s."
    }
    switch freshness.claim {
    case .unknown: return "Opening…"
    case .connected: return "Up to date."
    case .connecting(let since): return "Connecting for \(ago(since)).\(last)\(next ?? "")"
    case .unreachable(let since): return "No connection for \(ago(since)).\(last)\(next ?? "")"
    case .resting: return "Resting.\(last)"
    case .halted(.credentials): return "Please log in again.\(last)"
    case .halted(.unsupported): return "Please update this app.\(last)"
    case .halted(.stopped): return "Stopped.\(last)"
    }
  }

  // MARK: Messages

  private func state(ofMessage index: Int) -> JSONObject {
    let message = messages[index]
    var state = JSONObject(
      of: ("number", number(index + 1)), ("client", number(message.client + 1)),
      ("up", .bool(message.answer == nil)), ("text", .string(message.text)),
      ("sent", number(message.sent)))
    switch message.fate {
    case .travels:
      state["fate"] = "travels"
      state["at"] = number(message.arrives)
    case .arrived(let at):
      state["fate"] = "arrived"
      state["at"] = number(at)
    case .lost(let at):
      state["fate"] = "lost"
      state["at"] = number(at)
    }
    return state
  }

  private func state(of note: Note) -> JSONObject {
    JSONObject(
      of: ("at", number(note.at)), ("who", .string(note.who)),
      ("client", note.client.map { number($0 + 1) }), ("text", .string(note.text)))
  }
}
