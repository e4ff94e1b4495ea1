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
  private(set) var ownPreceding: StreamSequence

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

  /// Whether a change that is on the stream has no effect: the law has dropped it, because its
  /// object had been deleted, or it would undo something that somebody has changed.
  package func hasDropped(_ id: StreamEventID) -> Bool {
    switch fold.outcome(of: id) {
    case .deleted, .changed: true
    case .applied, .missing, .asked, nil: false
    }
  }

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
  /// It would undo or redo something, and somebody has changed that since.
  case changed
}

extension StreamChange: Mutation {
  /// The kind; before that of what undoes or redoes a change, "undo-".
  public var name: String {
    let name =
      switch kind {
      case .insert: "insert"
      case .update: "update"
      case .delete: "delete"
      }
    return expected == nil ? name : StreamChange.mark + name
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
  ///
  /// A change that is redone before it ever left keeps what its maker had seen. It would win
  /// otherwise against what others have written since. What undoes or redoes a change that has left
  /// gets its ID here: no app has drawn one.
  public mutating func stamp(
    from state: StreamState, ticket: MutationTicket, inPlaceOf old: StreamChange?
  ) {
    preceding = old?.preceding ?? state.seen
    clientSequence = old?.clientSequence ?? ticket.number
    if let old, old.clientSequence < ticket.number {
      // It is redone, after all that its maker has done since.
      preceding = max(old.preceding, state.ownPreceding)
      clientSequence = ticket.number
    }
    if expected != nil, old == nil {
      id = id.mixed(with: UInt64(bitPattern: preceding.number), clientSequence)
    }
  }

  /// A user's deletion is never refused: to delete an object that is not there does no harm.
  public func apply(to state: inout StreamState) throws(StreamChangeRefusal) {
    if let scope = state.scope, !scope.contains(key) { throw .outOfScope }
    // While the stream is read anew, what its maker had seen may still be missing.
    let isKnown = preceding <= state.latest
    let isPending = state.add(self, by: state.client, at: nil) > 0
    switch state.fold.outcome(of: id) {
    case .deleted: throw isKnown ? .deleted : .missing
    case .changed where isPending: throw isKnown ? .changed : .missing
    case .missing where isPending: throw .missing
    case .changed, .missing, .asked, .applied, nil: break
    }
    // It comes before a deletion of which its maker did not know.
    if isPending, kind != .delete, state.fold.law == .firstWriterWins, state.objects[key] == nil {
      throw isKnown ? .deleted : .missing
    }
  }

  /// The law drops it: its object was deleted. An undo that would take back the work of others is
  /// set aside, and its user can see that.
  public func isOverruled(by refusal: StreamChangeRefusal) -> Bool { refusal == .deleted }

  /// Two changes of one object are one if no news came between them: an insert with the updates
  /// after it is an insert; the last value of each field counts; of an insert and its deletion, the
  /// deletion is left. An update before a deletion stays: who undoes the deletion wants it back.
  ///
  /// If news came between them, both stay, each with its own causal key. One key for both would be
  /// wrong for one of them. With the earlier key, the later change would sort before what it
  /// answers to, and lose. With the later key, the earlier change would count as made by somebody
  /// who knew the news. If that was a deletion, it would be dropped, though by itself it brings the
  /// object back.
  ///
  /// The result has the ID and the causal key of the later change. What expects something stays
  /// alone: one condition cannot stand for both.
  public func coalesced(with later: StreamChange) -> StreamChange? {
    guard expected == nil, later.expected == nil else { return nil }
    guard key == later.key, preceding == later.preceding else { return nil }
    var both = later
    switch (kind, later.kind) {
    case (.insert(var fields), .update(let changed)):
      fields.merge(changed)
      both.kind = .insert(fields)
    case (.update(var fields), .update(let changed)):
      fields.merge(changed)
      both.kind = .update(fields)
    case (.insert, .delete), (.delete, .delete): break
    case (_, .insert), (.update, .delete), (.delete, .update): return nil
    }
    return both
  }

  /// An update is taken back field by field, so others may change other fields meanwhile. An insert
  /// is taken back as long as the object is as it was made. A deletion is taken back unless
  /// somebody else has deleted the object, too, or has brought it back, or has asked to. What shows
  /// only in a question has no inverse.
  public func inverse(from before: StreamState, to after: StreamState) -> StreamChange? {
    var inverse: StreamChange
    switch (before.objects[key]?.fields, after.objects[key]?.fields) {
    case (let old?, let new?):
      guard old != new else { return nil }
      inverse = StreamChange(id, key, .update(old.fields(unlike: new)))
      inverse.expected = .fields(new.fields(unlike: old))
    case (let old?, nil):
      inverse = StreamChange(id, key, .insert(old))
      inverse.expected = .nothing
    case (nil, let new?):
      inverse = StreamChange(id, key, .delete)
      inverse.expected = .object(new)
    case (nil, nil): return nil
    }
    return inverse
  }
}

extension StreamEventID {
  /// An ID for what undoes the change with this one, in its place of the causal order. As good as
  /// drawn at random, because this one was.
  fileprivate func mixed(with preceding: UInt64, _ clientSequence: UInt64) -> StreamEventID {
    func half(_ start: UInt64) -> UInt64 {
      var digest = StateDigest(value: start)
      digest.fold(high)
      digest.fold(low)
      digest.fold(preceding)
      digest.fold(clientSequence)
      return digest.value
    }
    return StreamEventID(high: half(1), low: half(2))
  }
}
