package import SyncProtocols
package import UpdateMachine

// What the page at `/` shows, and what it sends.

extension ServedSite {
  /// Everything that the page shows, with the lines after the first `number`.
  package func state(after number: Int64, at now: Moment) -> JSONValue {
    let lines = transcript.lines(after: number).map { JSONValue.string($0) }
    var switches: JSONObject = [:]
    for one in FaultSwitches.all { switches[one.name] = .integer(faults[keyPath: one.place]) }
    return [
      "now": .string(Transcript.clock(now)), "count": .integer(transcript.count),
      "lines": .array(lines), "faults": .object(switches),
      "users": .array(
        server.realm.users.map { ["id": .integer($0.id), "name": .string($0.name)] }),
      "channels": .array(
        server.realm.channels.map { ["id": .integer($0.id), "name": .string($0.name)] }),
      "messages": .integer(Int64(server.realm.messages.count)),
      "queues": .array(server.queues.readings.map { queue($0, at: now) }),
    ]
  }

  private func queue(
    _ reading: EventQueueServer<Realm>.QueueReading, at now: Moment
  ) -> JSONValue {
    let user = server.clients[reading.id].flatMap { server.realm.user($0.user) }
    let rest = max(0, (reading.isOverAt - now).milliseconds) / 1000
    return [
      "name": .string(server.name(of: reading.id)), "user": .string(user?.name ?? "?"),
      "retained": .integer(Int64(reading.retained)), "waits": .bool(reading.isWaitedOn),
      "expires": .integer(rest),
    ]
  }

  /// Reads what the page sent to `/control/NAME`. Throws what is wrong with it.
  package func command(_ name: String, _ body: JSONValue?) throws(PageError) -> Command {
    switch name {
    case "expire": return .expireAll
    case "restart": return .restart
    case "faults":
      var faults = faults
      guard let members = body?.object?.members, !members.isEmpty else {
        throw PageError("expected a JSON object of switches")
      }
      for member in members {
        guard let one = FaultSwitches.all.first(where: { $0.name == member.name }) else {
          throw PageError("there is no switch \(member.name)")
        }
        guard let value = member.value.int64, one.range.contains(value) else {
          throw PageError(
            "\(one.name) needs a whole number from \(one.range.lowerBound) to "
              + "\(one.range.upperBound)")
        }
        faults[keyPath: one.place] = value
      }
      return .setFaults(faults)
    case "send":
      guard let id = body?["user"]?.int64, server.realm.user(id) != nil else {
        throw PageError("choose a user")
      }
      guard let channel = body?["channel"]?.int64, server.realm.channel(channel) != nil else {
        throw PageError("choose a channel")
      }
      let topic = APIServer.topic(body?["topic"]?.string ?? "")
      guard topic.contains(where: { !$0.isWhitespace }) else { throw PageError("write a topic") }
      do throws(APIError) {
        let text = try server.text(body?["text"]?.string ?? "")
        return .send(user: id, .channel(channel, topic: topic), text)
      } catch {
        throw PageError(error.message)
      }
    default: throw PageError("there is no command \(name)")
    }
  }
}

/// What is wrong with what the page sent, for the person at the page.
package struct PageError: Error {
  package var message: String

  init(_ message: String) { self.message = message }
}
