internal import SyncProtocols
internal import UpdateMachine

/// A playground of any protocol, told in texts: steps go in, and a state as JSON comes out. A copy
/// is a fork.
package struct PlaygroundSession: Sendable {
  private enum AnyWorld: Sendable {
    case eventQueue(PlaygroundWorld<ComparedQueue>)
    case clientView(PlaygroundWorld<ComparedView>)
    case recordSync(PlaygroundWorld<ComparedRecords>)
    case tableSync(PlaygroundWorld<ComparedTables>)
    case eventStream(PlaygroundWorld<ComparedStream>)
  }

  private var world: AnyWorld

  /// The allowed numbers of clients.
  package static var clientsAllowed: ClosedRange<Int> { 1...4 }

  /// - Parameter clients: as many clients as are allowed at the most, and one at least.
  package init(_ spoken: LibraryWorld.SpokenProtocol, clients: Int) {
    let clients = min(max(clients, 1), PlaygroundSession.clientsAllowed.upperBound)
    let latency = TimeSpan.milliseconds(100)
    world =
      switch spoken {
      case .eventQueue: .eventQueue(PlaygroundWorld(clients: clients, latency: latency))
      case .clientView: .clientView(PlaygroundWorld(clients: clients, latency: latency))
      case .recordSync: .recordSync(PlaygroundWorld(clients: clients, latency: latency))
      case .tableSync: .tableSync(PlaygroundWorld(clients: clients, latency: latency))
      case .eventStream: .eventStream(PlaygroundWorld(clients: clients, latency: latency))
      }
  }

  /// Does a step. Returns why it cannot be done; `nil`: it is done. What cannot be done changes
  /// nothing.
  package mutating func perform(_ text: String) -> String? {
    guard let step = PlaygroundStep(text) else { return "there is no such step: \(text)" }
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
    }
  }
}

extension PlaygroundWorld {
  /// Does a step. Returns why it cannot be done; `nil`: it is done.
  mutating func perform(_ step: PlaygroundStep) -> String? {
    switch step {
    case .next: return happenNext() ? nil : "nothing is due"
    case .wait(let span):
      guard span <= .seconds(100 * 86_400) else { return "that is too long" }
      let old = self
      if pass(span) { return nil }
      self = old
      return "too much happens in that time: more than 10,000 things"
    case .deliver(let number), .lose(let number), .repeat(let number):
      let index = number - 1
      guard messages.indices.contains(index), case .travels = messages[index].fate else {
        return "no message \(number) is on its way"
      }
      guard messages.count < 10_000 else { return "there are too many messages" }
      switch step {
      case .deliver: deliver(index)
      case .lose: lose(index)
      default: repeatMessage(index)
      }
    case .expire:
      for log in server.aliveQueues { server.expire(log) }
      note(nil, "forgets its logs")
      takeFinished()
    case .restart(let keepingQueues):
      note(nil, keepingQueues ? "restarts" : "restarts, and forgets its clients")
      server.restart(keepingQueues: keepingQueues, at: now)
      takeFinished()
    case .latency(let span):
      guard span <= .seconds(600) else { return "that is too long" }
      latency = span
    case .create(let number, _), .set(let number, _, _), .delete(let number, _),
      .retry(let number, _), .discard(let number, _), .tell(let number, _),
      .offline(let number), .online(let number), .crash(let number), .start(let number),
      .fill(let number), .free(let number), .sleep(let number, _), .clock(let number, _):
      guard devices.indices.contains(number - 1) else { return "there is no client \(number)" }
      return perform(step, on: number - 1)
    }
    return nil
  }

  private mutating func perform(_ step: PlaygroundStep, on client: Int) -> String? {
    let device = devices[client]
    switch step {
    case .start where device.isRunning: return "the app runs already"
    case .start: start(client)
    case .online where device.isOnline: return "the device is on line already"
    case .online: goOnline(client)
    case .offline where !device.isOnline: return "the device is off line already"
    case .offline: goOffline(client)
    case .fill: devices[client].isDiskFull = true
    case .free: devices[client].isDiskFull = false
    case .clock(_, let span):
      devices[client].clockOffset = devices[client].clockOffset + span
      note(client, "its clock jumps by \(span)")
    case .sleep(_, let span): sleep(client, for: span)
    case .crash where device.isRunning: crash(client)
    case _ where !device.isRunning: return "the app does not run"
    case .create(_, let title): return make(.create(itemCount + 1, title: title), on: client)
    case .set(_, let item, let title):
      return make(.set(item, field: "title", to: title), on: client)
    case .delete(_, let item): return make(.delete(item), on: client)
    case .retry(_, let ticket): decide(.retried(ticket), on: client)
    case .discard(_, let ticket): decide(.discarded(ticket), on: client)
    case .tell(_, let signal): tell(signal, to: client)
    case .next, .wait, .deliver, .lose, .repeat, .expire, .restart, .latency, .crash: break
    }
    return nil
  }
}
