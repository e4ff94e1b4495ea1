/// A request that carries mutations to the server.
public struct PushRequest<Change: Mutation>: Sendable {
  /// The request that the answer is about.
  public var id: RequestID
  /// The client whose mutations these are.
  public var client: ClientID
  /// The greatest refused ID that the server has told us. A server that has refused a greater
  /// one, not in ``voided``, ignores the push and repeats the refusal.
  public var knownRefusal: MutationID
  /// Void IDs. Their mutations were refused with a whole push, so the server may never have seen
  /// them; or the IDs were taken back together with such ones. The server consumes each in its
  /// turn, like a mutation that it refuses itself. Otherwise it would wait for it for ever.
  /// Ascending; almost always empty; only for servers that count IDs.
  public var voided: [MutationID]
  /// The mutations, in the order in which they must run. If the server counts IDs, theirs ascend,
  /// and any that are left out between them are in ``voided`` or were run already.
  public var mutations: [Item]
  /// If not `nil`, nothing is to be run: an earlier push of the one mutation has ended without an
  /// answer. Say whether the server has what it created, with an ID above this one
  /// (``PushAnswer/created(_:)``), or not (``PushAnswer/absent``). Only with
  /// ``MutationDelivery/atMostOnce``, for mutations with a ``Mutation/createsAbove(in:)``.
  public var seeksAbove: Int64?

  /// One mutation on its way.
  public struct Item: Sendable {
    /// The mutation's number at the server: the same in every copy, except after a refusal that
    /// frees the numbers above it.
    public var id: MutationID
    /// The ticket for the server to echo, if it echoes a client's own ID.
    public var ticket: MutationTicket
    /// The name and arguments that the server is to run.
    public var change: Change

    @inlinable
    package init(id: MutationID, ticket: MutationTicket, change: Change) {
      self.id = id
      self.ticket = ticket
      self.change = change
    }
  }
}

extension Outbox {
  /// The effects of one input. Perform them in this order: cancel, disarm, report, persist, push,
  /// arm. Each occurs at most once.
  @usableFromInline
  package struct Effects: Sendable {
    /// The push to cancel. Its answer may still come.
    @usableFromInline package var cancel: RequestID?
    /// The timer to disarm.
    @usableFromInline package var disarm: TimerID?
    /// A failure for the app's log.
    @usableFromInline package var report: SyncFailure?
    /// Save the outbox, as it is now or later. The outbox waits for `stored` of at least this
    /// version.
    @usableFromInline package var persist: OutboxVersion?
    /// The push to send. It gets one answer or one failure.
    @usableFromInline package var push: PushRequest<Change>?
    /// The timer to arm. Feed `fired` once, at a moment drawn from the range.
    @usableFromInline package var arm: TimerArm?

    @inlinable
    package init() {}

    /// Whether the input was absorbed.
    @inlinable
    package var isEmpty: Bool {
      cancel == nil && disarm == nil && report == nil && persist == nil && push == nil && arm == nil
    }
  }
}

extension PushRequest.Item: Equatable where Change: Equatable {}
extension PushRequest: Equatable where Change: Equatable {}
extension Outbox.Effects: Equatable where Change: Equatable {}

extension PushRequest: CustomStringConvertible {
  /// "push 3: 7 rename, 8 reserve", "push 3 knowing 6: 7 rename".
  public var description: String {
    var text = "\(seeksAbove == nil ? "push" : "search") \(id.number)"
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
  /// Returns one line for each effect, with moments as seen at `now`.
  package func texts(at now: Moment) -> [String] {
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
