package import SyncProtocols
package import UpdateMachine

// Streams: the room of a world in which users change objects over a stream of events that only
// grows: its server, its app, its users, and what they are owed.
//
// Streams may use: Changes, Choices, Disk, Run.

/// The simulator's seventh app: a few objects that every user inserts, updates and deletes, online
/// or offline, and questions about those that were changed and deleted at once.
package enum StreamsApp: SimulatedApp {
  package typealias Model = StreamModel
  package typealias Truth = StreamsTruth
  package typealias Server = StreamsServer
  package typealias User = StreamsUser
  package typealias Disk = RowDisk<StreamModel, StreamPlace>

  static let keys = ["p", "q", "r", "s", "t"].map { ViewKey($0) }
  static let fields = ["a", "b"].map { ViewKey($0) }

  package static func beginning(_ choices: inout Choices) -> StreamsTruth {
    StreamsTruth(law: choices.pick(.workload, StreamConflictLaw.allCases))
  }

  /// A change by others, each by a client of its own. It may have been made some time ago.
  package static func nextEvent(
    _ truth: StreamsTruth, _ choices: inout Choices
  ) -> StreamsTruth.Change {
    let count = truth.events.count
    let key = choices.pick(.workload, keys)
    let field = choices.pick(.workload, fields)
    let value: StreamFields = [field: UnusualValue.value("others \(count)", Int64(count))]
    let kinds: [StreamChange.Kind] = [.insert(value), .update(value), .update(value), .delete]
    var change = StreamChange(
      StreamEventID(high: 0, low: UInt64(count)), key, choices.pick(.workload, kinds))
    let age: Int64 = choices.pick(.workload, [0, 0, 0, 1, 3, 10])
    change.preceding = StreamSequence(Int64(count) - 1 - age)
    return StreamsTruth.Change(client: ClientID(UInt64(1000 + count)), change: change)
  }

  /// A snapshot with an event whose maker claims to have seen it.
  package static func snapshotToRefuse(_ truth: StreamsTruth) -> StreamSnapshot? {
    var snapshot = truth.snapshot
    var change = StreamChange(StreamEventID(high: 0, low: 0), keys[0], .delete)
    change.preceding = StreamSequence(0)
    snapshot.batch.steps = [
      .event(StreamEvent(sequence: StreamSequence(0), client: ClientID(1), change: change))
    ]
    return snapshot
  }

  /// A stream that no server has answered for has no name.
  package static func clientName(of model: StreamModel) -> UInt64? {
    model.client == .nameless ? nil : model.client?.number
  }

  package static func request(
    _ push: PushRequest<StreamChange>, at finger: StreamPlace?
  ) -> MutationPush {
    MutationPush(push)
  }

  /// Computed from what is shown, which is what a finger stands for.
  package static func checksum(of model: StreamModel) -> UInt64 {
    ShownStream(model.state).checksum
  }

  package static func describe(_ model: StreamModel) -> String {
    ShownStream(model.state).description
  }
}

/// The stream, and what it shows.
package struct StreamsTruth: ServerTruth {
  package typealias Event = StreamStep
  package typealias Snapshot = StreamSnapshot

  /// A change by others.
  package struct Change: Sendable {
    var client: ClientID
    var change: StreamChange
  }

  let law: StreamConflictLaw
  private(set) var events: [StreamEvent] = []
  private var inCausalOrder: [StreamEvent] = []
  private(set) var shown = ShownStream()
  /// The sequence of each event.
  private(set) var sequences = VersionedMap<StreamEventID, StreamSequence>()
  /// The first event that came twice; `nil`: none did.
  private(set) var repeated: StreamEvent?

  init(law: StreamConflictLaw) { self.law = law }

  /// The snapshot without a client's name, which a server adds.
  package var snapshot: StreamSnapshot {
    StreamSnapshot(
      client: ClientID(0), law: law, scope: nil,
      batch: StreamBatch(
        stream: StreamsServer.log, latest: StreamSequence(Int64(events.count) - 1),
        steps: events.map { .event($0) }))
  }

  package mutating func apply(_ change: Change) {
    let sequence = StreamSequence(Int64(events.count))
    append(StreamEvent(sequence: sequence, client: change.client, change: change.change))
  }

  /// The event with a sequence; `nil`: none has it.
  func event(at sequence: StreamSequence) -> StreamEvent? {
    events.indices.contains(Int(sequence.number)) ? events[Int(sequence.number)] : nil
  }

  mutating func append(_ event: StreamEvent) {
    if sequences.contains(event.change.id) { repeated = repeated ?? event }
    sequences[event.change.id] = event.sequence
    events.append(event)
    let place = (inCausalOrder.lastIndex { $0.precedes(event) } ?? -1) + 1
    inCausalOrder.insert(event, at: place)
    shown = ShownStream(inCausalOrder, law)
  }

  /// The truth when there were only so many events.
  func truth(at count: Int) -> StreamsTruth {
    var truth = StreamsTruth(law: law)
    truth.events = Array(events.prefix(count))
    truth.inCausalOrder = inCausalOrder.filter { $0.sequence.number < count }
    truth.shown = ShownStream(truth.inCausalOrder, law)
    return truth
  }

  /// What the first events and some that are not on the stream yet show together.
  func shown(through count: Int, and pending: [StreamEvent], by law: StreamConflictLaw)
    -> ShownStream
  {
    var all = inCausalOrder.filter { $0.sequence.number < count }
    for event in pending where sequences[event.change.id].map({ $0.number >= count }) ?? true {
      all.insert(event, at: (all.lastIndex { $0.precedes(event) } ?? -1) + 1)
    }
    return ShownStream(all, law)
  }

  package var checksum: UInt64 { shown.checksum }

  package func announcement(of change: Change) -> StreamStep? { nil }
}

extension StreamsTruth: CustomStringConvertible {
  package var description: String { shown.description }
}

extension StreamsTruth.Change: CustomStringConvertible {
  package var description: String { "\(change) by \(client)" }
}

extension StreamEvent {
  /// The order of the article, and who is first if two are in one place.
  func precedes(_ other: StreamEvent) -> Bool {
    let (one, two) = (change, other.change)
    if one.preceding != two.preceding { return one.preceding < two.preceding }
    if client != other.client { return client.number < other.client.number }
    if one.clientSequence != two.clientSequence { return one.clientSequence < two.clientSequence }
    if sequence != other.sequence { return sequence < other.sequence }
    return one.id < two.id
  }
}

extension StreamChange: CustomStringConvertible {
  /// "update p {"a":"3/1"} after 17/2".
  package var description: String {
    "\(name) \(key.text)" + (written.map { " \(ShownStream.text($0))" } ?? "")
      + " after \(preceding)/\(clientSequence)"
  }

  /// The fields that it writes; `nil`: it deletes.
  var written: StreamFields? {
    switch kind {
    case .insert(let fields), .update(let fields): fields
    case .delete: nil
    }
  }
}
