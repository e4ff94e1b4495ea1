internal import SyncProtocols
package import UpdateMachine

/// An app's truth with what its server knows besides: how far it has made each client's changes,
/// and all that was before.
package struct LoggedTruth<App: SimulatedOfflineApp>: ServerTruth {
  package typealias Event = App.Truth.Event
  package typealias Snapshot = App.Truth.Snapshot
  /// What somebody without an outbox does; `nil`: nothing.
  package typealias Change = App.Model.Change?

  /// What the server had at one position.
  struct State: Sendable {
    var truth: App.Truth
    var clients = VersionedMap<UInt64, ClientProgress>()

    func progress(of client: ClientID) -> ClientProgress {
      clients[client.number] ?? ClientProgress(of: client)
    }

    func snapshot(for client: ClientID) -> Snapshot { truth.snapshot(for: progress(of: client)) }
  }

  /// A client's change, as the server has made it.
  struct Run: Sendable {
    var client: ClientID
    var item: PushRequest<App.Model.Change>.Item
  }

  private(set) var state: State
  /// The states at all positions from 0 on.
  private(set) var past = VersionedMap<Int64, State>()
  /// The clients' changes that were made, by the positions to which they led.
  private(set) var runs = VersionedMap<Int64, Run>()
  /// What the server half was first seen to do wrong; `nil`: nothing.
  private(set) var wrong: String?
  private var runsByTicket = VersionedMap<RunName, Run>()

  private struct RunName: Comparable, Sendable {
    var client: UInt64
    var ticket: UInt64

    static func < (one: RunName, other: RunName) -> Bool {
      (one.client, one.ticket) < (other.client, other.ticket)
    }
  }

  init(_ truth: App.Truth) {
    state = State(truth: truth)
    past[0] = state
  }

  var position: Int64 { Int64(past.count) - 1 }

  mutating func noteWrong(_ what: String) { wrong = wrong ?? what }

  /// The last change that was made under a client's ticket; `nil`: none was.
  func run(of ticket: MutationTicket, by client: ClientID) -> Run? {
    runsByTicket[RunName(client: client.number, ticket: ticket.number)]
  }

  // MARK: Changes

  package var snapshot: Snapshot { state.snapshot(for: .nameless) }

  package mutating func apply(_ change: Change) { _ = make(change) }

  package func announcement(of change: Change) -> Event? { nil }

  /// Makes what somebody does, and returns the event; `nil`: there is none. It leads to a new
  /// position in any case.
  mutating func make(_ change: Change) -> Event? {
    var event: Event?
    if let change {
      var next = state.truth
      do throws(ChangeRefusal) {
        event = try next.make(change, by: nil)
        state.truth = next
      } catch {}  // Somebody has tried in vain.
    }
    past[position + 1] = state
    return event
  }

  /// Makes or refuses a client's change, and returns the event, and whether it was made.
  ///
  /// - Parameter counts: whether the server counts the client's changes.
  mutating func make(
    _ item: PushRequest<App.Model.Change>.Item, by client: ClientID, counts: Bool
  ) -> (event: Event, refusal: ChangeRefusal?) {
    var progress = state.progress(of: client)
    progress.last = item.id
    var next = state.truth
    do throws(ChangeRefusal) {
      let event = try next.make(item.change, by: progress)
      state.truth = next
      if counts { state.clients[client.number] = progress }
      let run = Run(client: client, item: item)
      runs[position + 1] = run
      runsByTicket[RunName(client: client.number, ticket: item.ticket.number)] = run
      past[position + 1] = state
      return (event, nil)
    } catch {
      return (refuse(item.id, of: client, error.code, counts: counts), error)
    }
  }

  /// Refuses a client's change unseen.
  mutating func refuse(
    _ id: MutationID, of client: ClientID, _ code: RejectionCode, counts: Bool
  ) -> Event {
    var progress = state.progress(of: client)
    progress.last = id
    progress.refused = id
    progress.reason = code
    if counts { state.clients[client.number] = progress }
    past[position + 1] = state
    return state.truth.refusal(to: progress)
  }
}

extension LoggedTruth: CustomStringConvertible {
  package var description: String { state.truth.description }
}
