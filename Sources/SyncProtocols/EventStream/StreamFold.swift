public import UpdateMachine

/// The place of an event in the one order in which all clients fold a stream.
///
/// Events are ordered by the preceding sequence, then by client, then by client sequence. That
/// alone puts whatever an event's maker had seen before the event. What the maker had seen has a
/// sequence up to its `preceding`. And what it saw was made before it was written: it has a
/// `preceding` below its own sequence, so below the event's. A maker's own changes of one object
/// never go back in `preceding`, and all its changes count up in `clientSequence`. So one client's
/// changes, made without news from others, stay together, however they interleave with others' on
/// the stream.
///
/// No clock is in it. The sequence and the ID only break ties that no honest client makes.
package struct CausalKey: Hashable, Comparable, Sendable {
  package var preceding: Int64
  package var client: UInt64
  package var clientSequence: UInt64
  /// The greatest number: the event is pending, and not on the stream yet.
  package var sequence: Int64
  package var id: StreamEventID

  package init(_ change: StreamChange, by client: ClientID, at sequence: StreamSequence?) {
    preceding = change.preceding.number
    self.client = client.number
    clientSequence = change.clientSequence
    self.sequence = sequence?.number ?? .max
    id = change.id
  }

  package static func < (one: CausalKey, other: CausalKey) -> Bool {
    (one.preceding, one.client, one.clientSequence, one.sequence, one.id)
      < (other.preceding, other.client, other.clientSequence, other.sequence, other.id)
  }

  /// Whether the maker of this event had seen another, earlier one.
  func saw(_ other: CausalKey) -> Bool { other.sequence <= preceding || other.client == client }
}

/// What became of an event in the fold.
package enum StreamOutcome: Hashable, Sendable {
  case applied
  /// There is no such object.
  case missing
  /// The object was deleted before, and the law, or what the maker had seen, says that it stays so.
  case deleted
  /// The object was deleted before, and the users are asked.
  case asked
  /// It would undo something, and somebody has changed that since.
  case changed
}

/// All events of a stream in causal order, and the objects that they make. The same events give the
/// same fold, in whichever order they are added.
///
/// An event concerns one object. So the fold keeps the events by object, each with the object as it
/// is after that event: a checkpoint. An event that comes late takes its place, and only later
/// events of the same object are applied again, until the object is as it was before.
package struct StreamFold: Sendable, Equatable {
  let law: StreamConflictLaw
  private var entries = VersionedMap<EntryKey, Entry>()
  private var keys = VersionedMap<StreamEventID, EntryKey>()
  package private(set) var objects = VersionedMap<ViewKey, StreamObject>()
  /// The keys of the objects, in the causal order of their inserts.
  package private(set) var order = VersionedMap<CausalKey, ViewKey>()
  package private(set) var questions = VersionedMap<ViewKey, StreamQuestion>()

  struct EntryKey: Hashable, Comparable, Sendable {
    var object: ViewKey
    /// `nil`: after all events of the object.
    var place: CausalKey?

    static func < (one: EntryKey, other: EntryKey) -> Bool {
      guard one.object == other.object else { return one.object < other.object }
      guard let place = one.place else { return false }
      return other.place.map { place < $0 } ?? true
    }
  }

  struct Entry: Equatable, Sendable {
    let change: StreamChange
    var outcome = StreamOutcome.applied
    /// The object after this event.
    var object: ObjectHistory
  }

  package init(law: StreamConflictLaw) { self.law = law }

  /// Adds an event, unless one with its ID is there. Returns how many events were applied to do so:
  /// 0 if it was there. O(log n) for each.
  ///
  /// - Parameter sequence: `nil`: the event is pending.
  @discardableResult
  package mutating func add(
    _ change: StreamChange, by client: ClientID, at sequence: StreamSequence?
  ) -> Int {
    guard !keys.contains(change.id) else { return 0 }
    let place = CausalKey(change, by: client, at: sequence)
    let key = EntryKey(object: change.key, place: place)
    keys[change.id] = key
    let before = entries.last(before: key)
    var object = ObjectHistory()
    if let before, before.key.object == change.key { object = before.value.object }
    let outcome = object.apply(change, at: place, law)
    entries[key] = Entry(change: change, outcome: outcome, object: object)
    var count = 1
    for (later, old) in entries.ascending(after: key) {
      guard later.object == change.key, let place = later.place else { break }
      var new = old
      new.outcome = object.apply(old.change, at: place, law)
      new.object = object
      count += 1
      if new == old { break }
      entries[later] = new
    }
    show(change.key)
    return count
  }

  /// What became of an event; `nil`: it is not in the fold.
  package func outcome(of id: StreamEventID) -> StreamOutcome? {
    keys[id].flatMap { entries[$0]?.outcome }
  }

  /// Brings the result up to date with the last entry of an object.
  private mutating func show(_ key: ViewKey) {
    let last = entries.last(before: EntryKey(object: key, place: nil))?.value.object
    let (old, new) = (objects[key], last?.object)
    if old != new {
      if let old, old.inserted != new?.inserted { order[old.inserted] = nil }
      if let new { order[new.inserted] = key }
      objects[key] = new
    }
    if questions[key] != last?.question { questions[key] = last?.question }
  }
}

/// An object of a stream.
public struct StreamObject: Hashable, Sendable {
  /// Its fields.
  public internal(set) var fields: StreamFields
  let inserted: CausalKey
}

/// A change of an object that was deleted, of which its maker did not know. The users are asked
/// what shall become of it.
public struct StreamQuestion: Hashable, Sendable {
  /// The client that made the change.
  public var client: ClientID { ClientID(place.client) }
  /// The fields that the object would have without the deletion. To bring it back, insert it with
  /// them; otherwise delete it again.
  public internal(set) var fields: StreamFields
  let place: CausalKey
}

/// An object as it is after one of its events.
struct ObjectHistory: Equatable, Sendable {
  /// What was made of it; after a deletion, what it was before.
  private var last: StreamObject?
  /// The first deletion since its last insert.
  private var deletion: CausalKey?
  /// Whether one client made all deletions since then.
  private var hasOneDeleter = true
  private(set) var question: StreamQuestion?

  /// `nil`: it does not exist.
  var object: StreamObject? { deletion == nil ? last : nil }

  mutating func apply(
    _ change: StreamChange, at place: CausalKey, _ law: StreamConflictLaw
  ) -> StreamOutcome {
    if let expected = change.expected { return takeBack(change.kind, at: place, expected) }
    switch change.kind {
    case .delete:
      if let deletion, deletion.client != place.client { hasOneDeleter = false }
      // Of an object that was never inserted: its insert was not sent before it was deleted.
      deletion = deletion ?? place
      if let asked = question, place.saw(asked.place) { question = nil }
      return .applied
    case .insert(let fields):
      guard let deletion else {
        if last == nil { last = StreamObject(fields: [:], inserted: place) }
        last?.fields.merge(fields)
        return .applied
      }
      guard place.saw(deletion) else { return settle(fields, inserted: place, at: place, law) }
      self = ObjectHistory()
      last = StreamObject(fields: fields, inserted: place)
      return .applied
    case .update(let fields):
      if let deletion {
        if place.saw(deletion) { return .deleted }
        return settle(fields, inserted: nil, at: place, law)
      }
      guard last != nil else { return .missing }
      last?.fields.merge(fields)
      return .applied
    }
  }

  /// Undoes or redoes a change, if the object is as that one has left it. An object that comes back
  /// is as it was before its deletion, and keeps its place in the list.
  private mutating func takeBack(
    _ kind: StreamChange.Kind, at place: CausalKey, _ expected: StreamChange.Expectation
  ) -> StreamOutcome {
    switch (kind, expected) {
    case (.insert(let fields), .nothing):
      guard let deletion, deletion.client == place.client, hasOneDeleter, question == nil
      else { return .changed }
      // What was deleted before it was sent was never there.
      let revived = last ?? StreamObject(fields: fields, inserted: place)
      self = ObjectHistory()
      last = revived
    case (.update(let fields), .fields(let found)):
      guard let object, object.fields.isReplaceable(found, by: fields) else { return .changed }
      for (field, _) in found { last?.fields[field] = fields[field] }
      last?.fields.merge(fields)
    case (.delete, .object(let found)):
      guard let object, object.fields == found else { return .changed }
      deletion = place
    case _: return .changed  // No server that keeps its rules sends that.
    }
    return .applied
  }

  /// Settles a change whose maker did not know that the object was deleted.
  private mutating func settle(
    _ fields: StreamFields, inserted: CausalKey?, at place: CausalKey, _ law: StreamConflictLaw
  ) -> StreamOutcome {
    var revived = last ?? inserted.map { StreamObject(fields: [:], inserted: $0) }
    guard revived != nil, law != .firstWriterWins else { return .deleted }
    revived?.fields.merge(question?.fields ?? [:])
    revived?.fields.merge(fields)
    if law == .lastWriterWins {
      last = revived
      deletion = nil
      hasOneDeleter = true
      return .applied
    }
    question = StreamQuestion(fields: revived?.fields ?? fields, place: question?.place ?? place)
    return .asked
  }
}

extension StreamFields {
  mutating func merge(_ other: StreamFields) {
    for (key, value) in other { self[key] = value }
  }

  /// The fields that another object does not have, or has with other values.
  func fields(unlike other: StreamFields) -> StreamFields {
    var fields = StreamFields()
    for (name, value) in self where value != other[name] { fields[name] = value }
    return fields
  }

  /// Whether it has all of `found`, and of `new` only fields that `found` has, too. Those of
  /// `found` that are not in `new` would go.
  fileprivate func isReplaceable(_ found: StreamFields, by new: StreamFields) -> Bool {
    for (name, value) in found where self[name] != value { return false }
    for (name, _) in new where !found.contains(name) && contains(name) { return false }
    return true
  }
}
