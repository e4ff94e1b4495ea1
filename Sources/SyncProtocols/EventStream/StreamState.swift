public import UpdateMachine

/// What the users of a stream see: all objects, made by all events that are shown, in causal order.
///
/// A pending change takes its own place in that order, too. So its maker sees already what all will
/// see once it is on the stream.
public struct StreamState: Sendable, Equatable {
  package private(set) var fold: StreamFold
  /// The client whose changes are made here.
  package let client: ClientID
  /// The objects that the client follows, ascending; `nil`: all of them.
  package let scope: [ViewKey]?
  /// The last event that is shown. Events beyond a hole are not.
  package internal(set) var latest = StreamSequence.none
  /// What the client had seen when it registered: the greatest `preceding` of its own events, or
  /// more.
  let seenBefore: StreamSequence
  /// The greatest `preceding` of the client's own changes.
  private var ownPreceding: StreamSequence

  package init(
    client: ClientID, law: StreamConflictLaw, scope: [ViewKey]? = nil,
    seenBefore: StreamSequence = .none
  ) {
    fold = StreamFold(law: law)
    self.client = client
    self.scope = scope
    self.seenBefore = seenBefore
    ownPreceding = seenBefore
  }

  /// The objects, by key.
  public var objects: VersionedMap<ViewKey, StreamObject> { fold.objects }

  /// The keys of the objects, in the causal order of their inserts. An object takes its place by
  /// what its maker had seen, however late it came.
  public var list: [ViewKey] { fold.order.map { $0.value } }

  /// The open questions, by the key of the object; empty unless the law is to ask. A question is
  /// open until a user who has seen it inserts or deletes the object.
  public var questions: VersionedMap<ViewKey, StreamQuestion> { fold.questions }

  /// Whether the law has dropped a change that is on the stream: its object had been deleted.
  package func hasDropped(_ id: StreamEventID) -> Bool { fold.outcome(of: id) == .deleted }

  /// Adds an event. Returns how many were applied to do so.
  @discardableResult
  mutating func add(
    _ change: StreamChange, by maker: ClientID, at sequence: StreamSequence?
  ) -> Int {
    if maker == client { ownPreceding = max(ownPreceding, change.preceding) }
    return fold.add(change, by: maker, at: sequence)
  }

  /// What the maker of a change that is made now has seen. It never shrinks, even while the stream
  /// is read anew from its beginning.
  var seen: StreamSequence { max(latest, ownPreceding) }
}

/// Why a change cannot be made.
public enum StreamChangeRefusal: Error, Hashable, Sendable {
  /// There is no such object (any more, or yet).
  case missing
  /// The object was deleted, and stays so: by the law, or because the change's maker knew of it.
  case deleted
  /// The client does not follow that object.
  case outOfScope
}

extension StreamChange: Mutation {
  public var name: String {
    switch kind {
    case .insert: "insert"
    case .update: "update"
    case .delete: "delete"
    }
  }

  public var size: Int64 { arguments(ticket: nil).byteCount }

  /// The object that it changes.
  public var object: ViewKey? { key }

  /// Gives it its place in causal order: what its maker has seen, and its ticket, which no other
  /// change of the client ever has.
  ///
  /// An edit is a new decision of a maker who has seen more, so it takes a new place. With the old
  /// one, it could lose against a change that its maker has seen and answers to. But if a later
  /// change of the same object is in the outbox, the edit keeps the old place. The later change was
  /// made over this one and must still come after it: an update after the insert, an insert after
  /// the deletion. A change that is tried again unedited keeps its place, too: it may be on the
  /// stream already.
  public mutating func stamp(
    from state: StreamState, ticket: MutationTicket, inPlaceOf old: StreamChange?
  ) {
    preceding = old?.preceding ?? state.seen
    clientSequence = old?.clientSequence ?? ticket.number
  }

  /// A deletion is never refused: to delete an object that is not there does no harm.
  public func apply(to state: inout StreamState) throws(StreamChangeRefusal) {
    if let scope = state.scope, !scope.contains(key) { throw .outOfScope }
    // While the stream is read anew, what its maker had seen may still be missing.
    let isKnown = preceding <= state.latest
    let isPending = state.add(self, by: state.client, at: nil) > 0
    switch state.fold.outcome(of: id) {
    case .deleted: throw isKnown ? .deleted : .missing
    case .missing where isPending: throw .missing
    case .missing, .asked, .applied, nil: break
    }
    // It comes before a deletion of which its maker did not know.
    if isPending, kind != .delete, state.fold.law == .firstWriterWins, state.objects[key] == nil {
      throw isKnown ? .deleted : .missing
    }
  }

  /// The law drops it: its object was deleted.
  public func isOverruled(by refusal: StreamChangeRefusal) -> Bool { refusal == .deleted }

  /// Two changes of one object are one if no news came between them: an insert with the updates
  /// after it is an insert; the last value of each field counts; a deletion is all that is left of
  /// what was before it.
  ///
  /// If news came between them, both stay, each with its own causal key. One key for both would be
  /// wrong for one of them. With the earlier key, the later change would sort before what it
  /// answers to, and lose. With the later key, the earlier change would count as made by somebody
  /// who knew the news. If that was a deletion, it would be dropped, though by itself it brings the
  /// object back.
  ///
  /// The result has the ID and the causal key of the later change.
  public func coalesced(with later: StreamChange) -> StreamChange? {
    guard key == later.key, preceding == later.preceding else { return nil }
    var both = later
    switch (kind, later.kind) {
    case (.insert(var fields), .update(let changed)):
      fields.merge(changed)
      both.kind = .insert(fields)
    case (.update(var fields), .update(let changed)):
      fields.merge(changed)
      both.kind = .update(fields)
    case (_, .delete): break
    case (_, .insert), (.delete, .update): return nil
    }
    return both
  }
}
