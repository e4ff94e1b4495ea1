extension Outbox {
  /// What is sent to the server.
  public struct Push: Sendable {
    public var id: RequestID
    public var client: ClientID
    /// The greatest ID of which the server has told the client that it refused it. A server that has
    /// refused a greater one, which is not ``voided`` either, ignores the push and says so again.
    public var knownRefusal: MutationID
    /// IDs of mutations that were refused with the whole push, so that the server has perhaps never
    /// seen them, and such as were taken back together with them. It consumes each when its turn comes, as one that it refuses itself; else it would
    /// wait for it for ever. Ascending; hardly ever one; with idempotent servers only.
    public var voided: [MutationID]
    /// In the order in which they are to be run; their IDs follow on each other.
    public var mutations: [Item]

    /// One mutation on its way.
    public struct Item: Sendable {
      public var id: MutationID
      /// What the server shall echo, where it echoes an ID of the client's.
      public var ticket: MutationTicket
      public var change: Change

      @inlinable
      public init(id: MutationID, ticket: MutationTicket, change: Change) {
        self.id = id
        self.ticket = ticket
        self.change = change
      }
    }
  }

  /// What one input leads to, in the order in which it must be performed: cancel, disarm, report,
  /// persist, push, arm; each at most once.
  public struct Effects: Sendable {
    /// The push to give up. Its answer may come all the same.
    public var cancel: RequestID?
    /// The timer that must not fire any more.
    public var disarm: TimerID?
    /// What the app's log should hear.
    public var report: SyncFailure?
    /// The outbox must be saved, as it is now or later: `stored` is awaited for this version.
    public var persist: OutboxVersion?
    /// What to send. Gets one answer or one failure.
    public var push: Push?
    /// Feed `fired` once, at a moment drawn from the range.
    public var arm: TimerArm?

    @inlinable
    public init() {}

    /// The input was absorbed.
    @inlinable
    public var isEmpty: Bool {
      cancel == nil && disarm == nil && report == nil && persist == nil && push == nil && arm == nil
    }
  }
}

extension Outbox.Push.Item: Equatable where Change: Equatable {}
extension Outbox.Push: Equatable where Change: Equatable {}
extension Outbox.Effects: Equatable where Change: Equatable {}

extension Outbox.Push: CustomStringConvertible {
  /// "push 3: 7 rename, 8 reserve", "push 3 knowing 6: 7 rename".
  public var description: String {
    var text = "push \(id.number)"
    if knownRefusal != .none { text += " knowing \(knownRefusal)" }
    for id in voided { text += " without \(id)" }
    var separator = ":"
    for item in mutations {
      text += "\(separator) \(item.id) \(item.change.name)"
      separator = ","
    }
    return text
  }
}

extension Outbox.Effects {
  /// One line each, moments as seen at `now`.
  public func texts(at now: Moment) -> [String] {
    var texts: [String] = []
    if let cancel { texts.append("cancel \(cancel)") }
    if let disarm { texts.append("disarm \(disarm)") }
    if let report { texts.append("report \(report)") }
    if let persist { texts.append("persist \(persist)") }
    if let push { texts.append(push.description) }
    if let arm { texts.append("arm \(arm.timer) \(arm.range.text(at: now))") }
    return texts
  }
}
