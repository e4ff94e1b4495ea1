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

@main struct Program {
  static func main() async throws {
    let server = LocalClientView(Desks())
    let store = MemoryStore()
    let network = Link.Network()
    let link = Link(server: server.source(for: Booking.self), network: network)

    // The first start.
    let first = UpdateMachine(source: link, store: store)
    async let following: Void = first.run()
    for await state in await first.states() where state.view != nil { break }
    await network.set(up: false)
    let booking = try await first.mutate(.take(desk: "A1", who: "Ada"))
    print("stored: \(await first.stored(booking.ticket))")
    await first.stop()
    await following
    print("at the server: \(holder(of: "A1", in: await server.view))")

    // The second start.
    await network.set(up: true)
    let second = UpdateMachine(source: link, store: store)
    async let followingAgain: Void = second.run()
    for await state in await second.states() where state.view != nil {
      print("on screen: \(holder(of: "A1", in: state.view))")
      break
    }
    print(await second.acknowledged(booking.ticket)?.description ?? "gone")
    print("at the server: \(holder(of: "A1", in: await server.view))")
    await second.stop()
    await followingAgain
  }
}
