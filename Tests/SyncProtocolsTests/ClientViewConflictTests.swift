import SyncProtocols
import Testing
import UpdateMachine

/// Reserves an hour, which somebody else may have reserved meanwhile.
struct Reservations: ViewMutators {
  func run(
    _ name: String, _ arguments: JSONValue, in transaction: inout ViewTransaction<JSONValue>
  ) throws(ChangeRefusal) -> JSONValue {
    guard name == "reserve", let hour = arguments["hour"]?.int64, let who = arguments["who"]?.string
    else { throw ChangeRefusal("reserve takes an hour and who wants it") }
    let slot = ViewKey("hour/\(hour)")
    let isFree = !transaction.has(slot)
    if isFree { transaction.put(slot, .string(who)) }
    let status: JSONValue = isFree ? "RESERVED" : "UNAVAILABLE"
    transaction.put(ViewKey("status/\(who)"), status)
    return status
  }
}

/// An intent has the effects that fit the state on which it runs.
struct ClientViewConflictTests {
  @Test func `an hour is RESERVED here, and UNAVAILABLE once the others are known`() throws {
    let (me, mutators) = (ClientID(1), Reservations())
    var dataLayer = DataLayer(mutators)
    var diffServer = DiffServer<JSONValue>(epoch: 1)
    var confirmed = try ClientViewModel(snapshot: try diffServer.pull(nil, dataLayer.view(for: me)))

    // Offline, we reserve 9 o'clock. The mutation runs on our state, and is kept as an intent.
    let wish = NamedMutation(
      id: MutationID(1), name: "reserve", arguments: ["hour": 9, "who": "me"])
    var view = confirmed.view
    try view.transact { transaction throws(ChangeRefusal) in
      try mutators.run(wish.name, wish.arguments, in: &transaction)
    }
    #expect(view["status/me"] == "RESERVED")

    // Somebody else was first, and we learn that before our push arrives.
    dataLayer.change { $0.put("hour/9", "Ada") }
    try confirmed.apply(
      try diffServer.pull(confirmed.finger.state, dataLayer.view(for: me)))

    // Our wish is replayed on the new state, where it has other effects.
    #expect(wish.id > confirmed.lastMutation)
    view = confirmed.view
    try view.transact { transaction throws(ChangeRefusal) in
      try mutators.run(wish.name, wish.arguments, in: &transaction)
    }
    #expect(view["status/me"] == "UNAVAILABLE")
    #expect(view["hour/9"] == "Ada")

    // The push arrives. The data layer runs it, too, and its result counts.
    let push = MutationPush(client: me, knownRefusal: .none, mutations: [wish])
    #expect(dataLayer.run(push) == .accepted)
    try confirmed.apply(
      try diffServer.pull(confirmed.finger.state, dataLayer.view(for: me)))
    #expect(confirmed.lastMutation == wish.id)  // Nothing is left to replay.
    #expect(confirmed.view.text == "hour/9=\"Ada\" status/me=\"UNAVAILABLE\"")
    #expect(confirmed.view == view)
  }
}
