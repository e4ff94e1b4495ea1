import TestSupport
import Testing

@testable import UpdateMachine

/// An outbox whose mutations are sent alone, with its view, a push and a timer.
struct LoneDesk<Change: Mutation & Storable> {
  var local: LocalChanges<Change>
  var now = Moment(milliseconds: 0)
  /// The last push that was sent.
  var push: PushRequest<Change>?
  /// The last push that was cancelled.
  var cancelled: RequestID?
  var timer: TimerID?

  init(over state: Change.State) {
    local = LocalChanges(Outbox(client: ClientID(7), delivery: .atMostOnce), over: state)
    feed(.app(.started(foreground: true)))
  }

  mutating func feed(_ input: Outbox<Change>.Input) { take(local.handle(input, at: now)) }

  mutating func take(_ effects: Outbox<Change>.Effects) {
    cancelled = effects.cancel ?? cancelled
    push = effects.push ?? push
    timer = effects.arm?.timer ?? timer
    #expect(local.outbox.violation() == nil)
  }

  @discardableResult
  mutating func make(_ change: Change) throws -> MutationTicket {
    let made = try local.mutate(change, at: now)
    take(made.effects)
    save()
    return made.ticket
  }

  mutating func save() { feed(.stored(upTo: local.outbox.currentVersion)) }

  mutating func answer(_ answer: PushAnswer = .accepted) throws {
    feed(.answered(try #require(push).id, answer))
    save()
  }

  mutating func fail(_ failure: SyncFailure, hasLeft: Bool = true) throws {
    feed(.failed(try #require(push).id, failure, hasLeft: hasLeft))
    save()
  }

  /// Waits for the end of a backoff.
  mutating func wait() throws {
    now = now + .minutes(10)
    feed(.fired(try #require(timer)))
    save()
  }

  /// The process ends, and the next one reads what was saved.
  mutating func restart() throws {
    var rows = RowDisk()
    rows.write(local.outbox.rows(since: nil))
    var box = try Outbox<Change>(stored: rows.rows)
    box.restored(in: Incarnation(2))
    local = LocalChanges(box, over: local.view.confirmed)
    feed(.app(.started(foreground: true)))
    save()
  }

  var isOut: Bool {
    if case .pushing = local.outbox.status { true } else { false }
  }
  var sent: [String] { push?.mutations.map { $0.change.name } ?? [] }
  var stages: [String] { local.outbox.pending.map { "\($0)" } }
  func state(_ ticket: MutationTicket) -> MutationState? { local.outbox.state(of: ticket) }
}
