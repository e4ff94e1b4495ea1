import SyncProtocols
import UpdateMachine

/// What the server does with a booking. The client runs it, too, over what it has.
struct Desks: ViewMutators {
  func run(
    _ name: String, _ arguments: JSONValue, in transaction: inout ViewTransaction<JSONValue>
  ) throws(ChangeRefusal) -> JSONValue {
    guard name == "take", let desk = arguments["desk"]?.string, let who = arguments["who"]?.string
    else { throw ChangeRefusal("MALFORMED") }
    let key = ViewKey("desk/\(desk)")
    if let holder = transaction.get(key), holder != .string(who) { throw ChangeRefusal("TAKEN") }
    transaction.put(key, .string(who))
    return "YOURS"
  }
}

/// Somebody wants a desk.
enum Booking: ViewMutation {
  case take(desk: String, who: String)

  var name: String { "take" }

  var arguments: JSONValue {
    switch self {
    case .take(let desk, let who): ["desk": .string(desk), "who": .string(who)]
    }
  }

  func apply(to view: inout ViewMap<JSONValue>) throws(ChangeRefusal) -> JSONValue {
    try view.transact { transaction throws(ChangeRefusal) in
      try Desks().run(name, arguments, in: &transaction)
    }
  }
}

/// Who has a desk.
func holder(of desk: String, in view: ViewMap<JSONValue>?) -> String {
  view?[ViewKey("desk/\(desk)")]?.string ?? "nobody"
}

@main struct Program {
  static func main() async throws {
    let server = LocalClientView(Desks())
    let machine = UpdateMachine(source: server.source(for: Booking.self))
    async let following: Void = machine.run()
    for await state in await machine.states() where state.view != nil { break }

    let booking = try await machine.mutate(.take(desk: "A1", who: "Ada"))
    print("on screen: \(holder(of: "A1", in: await machine.state.view))")
    print(await machine.acknowledged(booking.ticket)?.description ?? "gone")
    print("at the server: \(holder(of: "A1", in: await server.view))")

    await machine.stop()
    await following
  }
}
