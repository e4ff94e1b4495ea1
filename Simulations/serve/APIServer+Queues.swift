package import SyncProtocols
package import UpdateMachine

// Event queues: register, poll, release, expiry, restarts, and the time that passes.

extension APIServer {
  // MARK: Register

  mutating func register(
    _ request: APIRequest, _ user: RealmUser, at now: Moment
  ) throws(APIError) -> APIAnswer {
    var client = QueueClient(user: user.id)
    client.eventTypes = try request.texts("event_types")
    let fetched = try request.texts("fetch_event_types") ?? client.eventTypes
    client.narrow = try Narrow(request.json("narrow"), for: user.id, in: realm)
    client.wantsAllChannels = try request.bool("all_public_streams") ?? false
    client.isRendered = try request.bool("apply_markdown") ?? false
    let includesSubscribers = try request.bool("include_subscribers") ?? false
    if let capabilities = try request.json("client_capabilities") {
      guard capabilities["notification_settings_null"]?.bool != nil else {
        throw APIError(
          "client_capabilities[\"notification_settings_null\"] field is missing: Field required")
      }
      client.readsBulkDeletions = capabilities["bulk_message_deletion"]?.bool ?? false
    }
    let (asked, ignored) = try lifetime(askedBy: request)
    while queues.readings.count >= APIServer.queueLimit {
      let oldest = queues.readings[0].id
      queues.expire(oldest)
      told.append("expire \(name(of: oldest)): more than \(APIServer.queueLimit) queues")
    }
    guard case .success(let queue) = queues.beginRegister(lifetime: asked, at: now) else {
      throw APIError("Internal server error", code: nil, status: 500)
    }
    clients[queue] = client
    guard
      case .registered(let snapshot, let finger, let terms) = queues.finishRegister(queue, at: now)
    else { throw APIError("Internal server error", code: nil, status: 500) }
    var fields = snapshot.state(
      for: user, fetched, includesSubscribers: includesSubscribers, wall: wall(at: now))
    let name = name(of: queue)
    fields["queue_id"] = .string(name)
    fields["last_event_id"] = .integer(finger.lastEventID)
    fields["zulip_version"] = .string(APIServer.version)
    fields["zulip_feature_level"] = .integer(APIServer.featureLevel)
    fields["zulip_merge_base"] = ""
    if fetched == nil || fetched?.contains("realm") == true {
      fields["event_queue_longpoll_timeout_seconds"] =
        .integer(queues.configuration.longPollTimeout.milliseconds / 1000)
    }
    if !ignored.isEmpty {
      fields["ignored_parameters_unsupported"] = .array(ignored.map { .string($0) })
    }
    return .success(
      fields, note: "\(name) at \(finger.lastEventID), lifetime \(APIServer.words(terms.lifetime))")
  }

  /// The lifetime that a client asks for, and the parameters that are ignored.
  private func lifetime(
    askedBy request: APIRequest
  ) throws(APIError) -> (TimeSpan?, ignored: [String]) {
    let old = "queue_lifespan_secs"
    let new = "idle_queue_timeout"  // Feature level 323 does not know it yet.
    var ignored = request.text(new) == nil ? [] : [new]
    guard let seconds = try request.integer(old), seconds > 0 else { return (nil, ignored) }
    guard lifetime == nil else {
      ignored.append(old)
      return (nil, ignored)
    }
    return (.seconds(min(seconds, 7 * 86_400)), ignored)  // The real server's bound.
  }

  // MARK: Polls

  mutating func poll(
    _ request: APIRequest, _ user: RealmUser, at now: Moment
  ) throws(APIError) -> Handled {
    guard let name = request.text("queue_id") else {
      throw APIError("Missing 'queue_id' argument")
    }
    guard let last = try request.integer("last_event_id") else {
      throw APIError("Missing 'last_event_id' argument")
    }
    let queue = try self.queue(named: name, of: user)
    let mayWait = try request.bool("dont_block") != true
    let waiter = nextWaiter
    nextWaiter += 1
    let beat = TimeSpan.milliseconds(45_000 + chance.below(Int64(10_000)))
    let reply = queues.poll(
      QueueFinger(queue: queue, lastEventID: last), waits: mayWait, waiter: waiter,
      heartbeatAfter: beat, at: now)
    switch reply {
    case nil:
      clients[queue]?.acknowledged = last
      waits[waiter] = Wait(queue: queue, user: user.id)
      return .waits(waiter)
    case .batch(let batch):
      clients[queue]?.acknowledged = last
      return .answered(answer(batch, queue))
    case .refused(let answer) where answer.code == "BAD_EVENT_QUEUE_ID":
      throw APIServer.badQueue(name)
    case .refused, .registered, .released:
      // The queue refuses an ID that it has pruned, or that it does not have. Zulip's words tell
      // which.
      if last < clients[queue]?.acknowledged ?? -1 {
        throw APIError("An event newer than \(last) has already been pruned!")
      }
      throw APIError("Event \(last) was not in this queue")
    }
  }

  private func answer(_ batch: QueueBatch<RealmEvent>, _ queue: QueueID) -> APIAnswer {
    guard let client = clients[queue] else { return .success(["events": []], note: "no events") }
    let realm = realm
    let events = batch.events.map { queued -> JSONValue in
      guard let event = queued.event else {
        return ["type": "heartbeat", "id": .integer(queued.id)]
      }
      return event.json(id: queued.id, for: client, in: realm)
    }
    var fields: JSONObject = ["events": .array(events)]
    // Only an answer that was waited for names its queue.
    if let queue = batch.queue { fields["queue_id"] = .string(name(of: queue)) }
    let shown = batch.events.prefix(5).map { "\($0.id) \($0.event?.type ?? "heartbeat")" }
    let rest = batch.events.count - shown.count
    let count = batch.events.count == 1 ? "1 event" : "\(batch.events.count) events"
    let what = shown.joined(separator: ", ") + (rest > 0 ? ", and \(rest) more" : "")
    return .success(fields, note: batch.events.isEmpty ? "no events" : "\(count): \(what)")
  }

  /// Ends a wait whose client went away. Queue and events stay as they were.
  package mutating func abandon(waiter: UInt64) {
    queues.abandon(waiter: waiter)
    waits[waiter] = nil
  }

  // MARK: Release

  mutating func release(_ request: APIRequest, _ user: RealmUser) throws(APIError) -> APIAnswer {
    let name = try request.required("queue_id")
    let queue = try self.queue(named: name, of: user)
    _ = queues.release(queue)
    return .success(note: "released")
  }

  // MARK: Names of queues

  /// The queue's name for clients: `2-q7` is the seventh queue since the second start.
  package func name(of queue: QueueID) -> String { "\(life)-\(queue.text)" }

  /// The live queue with this name. One of another user is not told from one that is not there.
  private func queue(named name: String, of user: RealmUser) throws(APIError) -> QueueID {
    let prefix = "\(life)-"
    guard name.utf8.count < 40, name.hasPrefix(prefix) else { throw APIServer.badQueue(name) }
    let queue = QueueID(String(name.dropFirst(prefix.count)))
    guard let client = clients[queue], client.user == user.id, isAlive(queue) else {
      throw APIServer.badQueue(name)
    }
    return queue
  }

  private func isAlive(_ queue: QueueID) -> Bool {
    queues.index(of: queue).map { queues.isAlive(at: $0) } ?? false
  }

  private static func badQueue(_ name: String) -> APIError {
    APIError(
      "Bad event queue ID: \(name)", code: "BAD_EVENT_QUEUE_ID",
      [.init("queue_id", .string(name))])
  }

  // MARK: Time, and what people do at the page

  /// When something is due without a request.
  package var nextDue: Moment { queues.nextDue }

  /// Does what is due: heartbeats, and the removal of queues whose lifetime is over.
  package mutating func advance(to now: Moment) {
    let before = queues.readings
    queues.advance(to: now)
    let after = queues.readings
    let rest = after.map(\.id)
    // A heartbeat is an event that ends a wait.
    pushes += Int64(
      before.filter { was in
        was.isWaitedOn && !after.contains { $0.id == was.id && $0.isWaitedOn }
      }.count)
    for queue in before where !rest.contains(queue.id) {
      told.append("expire \(name(of: queue.id)): its lifetime is over")
    }
    if clients.count > rest.count + APIServer.queueLimit {
      clients = clients.filter { rest.contains($0.key) }
    }
    if queues.position >= APIServer.changeLimit || pushes >= APIServer.pushLimit {
      restart(at: now, why: "it has had \(queues.position) changes")
    }
  }

  /// Every queue expires, whatever its age.
  package mutating func expireAll(at now: Moment, why: String) {
    advance(to: now)
    let all = queues.readings.map(\.id)
    guard !all.isEmpty else { return }
    for queue in all { queues.expire(queue) }
    told.append("expire \(all.map { name(of: $0) }.joined(separator: ", ")): \(why)")
  }

  /// The server is killed and starts again: it forgets its queues, and waiting polls end with a
  /// 502. Users, channels and messages stay.
  package mutating func restart(at now: Moment, why: String) {
    queues.restart(keepingQueues: false, at: now)
    ended += queues.takeFinished()
    queues = APIServer.queues(of: realm, lifetime, at: now)
    clients = [:]
    life += 1
    pushes = 0
    told.append("restart: \(why)")
  }

  /// How long queues live from now on; `nil`: as Zulip's. It concerns queues made later.
  package mutating func setLifetime(_ lifetime: TimeSpan?) {
    self.lifetime = lifetime
    queues.configuration =
      APIServer.queues(of: realm, lifetime, at: Moment(milliseconds: 0))
      .configuration
  }

  /// Sets the rate limit; `nil`: there is none.
  package mutating func setRate(_ rate: RequestLimits.Rate?) { limits.rate = rate }

  // MARK: What came of it

  /// Returns and removes the answers of requests that waited.
  package mutating func takeFinished() -> [Finished] {
    let all = ended + queues.takeFinished()
    ended = []
    return all.map { end in
      let wait = waits.removeValue(forKey: end.waiter)
      switch end.reply {
      case .batch(let batch):
        let queue = wait?.queue ?? QueueID("")
        return Finished(waiter: end.waiter, answer: answer(batch, queue))
      case .refused, .registered, .released:
        return Finished(waiter: end.waiter, answer: .badGateway)
      }
    }
  }

  /// Returns and removes the lines about what happened beside requests.
  package mutating func takeTold() -> [String] {
    let lines = told
    told = []
    return lines
  }

  /// Commits a change, and tells the queues whose clients want it.
  mutating func commit(_ event: RealmEvent, at now: Moment, _ words: String) {
    pushes += Int64(queues.readings.count)
    let clients = clients
    queues.commit(event, at: now) { queue, event in
      clients[queue].flatMap { event.addressed(to: queue, of: $0) }
    }
    told.append("commit \(queues.position): \(words)")
  }

  static func words(_ span: TimeSpan) -> String { "\(seconds(span)) s" }
}
