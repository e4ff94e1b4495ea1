package import UpdateMachine

/// What the users of a stream see: all objects, made by all events that are shown, in causal order.
///
/// A pending change takes its own place in that order, too. So its maker sees already what all will
/// see once it is on the stream.
package struct StreamState: Sendable, Equatable {
  package private(set) var fold: StreamFold
  /// The client whose changes are made here.
  package let client: ClientID
  /// The objects that the client follows, ascending; `nil`: all of them.
  package let scope: [ViewKey]?
  /// The last event that is shown. Events beyond a hole are not.
  package internal(set) var latest = EventSequence.none
  /// The greatest causal key of the client's own changes; `nil`: it has made none.
  private var own: CausalKey?

  package init(client: ClientID, law: ConflictLaw, scope: [ViewKey]? = nil) {
    fold = StreamFold(law: law)
    self.client = client
    self.scope = scope
  }

  /// The objects, by key.
  package var objects: VersionedMap<ViewKey, StreamObject> { fold.objects }

  /// The keys of the objects, as a list in which each object takes its place by what its maker had
  /// seen, however late it came.
  package var list: [ViewKey] { fold.order.map { $0.value } }

  /// The open questions, by the object that they are about; empty unless the law is to ask. A
  /// question is open until somebody inserts or deletes the object who has seen it.
  package var questions: VersionedMap<ViewKey, StreamQuestion> { fold.questions }

  /// Whether the law has dropped a change that is on the stream: its object had been deleted.
  package func hasDropped(_ id: StreamEventID) -> Bool { fold.outcome(of: id) == .deleted }

  /// Adds an event. Returns how many were applied to do so.
  @discardableResult
  mutating func add(
    _ change: StreamChange, by maker: ClientID, at sequence: EventSequence?
  ) -> Int {
    if maker == client {
      let key = CausalKey(change, by: client, at: sequence)
      own = own.map { max($0, key) } ?? key
    }
    return fold.add(change, by: maker, at: sequence)
  }

  /// What the maker of a change has seen now, and the change's number. What it once has seen, it
  /// has seen, even if the stream is being read anew from its beginning.
  func stamp() -> (preceding: EventSequence, clientSequence: UInt64) {
    guard let own, own.preceding >= latest.number else { return (latest, 0) }
    return (EventSequence(own.preceding), own.clientSequence &+ 1)
  }
}

/// Why a change cannot be made.
package enum StreamChangeRefusal: Error, Hashable, Sendable {
  /// There is no such object (any more, or yet).
  case missing
  /// The object was deleted by another client, whose deletion wins.
  case deleted
  /// The client does not follow that object.
  case outOfScope
}

extension StreamChange: Mutation {
  package var name: String {
    switch kind {
    case .insert: "insert"
    case .update: "update"
    case .delete: "delete"
    }
  }

  package var size: Int64 { arguments(ticket: nil).byteCount }

  /// The object that it changes.
  package var object: ViewKey? { key }

  /// Notes what its maker has seen.
  package mutating func stamp(from state: StreamState) {
    (preceding, clientSequence) = state.stamp()
  }

  /// A deletion has no refusal: that of an object that is not there is harmless.
  package func apply(to state: inout StreamState) throws(StreamChangeRefusal) {
    if let scope = state.scope, !scope.contains(key) { throw .outOfScope }
    let isPending = state.add(self, by: state.client, at: nil) > 0
    switch state.fold.outcome(of: id) {
    case .deleted: throw .deleted
    case .missing where isPending: throw .missing
    case .missing, .asked, .applied, nil: break
    }
    // It comes before a deletion, which its maker did not know either.
    if isPending, kind != .delete, state.fold.law == .firstWriterWins, state.objects[key] == nil {
      throw .deleted
    }
  }

  /// The law drops it: its object was deleted.
  package func isOverruled(by refusal: StreamChangeRefusal) -> Bool { refusal == .deleted }

  /// Two changes of one object are one: an insert with the updates after it is an insert; the last
  /// value of each field counts; a deletion is all that is left of what was before it.
  ///
  /// The result has the ID and the causal key of the *later* change. The later maker had seen more,
  /// and its values answer to that. With the earlier key, they would sort before what they answer
  /// to, and lose against it. The earlier change can be moved: nobody else has seen it.
  package func coalesced(with later: StreamChange) -> StreamChange? {
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
    return key == later.key ? both : nil
  }
}
