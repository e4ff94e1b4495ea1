internal import SyncProtocols
internal import UpdateMachine

/// A playground of any protocol, told in texts: steps go in, and a state as JSON comes out. A copy
/// is a fork.
package struct PlaygroundSession: Sendable {
  enum AnyWorld: Sendable {
    case eventQueue(PlaygroundWorld<ComparedQueue>)
    case clientView(PlaygroundWorld<ComparedView>)
    case recordSync(PlaygroundWorld<ComparedRecords>)
    case tableSync(PlaygroundWorld<ComparedTables>)
    case eventStream(PlaygroundWorld<ComparedStream>)
    case messages(PlaygroundWorld<PlayedMessages>)
  }

  private(set) var world: AnyWorld

  /// The longest span of time in a step.
  static var longest: TimeSpan { .seconds(100 * 86_400) }

  /// The allowed numbers of clients.
  package static var clientsAllowed: ClosedRange<Int> { 1...4 }

  /// - Parameter clients: as many clients as are allowed at the most, and one at least.
  package init(_ played: PlayedProtocol, clients: Int) {
    let clients = min(max(clients, 1), PlaygroundSession.clientsAllowed.upperBound)
    let latency = TimeSpan.milliseconds(100)
    world =
      switch played {
      case .eventQueue: .eventQueue(PlaygroundWorld(clients: clients, latency: latency))
      case .clientView: .clientView(PlaygroundWorld(clients: clients, latency: latency))
      case .recordSync: .recordSync(PlaygroundWorld(clients: clients, latency: latency))
      case .tableSync: .tableSync(PlaygroundWorld(clients: clients, latency: latency))
      case .eventStream: .eventStream(PlaygroundWorld(clients: clients, latency: latency))
      case .messages: .messages(PlaygroundWorld(clients: clients, latency: latency))
      }
  }

  /// Reads a line such as "world event-queue clients=2".
  init(_ words: inout Words) throws(ScenarioError) {
    try words.require("world")
    let names = PlayedProtocol.allCases.map { $0.rawValue }
    let played = try words.value(Words.list(names)) { PlayedProtocol(rawValue: $0) }
    let allowed = PlaygroundSession.clientsAllowed
    let expected = "clients= and a number from \(allowed.lowerBound) to \(allowed.upperBound)"
    let clients = try words.value(expected) { word -> Int? in
      guard let pair = Words.pair(word), pair.name == "clients", let count = Int(pair.value) else {
        return nil
      }
      return allowed.contains(count) ? count : nil
    }
    try words.requireEnd()
    self.init(played, clients: clients)
  }

  /// Does a step. Returns why it cannot be done; `nil`: it is done. What cannot be done changes
  /// nothing.
  package mutating func perform(_ text: String) -> String? {
    var words = Words(text, number: 1)
    do throws(ScenarioError) {
      return perform(try PlaygroundStep(&words))
    } catch {
      return "expected \(error.expected), found \(error.found)"
    }
  }

  /// Does a step. Returns why it cannot be done; `nil`: it is done.
  mutating func perform(_ step: PlaygroundStep) -> String? {
    switch world {
    case .eventQueue(var some):
      defer { world = .eventQueue(some) }
      return some.perform(step)
    case .clientView(var some):
      defer { world = .clientView(some) }
      return some.perform(step)
    case .recordSync(var some):
      defer { world = .recordSync(some) }
      return some.perform(step)
    case .tableSync(var some):
      defer { world = .tableSync(some) }
      return some.perform(step)
    case .eventStream(var some):
      defer { world = .eventStream(some) }
      return some.perform(step)
    case .messages(var some):
      defer { world = .messages(some) }
      return some.perform(step)
    }
  }

  /// Everything that a page shows, as JSON.
  package var state: String { "\(JSONValue.object(object))" }

  /// The same as an object.
  var object: JSONObject {
    switch world {
    case .eventQueue(let some): some.state
    case .clientView(let some): some.state
    case .recordSync(let some): some.state
    case .tableSync(let some): some.state
    case .eventStream(let some): some.state
    case .messages(let some): some.state
    }
  }

  /// What has happened, as a space-time diagram.
  package func picture(_ title: String) -> SpaceTime {
    switch world {
    case .eventQueue(let some): some.picture(title)
    case .clientView(let some): some.picture(title)
    case .recordSync(let some): some.picture(title)
    case .tableSync(let some): some.picture(title)
    case .eventStream(let some): some.picture(title)
    case .messages(let some): some.picture(title)
    }
  }

  /// What has happened, a line each, after so many lines of it.
  func told(after count: Int) -> [String] {
    switch world {
    case .eventQueue(let some): some.told(after: count)
    case .clientView(let some): some.told(after: count)
    case .recordSync(let some): some.told(after: count)
    case .tableSync(let some): some.told(after: count)
    case .eventStream(let some): some.told(after: count)
    case .messages(let some): some.told(after: count)
    }
  }
}

extension PlaygroundWorld {
  /// Does a step. Returns why it cannot be done; `nil`: it is done.
  mutating func perform(_ step: PlaygroundStep) -> String? {
    switch step {
    case .next: return happenNext() ? nil : "nothing is due"
    case .wait(let span):
      guard span <= PlaygroundSession.longest else { return "that is too long" }
      let old = self
      if pass(span) { return nil }
      self = old
      return "too much happens in that time: more than 10,000 things"
    case .deliver(let number), .lose(let number), .repeat(let number):
      let index = number - 1
      guard messages.indices.contains(index), case .travels = messages[index].fate else {
        return "no message \(number) is on its way" + onTheirWay
      }
      if case .repeat = step, messages.count >= 10_000 { return "there are too many messages" }
      defer { drawLogs() }
      switch step {
      case .deliver: deliver(index)
      case .lose: lose(index)
      default: repeatMessage(index)
      }
    case .expire:
      for log in server.aliveQueues { server.expire(log) }
      note(nil, "forgets its logs")
      takeFinished()
      drawLogs()
    case .restart(let keepingQueues):
      note(nil, keepingQueues ? "restarts" : "restarts, and forgets its clients")
      server.restart(keepingQueues: keepingQueues, at: now)
      takeFinished()
      drawLogs()
    case .latency(let span):
      guard span <= .seconds(600) else { return "that is too long" }
      latency = span
    case .snapshot(let span):
      guard span <= .seconds(600) else { return "that is too long" }
      snapshotTime = span
    case .somebody(let act):
      defer { drawLogs() }
      return happen(act)
    case .client(let number, let what):
      guard devices.indices.contains(number - 1) else {
        return "there is no client \(number), only \(devices.count)"
      }
      return happen(what, at: number - 1)
    }
    return nil
  }

  /// The messages that can be named, with what they are.
  private var onTheirWay: String {
    var words: [String] = []
    for (index, message) in messages.enumerated() {
      if case .travels = message.fate { words.append("\(index + 1) (\(message.text))") }
    }
    return words.isEmpty ? ", and no other" : ", but " + words.joined(separator: ", ")
  }

  private mutating func happen(_ what: PlaygroundStep.AtClient, at client: Int) -> String? {
    let device = devices[client]
    switch what {
    case .start where device.isRunning: return "the app runs already"
    case .start: start(client)
    case .goOnline where device.isOnline: return "the device is on line already"
    case .goOnline: goOnline(client)
    case .goOffline where !device.isOnline: return "the device is off line already"
    case .goOffline: goOffline(client)
    case .fill: devices[client].isDiskFull = true
    case .free: devices[client].isDiskFull = false
    case .clock(let span) where span > PlaygroundSession.longest,
      .sleep(let span) where span > PlaygroundSession.longest:
      return "that is too long"
    case .sleep(let span): sleep(client, for: span)
    case .clock(let span):
      devices[client].clockOffset = devices[client].clockOffset + span
      note(client, "its clock jumps by \(span)")
    case .crash where device.isRunning: crash(client)
    case _ where !device.isRunning: return "the app does not run"
    case .open(let topic): return open(topic, on: client)
    case .look(let look): return self.look(look, on: client)
    case .close: return close(client)
    case .create(let title): return make(.create(made.itemCount + 1, title: title), on: client)
    case .rename(let item, let title):
      return make(.set(item, field: "title", to: title), on: client)
    case .delete(let item): return make(.delete(item), on: client)
    case .retry(let ticket): decide(.retried(ticket), on: client)
    case .discard(let ticket): decide(.discarded(ticket), on: client)
    case .undo: return takeBack(.undo, on: client)
    case .redo: return takeBack(.redo, on: client)
    case .tell(let signal): tell(signal, to: client)
    case .crash: break
    }
    return nil
  }
}
