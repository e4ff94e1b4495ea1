internal import SyncProtocols
internal import UpdateMachine

/// What a stream shows, made from scratch by the simplest possible code.
struct ShownStream: Equatable, Sendable {
  var objects = VersionedMap<ViewKey, StreamFields>()
  /// The keys of the objects, in the order in which they were inserted.
  var list: [ViewKey] = []
  /// The fields that are asked about.
  var questions = VersionedMap<ViewKey, StreamFields>()
  /// The events that the law has dropped.
  var dropped = VersionedMap<StreamEventID, Bool>()

  init() {}

  /// Reads what a client shows. It cannot tell all dropped events, so it has none.
  init(_ state: StreamState) {
    for (key, object) in state.objects { objects[key] = object.fields }
    list = state.list
    for (key, question) in state.questions { questions[key] = question.fields }
  }

  private struct Thing {
    let key: ViewKey
    var fields: StreamFields?
    /// Where in the order it was inserted.
    var place = 0
    var deletion: StreamEvent?
    /// The clients of all deletions since it was inserted last.
    var deleters: [ClientID] = []
    var question: (fields: StreamFields, by: StreamEvent)?
  }

  /// - Parameter events: in causal order.
  init(_ events: [StreamEvent], _ law: StreamConflictLaw) {
    var things: [Thing] = []
    for (place, event) in events.enumerated() {
      let key = event.change.key
      if !things.contains(where: { $0.key == key }) { things.append(Thing(key: key)) }
      guard let index = things.firstIndex(where: { $0.key == key }) else { continue }
      if !ShownStream.add(event, at: place, to: &things[index], law) {
        dropped[event.change.id] = true
      }
    }
    for thing in things where thing.deletion == nil { objects[thing.key] = thing.fields }
    list = things.filter { objects.contains($0.key) }.sorted { $0.place < $1.place }.map { $0.key }
    for thing in things { questions[thing.key] = thing.question?.fields }
  }

  /// Returns `false` if the law drops the event.
  private static func add(
    _ event: StreamEvent, at place: Int, to thing: inout Thing, _ law: StreamConflictLaw
  ) -> Bool {
    if let expected = event.change.expected {
      return takeBack(event, expected, at: place, to: &thing)
    }
    guard let written = event.change.written else {
      if thing.deletion == nil { thing.deletion = event }
      thing.deleters.append(event.client)
      if let question = thing.question, event.knew(question.by) { thing.question = nil }
      return true
    }
    var isInsert = false
    if case .insert = event.change.kind { isInsert = true }
    guard let deletion = thing.deletion else {
      if thing.fields == nil {
        guard isInsert else { return true }
        thing.fields = [:]
        thing.place = place
      }
      thing.fields = ShownStream.joined(thing.fields, written)
      return true
    }
    if event.knew(deletion) {
      guard isInsert else { return false }
      thing = Thing(key: thing.key, fields: written, place: place)
      return true
    }
    guard law != .firstWriterWins, isInsert || thing.fields != nil else { return false }
    if law == .ask {
      let fields = ShownStream.joined(thing.question?.fields ?? thing.fields, written)
      thing.question = (fields, thing.question?.by ?? event)
    } else {
      if thing.fields == nil { thing.place = place }
      thing.fields = ShownStream.joined(thing.fields, written)
      thing.deletion = nil
      thing.deleters = []
    }
    return true
  }

  /// Undoes or redoes a change. Returns `false` if others have changed what it takes back.
  private static func takeBack(
    _ event: StreamEvent, _ expected: StreamChange.Expectation, at place: Int,
    to thing: inout Thing
  ) -> Bool {
    let old = thing.deletion == nil ? thing.fields : nil
    let new = event.change.written ?? [:]
    switch expected {
    case .nothing:
      let isDeletedByOthers = thing.deleters.contains { $0 != event.client }
      guard !thing.deleters.isEmpty, !isDeletedByOthers, thing.question == nil else { return false }
      if thing.fields == nil {
        thing.fields = new
        thing.place = place
      }
      thing.deletion = nil
      thing.deleters = []
    case .fields(let found):
      let names = found.map { $0.key } + new.map { $0.key }
      guard let old, names.allSatisfy({ old[$0] == found[$0] }) else { return false }
      for name in names { thing.fields?[name] = new[name] }
    case .object(let found):
      guard old == found else { return false }
      thing.deletion = event
      thing.deleters = [event.client]
    }
    return true
  }

  private static func joined(_ old: StreamFields?, _ new: StreamFields) -> StreamFields {
    var all = old ?? [:]
    for (field, value) in new { all[field] = value }
    return all
  }

  var checksum: UInt64 {
    var digest = StateDigest()
    digest.fold(description)
    return digest.value
  }

  static func text(_ fields: StreamFields) -> String {
    "{" + fields.map { "\($0.key.text):\($0.value)" }.joined(separator: ",") + "}"
  }
}

extension ShownStream: CustomStringConvertible {
  var description: String {
    let shown = list.map { "\($0.text)=\(ShownStream.text(objects[$0] ?? [:]))" }
    let asked = questions.map { "\($0.key.text)?\(ShownStream.text($0.value))" }
    return (shown + asked).joined(separator: " ")
  }
}

extension StreamEvent {
  /// Whether its maker knew another event that is before it.
  fileprivate func knew(_ other: StreamEvent) -> Bool {
    other.sequence <= change.preceding || other.client == client
  }
}
