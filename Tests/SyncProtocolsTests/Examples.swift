import MessageSync
import SyncProtocols
import UpdateMachine

// Apps that are as small as possible. The documentation quotes some of them.

/// A server's state: one number. Events add to it.
struct Counter: ServerTruth {
  var count = 0

  var snapshot: Int { count }
  var checksum: UInt64 { UInt64(bitPattern: Int64(count)) }
  mutating func apply(_ event: Int) { count += event }
  static func merged(_ pending: Int, _ newer: Int) -> Int? { nil }
  static func isDeletion(_ event: Int) -> Bool { false }
}

/// An app's model of the number.
struct CounterModel: SyncModel, Equatable {
  typealias Refusal = Never
  var count: Int

  init(snapshot: Int) { count = snapshot }
  mutating func apply(_ event: Int) { count += event }
}

// MARK: One account, two machines

/// A server's state: names, in the order in which people joined.
struct Directory: ServerTruth, Equatable {
  var names: [String] = []

  var snapshot: [String] { names }
  var checksum: UInt64 {
    names.reduce(UInt64(names.count)) { sum, name in
      name.utf8.reduce(sum) { StateDigest.mixed($0 ^ UInt64($1)) }
    }
  }
  mutating func apply(_ event: String) { names.append(event) }
  static func merged(_ pending: String, _ newer: String) -> String? { nil }
  static func isDeletion(_ event: String) -> Bool { false }
}

/// The people of the account. It is worth keeping.
struct DirectoryModel: SyncModel, Equatable {
  typealias Refusal = Never
  var names: [String]

  init(snapshot: [String]) { names = snapshot }
  mutating func apply(_ event: String) { names.append(event) }
}

/// There are few people, so one row holds them all.
extension DirectoryModel: StorableModel {
  func store(since old: DirectoryModel?, into rows: inout RowWriter) {
    rows.put(.firstOfModel, names, since: old?.names)
  }

  init(stored rows: RowReader) throws(StoredFormError) {
    names = try rows.value(of: .firstOfModel) ?? []
  }
}

/// One account with two machines side by side, each with a log of its own on the server. The
/// directory outlives the process; presence is worth nothing after a restart. The number of people
/// present is a ``Counter``.
struct Account: Sendable {
  typealias DirectorySource = LocalEventQueueSource<Directory, DirectoryModel>
  typealias PresenceSource = LocalEventQueueSource<Counter, CounterModel>

  let directory: UpdateMachine<DirectorySource>
  let presence: UpdateMachine<PresenceSource>

  init(
    directory: DirectorySource, presence: PresenceSource,
    store: any SyncStore
  ) {
    self.directory = UpdateMachine(source: directory, store: store)
    self.presence = UpdateMachine(source: presence)
  }

  /// Follows until the surrounding task is cancelled, or ``stop()`` or ``logOut()`` is called.
  func run(inForeground: Bool = true) async {
    async let directory: Void = directory.run(inForeground: inForeground)
    async let presence: Void = presence.run(inForeground: inForeground)
    _ = await (directory, presence)
  }

  func stop() async {
    await directory.stop()
    await presence.stop()
  }

  func logOut() async throws(StoreError) {
    try await presence.logOut()
    try await directory.logOut()
  }
}

// MARK: Windows

/// A server's messages. More are added over time.
struct Postbox: ServerTruth {
  typealias Narrow = MessageFilter<String>
  var messages: [ChatMessage<String>] = []

  /// A snapshot has only the channels that the user follows. Messages come by pages.
  var snapshot: [ChannelID] { [Postbox.general] }
  var checksum: UInt64 { UInt64(messages.count) }
  mutating func apply(_ event: MessageEvent<String>) {
    if case .new(let message) = event { messages.append(message) }
  }

  static let general = ChannelID(1)
  static func message(_ number: Int64, _ text: String) -> ChatMessage<String> {
    ChatMessage(
      id: MessageID(number), sender: UserID(1), place: .channel(general, topic: "lunch"),
      content: text)
  }

  /// The newest messages of a list, which is all that the example asks for.
  func page(_ request: PageRequest<Narrow, MessageID>) throws(SyncFailure) -> MessagePage<String> {
    guard let narrow = request.narrow, case .about(.newest, let before, _) = request.want else {
      throw .rejected(RejectionCode("NOT_HERE"))
    }
    let all = messages.filter { narrow.verdict(on: PartialMessage($0)) == .yes }
    return MessagePage(
      messages: all.suffix(Int(before)), foundOldest: all.count < before, foundNewest: true)
  }
}

/// An app's model, which holds a part of the messages.
struct PostboxModel: MessageModel {
  typealias Narrow = Postbox.Narrow
  typealias Refusal = Never
  var lists: MessageStore<Postbox.Narrow>

  init(snapshot: [ChannelID]) { lists = MessageStore(following: snapshot) }
  init(snapshot: [ChannelID], replacing old: PostboxModel?) {
    self.init(snapshot: snapshot)
    if let old { lists = MessageStore(following: snapshot, after: old.lists) }
  }
  mutating func apply(_ event: MessageEvent<String>) { lists.apply(event) }
}

/// A source with pages besides the log.
struct PostboxSource: SyncSource {
  typealias Model = PostboxModel
  typealias Sync = EventQueue<MessageEvent<String>>
  let server: LocalEventQueue<Postbox>
  private var log: LocalEventQueueSource<Postbox, PostboxModel> { server.source(for: Model.self) }

  init(_ server: LocalEventQueue<Postbox>) { self.server = server }

  func page(
    _ request: PageRequest<Postbox.Narrow, MessageID>
  ) async throws(SyncFailure) -> MessagePage<String> {
    try await server.truth.page(request)
  }
  func register(
    as client: ClientID
  ) async throws(SyncFailure) -> Registered<[ChannelID], QueueFinger> {
    try await log.register(as: client)
  }
  func poll(
    after finger: QueueFinger, waits: Bool
  ) async throws(SyncFailure) -> QueueBatch<MessageEvent<String>> {
    try await log.poll(after: finger, waits: waits)
  }
  func release(_ queue: QueueID) async { await log.release(queue) }
}

// MARK: Local changes

// Article example begins: mutation
/// Somebody wants an hour. Client and server run the same mutator, each over its own state.
enum Wish: ViewMutation {
  case reserve(hour: Int64, who: String)

  var name: String { "reserve" }

  var arguments: JSONValue {
    switch self {
    case .reserve(let hour, let who):
      ["hour": JSONValue(integerLiteral: hour), "who": .string(who)]
    }
  }

  func apply(to view: inout ViewMap<JSONValue>) throws(ChangeRefusal) -> JSONValue {
    try view.transact { transaction throws(ChangeRefusal) in
      try Reservations().run(name, arguments, in: &transaction)
    }
  }
}
// Article example ends

/// The form in which a wish is saved until the server has it.
extension Wish: Storable {
  func put(into bytes: inout ByteWriter) {
    switch self {
    case .reserve(let hour, let who):
      bytes.put(hour)
      bytes.put(who)
    }
  }

  init(from bytes: inout ByteReader) throws(StoredFormError) {
    self = .reserve(hour: try bytes.take(), who: try bytes.take())
  }
}

/// Asks who has an hour.
struct Hour: ViewQuery {
  var hour: Int64
  func answer(in view: ViewMap<JSONValue>) -> String {
    view[ViewKey("hour/\(hour)")]?.string ?? "free"
  }
}

// MARK: An app that owns the loop

/// An app that keeps the replica in its own store, has no use for actors, and drives the client
/// itself. Every input goes through ``feed(_:)``. The app performs the effects by its own means:
/// here a server in the same process, and a store that is a value.
struct HandDrivenApp {
  typealias Client = SyncClient<CounterModel, EventQueue<Int>>

  /// The app's own store. It holds the replica beside whatever else the app keeps, and writes both
  /// in one step.
  struct Store {
    var replica: Client.Saved?
    var drafts: [String] = []
  }

  /// What is under way. There is never more than one of each.
  private(set) var timer: (id: TimerID, at: Moment)?
  private(set) var request: Client.Effect?
  private(set) var client: Client
  var store: Store
  var now: Moment

  /// - Parameter incarnation: a number that no earlier start of this app had.
  init(store: Store, incarnation: Incarnation, at now: Moment) {
    self.store = store
    self.now = now
    client = Client(incarnation: incarnation)
    feed(.app(.started(foreground: true)))
  }

  /// Feeds one input and performs its effects, in order. The store answers at once.
  mutating func feed(_ input: Client.Input) {
    var inputs = [input]
    while !inputs.isEmpty {
      for effect in client.handle(inputs.removeFirst(), at: now).list {
        switch effect {
        case .cancel: request = nil
        case .disarm: timer = nil
        case .load: inputs.append(.loaded(store.replica, age: .zero))
        case .save(let write):
          store.replica = client.saved
          inputs.append(.written(write))
        case .erase:
          store.replica = nil
          inputs.append(.erased(succeeded: true))
        case .register, .poll: request = effect
        case .arm(let id, let range): timer = (id, range.latest)
        // These are for the app's log and for the server. Neither is answered.
        case .report, .release: break
        // These never come, because this model is loaded as a whole, takes no changes, and holds
        // everything.
        case .read, .push, .fetch: break
        }
      }
    }
  }

  /// Sends the server the open request. Returns `false` if there is none, or if it waits for news.
  mutating func ask(_ server: inout EventQueueServer<Counter>) -> Bool {
    switch request {
    case .register(let id):
      guard case .success(let queue) = server.beginRegister(at: now),
        case .registered(let count, let finger, let terms) = server.finishRegister(queue, at: now)
      else { return false }
      request = nil
      feed(.snapshotArrived(id, count, finger: finger, terms: terms))
    case .poll(let id, let finger, let waits):
      let reply = server.poll(
        finger, waits: waits, waiter: 1, heartbeatAfter: .seconds(50), at: now)
      guard let reply else {
        server.abandon(waiter: 1)
        return false
      }
      request = nil
      if case .batch(let batch) = reply {
        feed(.batchArrived(id, batch))
      } else {
        feed(.failed(id, reply.failure() ?? .malformed, hasLeft: true))
      }
    default: return false
    }
    return true
  }

  /// Lets time pass until the timer is due, and fires it.
  mutating func sleep() {
    guard let (id, moment) = timer else { return }
    now = max(now, moment)
    timer = nil
    feed(.fired(id))
  }
}
