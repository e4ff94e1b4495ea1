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
enum Booking: ViewMutation, Codable {
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

/// Kept as JSON until the server has it.
extension Booking: Storable {}

/// Who has a desk.
func holder(of desk: String, in view: ViewMap<JSONValue>?) -> String {
  view?[ViewKey("desk/\(desk)")]?.string ?? "nobody"
}

/// The way to the server, which can be cut.
struct Link: SyncSource {
  typealias Model = ConfirmedView<Booking>
  typealias Sync = ClientView<JSONValue>

  actor Network {
    private(set) var isUp = true
    func set(up: Bool) { isUp = up }
  }

  let server: LocalSource<ConfirmedView<Booking>, ClientView<JSONValue>>
  let network: Network

  private func pass() async throws(SyncFailure) {
    if !(await network.isUp) { throw .unreachable }
  }

  func register(
    as client: ClientID
  ) async throws(SyncFailure) -> Registered<PulledView<JSONValue>, ViewFinger> {
    try await pass()
    return try await server.register(as: client)
  }

  func poll(
    after finger: ViewFinger, waits: Bool
  ) async throws(SyncFailure) -> PulledView<JSONValue> {
    try await pass()
    let pulled = try await server.poll(after: finger, waits: waits)
    try await pass()
    return pulled
  }

  func release(_ log: ViewLog) async {}

  func push(
    _ push: PushRequest<Booking>, at finger: ViewFinger?
  ) async throws(PushFailure) -> PushAnswer {
    do throws(SyncFailure) {
      try await pass()
    } catch {
      throw PushFailure(error, hasLeft: false)  // It certainly never left.
    }
    return try await server.push(push, at: finger)
  }
}

/// Why a booking is not in the view.
func why(_ left: MutationSetAside<Booking>) -> String {
  switch left.reason {
  case .threw(let refusal): refusal.code.text
  case .refused(let code): code.text
  }
}

@main struct Program {
  static func main() async throws {
    let server = LocalClientView(Desks())
    let network = Link.Network()
    let link = Link(server: server.source(for: Booking.self), network: network)
    let machine = UpdateMachine(source: link, store: MemoryStore())
    async let following: Void = machine.run()
    for await state in await machine.states() where state.view != nil { break }

    // While Ada is offline, Bob takes her desk.
    await network.set(up: false)
    let booking = try await machine.mutate(.take(desk: "A1", who: "Ada"))
    await server.change { $0.put("desk/A1", "Bob") }
    await network.set(up: true)
    await machine.networkChanged()

    if await machine.acknowledged(booking.ticket) == .setAside {
      for left in await machine.state.setAside { print("set aside: \(why(left))") }
      await machine.edit(booking.ticket, to: .take(desk: "A2", who: "Ada"))
      print(await machine.acknowledged(booking.ticket)?.description ?? "gone")
    }
    print("A1: \(holder(of: "A1", in: await machine.state.view))")
    print("A2: \(holder(of: "A2", in: await machine.state.view))")

    await machine.stop()
    await following
  }
}
