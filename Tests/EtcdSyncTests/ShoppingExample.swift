// Article example begins: shopping
import EtcdSync
import SyncProtocols
import UpdateMachine

/// What a user does to the list. It says what is meant, and runs anew over what others have done.
enum Errand: EtcdMutation {
  case add(String)
  case buy(String)

  var name: String { if case .add = self { "add" } else { "buy" } }

  func apply(to view: inout EtcdView) throws(ChangeRefusal) {
    switch self {
    case .add(let thing): try view.put("wanted", for: EtcdKey(thing))
    case .buy(let thing):
      guard view[EtcdKey(thing)]?.text == "wanted" else { throw ChangeRefusal("NOT_WANTED") }
      try view.put("bought", for: EtcdKey(thing))
    }
  }
}

/// Shows the list whenever it changes, buys what others add to it, and ends when all is bought.
func shop(at members: [String], show: (String) -> Void) async throws {
  let cluster = try EtcdConnection(to: members)
  let source = try EtcdSource(cluster, prefix: "shopping/", for: EtcdModel<Errand>.self)
  let machine = UpdateMachine(source: source)
  async let following: Void = machine.run()
  for await state in await machine.states() {
    // What is known of the cluster, with the changes that were made here and are not sent yet.
    guard let list = state.view?.entries(), !list.isEmpty else { continue }
    let isCurrent = state.freshness.claim == .connected
    show(isCurrent ? "up to date" : "not connected")
    for (thing, entry) in list { show("\(thing): \(entry.text ?? "")") }
    // Others may have bought it by the time that the change arrives. Then it is set aside.
    for late in state.setAside { _ = await machine.discard(late.ticket) }
    if let wanted = list.first(where: { $0.entry.text == "wanted" })?.key.text {
      do throws(MutationError<ChangeRefusal>) {
        // Shown at once, and sent when there is a connection.
        _ = try await machine.mutate(.buy(wanted))
      } catch {
        show("\(wanted): \(error)")  // Somebody was faster: a newer state is on its way.
      }
    } else if isCurrent, state.pending.isEmpty {
      break
    }
  }
  await machine.stop()
  await following
}
// Article example ends
