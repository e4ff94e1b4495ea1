internal import UpdateMachine

/// Oracle F: an app is told of each change that it can see, and of nothing else. Compares what the
/// client shows after an input with what it showed after the one before.
struct ToldOracle<Model: SyncModel, Sync: SyncProtocol>: Sendable
where Sync.Batch.Event == Model.Event {
  typealias Body = SyncClient<Model, Sync>

  /// What an app can see without looking into a model.
  private struct Seen: Sendable {
    var status: MachineStatus
    var claim: Freshness.Claim
    /// When the claim changes by time alone, of which an alarm tells the app.
    var changesAt: Moment?
    var upToDateAsOf: Moment?
    var nextAttempt: Moment?
    var view: UInt64?
    var outbox: OutboxVersion?
    var stored: OutboxVersion?
    var nextPush: Moment?
    var changes: Changes?
  }

  /// Whose changes there are, and how many. What throws here belongs to the view's version.
  private struct Changes: Equatable {
    var client: ClientID
    var newest: MutationTicket
    var pending: Int
  }

  private var seen: Seen?
  private var windows: [(id: WindowID, view: WindowView<Model.Lists>)] = []

  /// Takes what an input led to. Returns the objection; `nil`: none.
  mutating func note(
    _ input: Body.Input?, _ effects: Body.Effects, _ body: Body, _ freshness: Freshness,
    at now: Moment
  ) -> (expected: String, found: String)? {
    let outbox = Model.Change.isPossible ? body.outbox : nil
    let present = Seen(
      status: body.status, claim: freshness.claim,
      changesAt: body.freshnessChange(after: now),
      upToDateAsOf: freshness.upToDateAsOf,
      nextAttempt: freshness.nextAttempt, view: body.local?.view.version,
      outbox: outbox?.currentVersion, stored: outbox?.storedVersion, nextPush: outbox?.nextPush,
      changes: outbox.map {
        Changes(client: $0.client, newest: $0.newestTicket, pending: $0.count)
      })
    defer { seen = present }
    if Model.Lists.arePartial, let objection = noteWindows(effects, body) { return objection }
    guard let before = seen else { return nil }
    let told = effects.changes
    let isOverdue = before.changesAt.map { $0 <= now } ?? false
    if !ToldOracle.isOneStatus(present.status, before.status)
      || present.upToDateAsOf != before.upToDateAsOf
      || present.claim != before.claim && !isOverdue
    {
      if !told.contains(.status) {
        return ("an app is told of \(present.status), \(present.claim)", "nothing")
      }
    } else if told.contains(.status), !isOverdue, present.nextAttempt == before.nextAttempt {
      return ("an app is told only of what has changed", "of \(present.status) again")
    }
    if (present.view != before.view) != told.contains(.view) {
      return ("an app is told of a view that has changed, and of no other", "\(told.rawValue)")
    }
    let isOutbox =
      present.outbox != before.outbox || present.stored != before.stored
      || present.nextPush != before.nextPush
    if isOutbox, !told.contains(.outbox) {
      return ("an app is told that its changes have another state", "nothing")
    }
    if let changes = present.changes, let old = before.changes, changes != old,
      changes.newest > MutationTicket(0), present.outbox == before.outbox
    {
      return ("changes with another state have another version", "\(changes), before \(old)")
    }
    if told.contains(.model), !ToldOracle.mayChangeModel(input) {
      return ("an app is told of the model only if something came for it", "\(told.rawValue)")
    }
    return nil
  }

  /// Whether an app sees one status in both: not which request is out.
  private static func isOneStatus(_ one: MachineStatus, _ other: MachineStatus) -> Bool {
    switch (one, other) {
    case (.live(.polling), .live(.polling)), (.registering, .registering): true
    default: one == other
    }
  }

  /// Whether an input may bring something for the model. A user's action brings nothing but a
  /// window's list: changes are in the view.
  private static func mayChangeModel(_ input: Body.Input?) -> Bool {
    switch input {
    case nil: Model.Lists.arePartial
    case .fired, .written, .writeFailed, .erased, .pushAnswered, .mutation, .saveRequested:
      false
    case .app, .loaded, .changesLoaded, .loadFailed, .rowsRead, .rowsFailed, .snapshotArrived,
      .batchArrived, .pageArrived, .failed, .window, .lists:
      true
    }
  }

  private mutating func noteWindows(
    _ effects: Body.Effects, _ body: Body
  ) -> (expected: String, found: String)? {
    let before = windows
    windows = body.windows.compactMap { window in body.view(of: window.id).map { (window.id, $0) } }
    for (id, view) in windows {
      guard let old = before.first(where: { $0.id == id })?.view else { continue }
      if (old != view) != effects.windows.contains(id) {
        return ("an app is told of a window that has changed, and of no other", "\(id)")
      }
    }
    return nil
  }
}
