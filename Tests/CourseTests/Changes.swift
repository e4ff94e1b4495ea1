import SyncProtocols
import UpdateMachine

// The course, part 4: what the user changes.

// Article example begins: course change
/// What the app shows of what is open, with the user's own changes in it.
struct ToDos: Hashable, Sendable {
  var open = VersionedMap<Int64, String>()
  /// Ticked off here. The server has not confirmed it yet, so no window shows it.
  var ticked = VersionedMap<Int64, String>()
  /// Cleared here. Windows still show these rows, and the app hides them.
  var cleared: Set<Int64> = []
}

extension ToDoChange: Mutation, Storable {
  var name: String {
    switch self {
    case .add: "add"
    case .tick: "tick"
    case .clear: "clear"
    }
  }

  func apply(to toDos: inout ToDos) throws(Never) {
    switch self {
    case .add(let item):
      if toDos.open[item.id] == nil { toDos.open[item.id] = item.title }
    case .tick(let id):
      guard let title = toDos.open[id] else { return }  // Somebody else was first.
      toDos.open[id] = nil
      toDos.ticked[id] = title
    case .clear(let number): toDos.cleared.insert(number)
    }
  }
}

extension ToDoModel {
  typealias Change = ToDoChange

  var state: ToDos { ToDos(open: open) }

  /// A second copy of each change has no effect.
  static var delivery: MutationDelivery { .atLeastOnce }

  /// The server does not count changes.
  var confirmation: MutationConfirmation { MutationConfirmation(last: MutationID(0)) }

  /// It echoes them.
  func echo(in event: ToDoEvent) -> MutationTicket? {
    event.origin?.client == client ? event.origin?.ticket : nil
  }
}

extension ToDoSource {
  func push(
    _ push: PushRequest<ToDoChange>, at finger: QueueFinger?
  ) async throws(PushFailure) -> PushAnswer {
    do throws(SyncFailure) {
      try await network.pass()
    } catch {
      throw PushFailure(error, hasLeft: false)  // It certainly never left.
    }
    for mutation in push.mutations {
      let origin = Origin(client: push.client, ticket: mutation.ticket)
      await server.commit(SentChange(mutation.change, from: origin))
    }
    return .accepted
  }
}
// Article example ends
