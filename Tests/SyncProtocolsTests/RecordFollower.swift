public import SyncProtocols
import Testing
import UpdateMachine

/// A client reduced to what its protocol decides: the model, the finger, and the simplest outbox
/// that keeps the core's rules for a server that counts no IDs.
struct RecordFollower {
  typealias Item = PushRequest<RecordChange>.Item

  let client: ClientID
  var schema = RecordSchema(1)
  private(set) var model: RecordModel?
  private(set) var finger: RecordFinger?
  private(set) var pending: [Pending] = []
  /// Changes that the confirmed state has overruled.
  private(set) var overruled: [RecordChange] = []
  /// Whether the last pull brought all that the server has.
  private(set) var isLevel = false
  private var lastID: UInt64 = 0
  private var disk = VersionedMap<StoredKey, [UInt8]>()
  private var saved: RecordModel?

  struct Pending {
    enum Stage { case unsent, sent, accepted }

    let id: MutationID
    var change: RecordChange
    var stage = Stage.unsent
    /// It was accepted before the pull that is out left.
    var isAsked = false
  }

  init(_ number: UInt64) { client = ClientID(number) }

  var confirmed: RecordState { model?.state ?? RecordModel.beginning?.state ?? RecordState() }

  var view: RecordState {
    var view = confirmed
    for item in pending {
      do throws(RecordChange.Refusal) {
        try item.change.apply(to: &view)
      } catch {}  // The next pull overrules it. Until then it shows nothing.
    }
    return view
  }

  func status(_ key: RecordKey) -> RecordStatus {
    confirmed.status(of: key, under: pending.map(\.change))
  }

  // MARK: The user

  /// Returns whether the change could be made.
  @discardableResult
  mutating func make(_ action: RecordChange.Action, _ key: RecordKey) -> Bool {
    var change = RecordChange(action, key)
    var view = view
    change.stamp(from: view, ticket: MutationTicket(0), inPlaceOf: nil)
    do throws(RecordChange.Refusal) {
      try change.apply(to: &view)
    } catch {
      return false  // Nothing is kept of a change that cannot be made.
    }
    if let last = pending.lastIndex(where: { $0.change.key == key }),
      pending[last].stage == .unsent, let both = pending[last].change.coalesced(with: change)
    {
      pending[last].change = both
    } else {
      lastID += 1
      pending.append(Pending(id: MutationID(lastID), change: change))
    }
    return true
  }

  // MARK: Pulls

  /// Returns the request of the next pull; `nil`: the client must register first.
  mutating func pull() -> RecordPull? {
    for index in pending.indices { pending[index].isAsked = pending[index].stage == .accepted }
    do {
      return try RecordPull(client: client, after: finger, schema: schema)
    } catch {
      expire()
      return nil
    }
  }

  /// The server does not know the finger.
  mutating func expire() {
    finger = nil
    isLevel = false
  }

  /// Takes an answer to the last request. Returns how it follows, or why it was refused.
  @discardableResult
  mutating func take(_ answer: PulledRecords) -> String {
    var isComplete = answer.isWhole
    do throws(RecordRefusal) {
      if let finger, var model {
        switch RecordSync.advance(finger, over: answer) {
        case .next(let next, _, let complete):
          try model.apply(answer)
          (self.model, self.finger, isComplete) = (model, next, complete)
        case .seen: isComplete = true
        case .incomplete: return "incomplete"
        case .lost, .gap:
          expire()
          return "\(RecordSync.advance(finger, over: answer))"
        }
      } else {
        model = try RecordModel(snapshot: answer, replacing: model)
        finger = answer.finger
      }
    } catch {
      expire()
      return "\(error)"
    }
    isLevel = isComplete
    if isComplete { pending.removeAll { $0.isAsked && $0.stage == .accepted } }
    overrule()
    return isComplete ? "level" : "more"
  }

  private mutating func overrule() {
    var view = confirmed
    pending.removeAll { item in
      do throws(RecordChange.Refusal) {
        try item.change.apply(to: &view)
        return false
      } catch {
        guard item.change.isOverruled(by: error) else { return false }
        overruled.append(item.change)
        return true
      }
    }
  }

  // MARK: Pushes

  /// Returns the changes to push; `nil`: none, or the client is not level.
  mutating func push(atMost count: Int = 100) -> [Item]? {
    guard isLevel else { return nil }
    var items: [Item] = []
    for index in pending.indices where pending[index].stage != .accepted && items.count < count {
      pending[index].stage = .sent
      items.append(
        Item(id: pending[index].id, ticket: MutationTicket(1), change: pending[index].change))
    }
    return items.isEmpty ? nil : items
  }

  mutating func take(_ answer: PushAnswer, to items: [Item]) {
    var taken: [MutationID] = []
    switch answer {
    case .accepted, .created: taken = items.map(\.id)
    case .acceptedOnly(let ids): taken = ids
    case .behind: isLevel = false
    case .absent, .refused, .tooLarge: return
    }
    for index in pending.indices where taken.contains(pending[index].id) {
      pending[index].stage = .accepted
      pending[index].isAsked = false
    }
  }

  // MARK: Crashes

  /// The client as it was read from its saved form.
  func restored() throws -> RecordFollower {
    var copy = self
    if let model {
      // Only what differs from the last saved form is written.
      var rows = RowWriter()
      model.store(since: saved, into: &rows)
      for row in rows.rows { copy.disk[row.key] = row.value }
      copy.saved = model
      copy.model = try RecordModel(stored: RowReader(copy.disk.map { $0 }))
    }
    copy.finger = try finger.map { try RecordFinger(storedBytes: $0.storedBytes) }
    for index in pending.indices {
      copy.pending[index].change = try RecordChange(storedBytes: pending[index].change.storedBytes)
      copy.pending[index].isAsked = false
    }
    copy.isLevel = false
    return copy
  }
}

/// One server and some clients, with short ways to let them meet.
struct RecordDesk {
  var server: RecordServer
  var one = RecordFollower(1)
  var two = RecordFollower(2)
  var now = Moment(milliseconds: 1000)

  init(pages: Int = 100) { server = RecordServer(epoch: 1, pageMaximum: pages) }

  /// The answer to the client's next pull.
  mutating func ask(_ who: WritableKeyPath<RecordDesk, RecordFollower>) throws -> PulledRecords {
    var answer: PulledRecords?
    if let request = self[keyPath: who].pull() { answer = server.pull(request) }
    return try #require(answer)
  }

  /// Pulls until the client is level. Returns how each answer followed.
  @discardableResult
  mutating func pull(_ who: WritableKeyPath<RecordDesk, RecordFollower>) -> [String] {
    var words: [String] = []
    for _ in 0..<100 {
      guard let request = self[keyPath: who].pull(), let answer = server.pull(request) else {
        self[keyPath: who].expire()
        words.append("expired")
        continue
      }
      words.append(self[keyPath: who].take(answer))
      if words.last == "level" { return words }
    }
    return words + ["never level"]
  }

  /// Pushes once. Returns the server's answer, which the client gets unless it is lost.
  @discardableResult
  mutating func push(
    _ who: WritableKeyPath<RecordDesk, RecordFollower>, isLost: Bool = false
  ) -> String {
    guard let items = self[keyPath: who].push(), let finger = self[keyPath: who].finger else {
      return "nothing"
    }
    let refused = server.push(RecordPush(items, at: finger), at: now)
    let answer = RecordPush.answer(to: items, refusing: refused, tookRest: server.takesRest)
    if !isLost { self[keyPath: who].take(answer, to: items) }
    return "\(answer)"
  }

  /// A pull, a push, and the pull that confirms it.
  @discardableResult
  mutating func sync(_ who: WritableKeyPath<RecordDesk, RecordFollower>) -> String {
    pull(who)
    let answer = push(who)
    pull(who)
    return answer
  }

  mutating func set(_ key: RecordKey, _ columns: JSONValue) {
    server.set(key, row(columns), at: now)
  }

  mutating func delete(_ key: RecordKey) { server.delete(key, at: now) }
}

/// The columns of a record, as a literal.
func row(_ columns: JSONValue) -> JSONObject { columns.object ?? JSONObject() }

extension RecordKey: ExpressibleByStringLiteral {
  /// "a" is the record "a" of the table "t"; "u/a" that of the table "u".
  public init(stringLiteral text: String) {
    let parts = text.split(separator: "/").map(String.init)
    self.init(parts.count > 1 ? parts[0] : "t", parts.last ?? "")
  }
}

extension RecordState {
  /// Like `a{"x":1} b{}`; tables other than "t" are named.
  var text: String { records.map { recordText($0.key, $0.value.columns) }.joined(separator: " ") }
}

extension RecordServer {
  var text: String { records.map { recordText($0.key, $0.value) }.joined(separator: " ") }
}

private func recordText(_ key: RecordKey, _ columns: JSONObject) -> String {
  (key.table == "t" ? key.id : "\(key)") + "\(JSONValue.object(columns))"
}
