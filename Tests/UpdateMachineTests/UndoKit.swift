@testable import UpdateMachine

/// A change of named titles, which can be undone.
enum Naming: Mutation, Equatable, Storable {
  /// Names a thing. Like typing, two in a row are one.
  case type(String, String)
  /// Names a thing that has no name; does nothing to one that has.
  case suggest(String, String)
  /// Gives a thing one title in the place of another; `nil`: none.
  case replace(String, String?, by: String?)
  /// Has no inverse.
  case look

  struct Changed: Error, Hashable {}

  var name: String {
    switch self {
    case .type: "type"
    case .suggest: "suggest"
    case .replace: "replace"
    case .look: "look"
    }
  }

  var key: String? {
    switch self {
    case .type(let key, _), .suggest(let key, _), .replace(let key, _, _): key
    case .look: nil
    }
  }

  func apply(to titles: inout VersionedMap<String, String>) throws(Changed) {
    switch self {
    case .type(let key, let title): titles[key] = title
    case .suggest(let key, let title): if titles[key] == nil { titles[key] = title }
    case .replace(let key, let old, let new):
      guard titles[key] == old else { throw Changed() }
      titles[key] = new
    case .look: return
    }
  }

  func coalesced(with later: Naming) -> Naming? {
    if case .type(let key, _) = self, case .type(key, _) = later { later } else { nil }
  }

  func inverse(
    from before: VersionedMap<String, String>, to after: VersionedMap<String, String>
  ) -> Naming? {
    guard let key, before[key] != after[key] else { return nil }
    return .replace(key, after[key], by: before[key])
  }

  func put(into bytes: inout ByteWriter) {
    bytes.put(name)
    bytes.put(key ?? "")
    switch self {
    case .type(_, let title), .suggest(_, let title): bytes.put([title])
    case .replace(_, let old, let new):
      bytes.put([old ?? "", new ?? ""])
    case .look: bytes.put([String]())
    }
  }

  init(from bytes: inout ByteReader) throws(StoredFormError) {
    let name = try bytes.takeString()
    let key = try bytes.takeString()
    let titles: [String] = try bytes.takeArray()
    switch name {
    case "type": self = .type(key, titles[0])
    case "suggest": self = .suggest(key, titles[0])
    case "replace":
      let (old, new) = (titles[0], titles[1])
      self = .replace(key, old.isEmpty ? nil : old, by: new.isEmpty ? nil : new)
    case "look": self = .look
    default: throw StoredFormError(expected: "a naming")
    }
  }
}

/// One client's changes, over a server that others change, too.
struct Typist {
  var local: LocalChanges<Naming>
  var server = VersionedMap<String, String>()
  /// The last ID that the server has run.
  var last = MutationID.none
  var push: PushRequest<Naming>?

  init(delivery: MutationDelivery = .exactlyOnce, isStarted: Bool = true) {
    let outbox = Outbox<Naming>(
      client: ClientID(7), delivery: delivery, incarnation: Incarnation(1))
    local = LocalChanges(outbox, over: server)
    if isStarted { feed(.app(.started(foreground: true))) }
  }

  var shown: [String: String] {
    var shown: [String: String] = [:]
    for (key, title) in local.view.state { shown[key] = title }
    return shown
  }

  var undoable: String? { local.outbox.nameOfNewest(of: .undo) }
  var redoable: String? { local.outbox.nameOfNewest(of: .redo) }

  mutating func take(_ effects: Outbox<Naming>.Effects) { push = effects.push ?? push }

  mutating func feed(_ input: Outbox<Naming>.Input) {
    take(local.handle(input, at: Moment(milliseconds: 0)))
  }

  @discardableResult
  mutating func make(_ change: Naming) throws -> MutationTicket {
    let made = try local.mutate(change, at: Moment(milliseconds: 0))
    take(made.effects)
    return made.ticket
  }

  @discardableResult
  mutating func undo() throws -> UndoOutcome<Naming.Changed> { try takeBack(.undo) }

  @discardableResult
  mutating func redo() throws -> UndoOutcome<Naming.Changed> { try takeBack(.redo) }

  private mutating func takeBack(_ stack: UndoStack) throws -> UndoOutcome<Naming.Changed> {
    var effects = Outbox<Naming>.Effects()
    let outcome = try local.takeBack(newestOf: stack, at: Moment(milliseconds: 0), &effects)
    take(effects)
    return outcome
  }

  /// All is saved, so the changes leave.
  mutating func send() { feed(.stored(upTo: local.outbox.currentVersion)) }

  /// Another user names a thing.
  mutating func others(_ key: String, _ title: String?) { server[key] = title }

  /// The server runs the push, whose answer comes, too; then the client pulls.
  mutating func run() throws {
    send()
    while let push {
      self.push = nil
      for item in push.mutations where item.id > last {
        last = item.id
        do { try item.change.apply(to: &server) } catch {
          feed(.answered(push.id, .refused(MutationRefusal(item.id, RejectionCode("CHANGED")))))
          return pull(refusal: MutationRefusal(item.id, RejectionCode("CHANGED")))
        }
      }
      feed(.answered(push.id, .accepted))
      pull()
      send()
    }
  }

  mutating func pull(refusal: MutationRefusal? = nil) {
    local.confirm(server, through: last, refusal: refusal)
    var effects = Outbox<Naming>.Effects()
    local.replay(at: Moment(milliseconds: 0), &effects)
    take(effects)
  }

  /// The process ends, and the next one reads what was saved.
  mutating func restart() throws {
    var disk = RowDisk()
    var rows = RowWriter()
    local.outbox.store(since: nil, into: &rows)
    disk.write(rows.rows)
    let outbox = try Outbox<Naming>(stored: disk.rows)
    local = LocalChanges(outbox, over: server)
    local.restored(over: server, in: Incarnation(2))
    pull()
    feed(.app(.started(foreground: true)))
  }
}
