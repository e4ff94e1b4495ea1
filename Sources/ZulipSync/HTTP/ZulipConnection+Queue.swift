package import SyncProtocols
package import UpdateMachine

extension ZulipRegistration {
  /// The capabilities of a current client, which understands everything that a state can have.
  public static var full: ZulipRegistration {
    var client = ZulipRegistration()
    client.keepsArchivedChannels = true
    client.readsLinkifiers = true
    client.readsUnsetNotifications = true
    return client
  }
}

extension ZulipConnection {
  /// `POST /register`: fetches the state, and opens a queue for the events from then on.
  package func register(
    _ register: ZulipRegister = ZulipRegister(), within deadline: TimeSpan? = nil
  ) async throws(ZulipFailure) -> Registered<ZulipSnapshot, QueueFinger> {
    let opened = try await ask(
      .post, "register", register.parameters, limit: settings.registerLimit,
      within: deadline ?? settings.registerDeadline
    ) { answer throws(ZulipError) in
      try Opened(answer, register)
    }
    switch opened {
    case .registered(let registered): return registered
    case .tooOld(let level, let queue):
      // The server keeps a queue that nobody asks for minutes.
      if let queue { try? await release(queue) }
      throw ZulipFailure(.unsupported, .tooOld(level), status: 200)
    }
  }

  /// The answer to a register.
  private enum Opened: Sendable {
    case registered(Registered<ZulipSnapshot, QueueFinger>)
    /// The server is too old. Nothing more of its answer is read, because no field of it is
    /// promised.
    case tooOld(Int64, QueueID?)

    /// Servers before the first feature level do not name it.
    init(_ answer: ZulipReading, _ register: ZulipRegister) throws(ZulipError) {
      let level = try answer.numberIfPresent("zulip_feature_level") ?? 0
      guard level >= register.leastFeatureLevel else {
        self = .tooOld(level, answer.fields["queue_id"]?.text.map { QueueID($0) })
        return
      }
      let queue = try answer.text("queue_id")
      guard !queue.isEmpty else { throw answer.malformed("queue_id") }
      let finger = QueueFinger(
        queue: QueueID(queue), lastEventID: try answer.number("last_event_id"))
      self = .registered(
        Registered(
          snapshot: ZulipSnapshot(answer.fields, register.client), finger: finger,
          terms: ZulipConnection.terms(answer.fields, register)))
    }
  }

  /// Reads the server's promises. If one is missing or makes no sense, the default is used.
  static func terms(_ fields: ZulipFields, _ register: ZulipRegister) -> ServerTerms {
    var terms = ServerTerms.unspoken
    if let wait = ZulipAnswer.wait(fields["event_queue_longpoll_timeout_seconds"]) {
      // The server's wait, plus time for the answer. No proxy lets a server wait longer than
      // minutes.
      terms.longDeadline = min(max(wait, .seconds(1)), .minutes(10)) + .seconds(10)
    }
    if let asked = register.lifetime {
      let unknown = fields["ignored_parameters_unsupported"]?.list ?? []
      if ZulipRegister.lifetimeNames.contains(where: { !unknown.contains(.text($0)) }) {
        terms.lifetime = asked
      }
    }
    return terms
  }

  /// How long a waiting poll may wait for a rate limit. It is in no hurry, and its deadline is
  /// twice as far away as the server's own sign of life.
  private static let pollPatience: TimeSpan = .seconds(20)

  /// `GET /events`: fetches the events after a finger, which acknowledges all events up to it.
  /// - Parameters:
  ///   - finger: the position up to which every event was applied.
  ///   - waits: whether the server may hold the request until there is an event; `false` for an
  ///     answer at once.
  ///   - deadline: `nil` means `ZulipSettings.pollDeadline`, or ``ZulipSettings/deadline`` if it
  ///     does not wait. It should be longer than the server waits (`ServerTerms.longDeadline`).
  package func events(
    after finger: QueueFinger, waits: Bool, within deadline: TimeSpan? = nil
  ) async throws(ZulipFailure) -> QueueBatch<ZulipEvent> {
    var form = ZulipForm()
    form.add("queue_id", .text(finger.queue.text))
    form.add("last_event_id", .number(finger.lastEventID))
    if !waits { form.add("dont_block", true) }
    let usual = waits ? settings.pollDeadline : settings.deadline
    return try await ask(
      .get, "events", form, within: deadline ?? usual,
      patience: waits ? ZulipConnection.pollPatience : nil
    ) { answer throws(ZulipError) in
      var batch = try ZulipEvents(answer).batch
      batch.queue = answer.fields["queue_id"]?.text.map { QueueID($0) }
      return batch
    }
  }

  /// `DELETE /events`: tells the server that the queue is no longer needed.
  package func release(_ queue: QueueID) async throws(ZulipFailure) {
    var form = ZulipForm()
    form.add("queue_id", .text(queue.text))
    try await ask(.delete, "events", form) { _ throws(ZulipError) in }
  }
}
