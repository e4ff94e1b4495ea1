internal import SyncProtocols
internal import UpdateMachine

/// The state of a small view at one moment, which counts as moment 0: client, disk, network and
/// data layer.
struct SmallViewRun: Sendable {
  typealias Sync = ClientView<SmallList>
  typealias Body = SyncClient<SmallReplica, Sync>
  typealias Packing = Machine<ViewFinger>.Packing

  let world: SmallView
  var body: Body
  var isRunning = false
  /// The earliest moments at which the timers of machine, outbox and storage may fire.
  var timers: [Moment?] = [nil, nil, nil]
  /// The names of the last timers, the last write and the last push. A client that was packed calls
  /// all of them 8.
  var lastTimers = [
    TimerID(part: .machine, 8), TimerID(part: .outbox, 8), TimerID(part: .storage, 8),
  ]
  var lastWrite = WriteID(8)
  var lastPush = RequestID(incarnation: SmallView.incarnation, part: .outbox, number: 8)
  var operation: Operation?
  /// What is durable, packed; `nil` if nothing is.
  var disk: UInt64?
  /// The open push.
  var push: Push?
  /// Pushes that were sent and may arrive at any time, any number of times; sorted by
  /// ``SmallPush/code``.
  var underWay: [SmallPush] = []
  var dataLayer = SmallDataLayer()
  var refusalsLeft: UInt64
  /// Changes that the user was told are stored, one bit each.
  var stored: UInt64 = 0
  /// Changes that were discarded while a copy may have been at the server.
  var copies: UInt64 = 0
  var broken: SmallViewRule?

  /// What the store was asked to do and has not yet finished.
  enum Operation: Equatable {
    case load
    /// What the disk will hold.
    case save(UInt64)
  }

  /// The push that the outbox waits for.
  struct Push: Equatable {
    var content: SmallPush
    var hasLeft = false
    /// Answers on their way.
    var isAccepted = false
    /// The refused ID, or 0 for none.
    var refused: UInt64 = 0
  }

  init(in world: SmallView) {
    self.world = world
    body = Body(incarnation: SmallView.incarnation, settings: SmallView.clientSettings)
    refusalsLeft = UInt64(world.refusals)
  }

  var tickets: UInt64 { UInt64(world.changes) }

  // MARK: Packed

  func packed(at now: Moment) -> SmallView.State {
    var state = SmallView.State(client: 0, outbox: 0, server: 0, network: 0)
    var bits = Bits()
    bits.put(UInt64(broken?.rawValue ?? 0), width: 4)
    guard broken == nil else {
      state.client = bits.word
      return state
    }
    bits.put(isRunning)
    if isRunning {
      for timer in timers { bits.put(timer, at: now, past: .zero, width: 3) }
      bits.put(body.model.map { $0.confirmation.last.number + 1 } ?? 0, width: 4)
      bits.put(body.finger != nil)
      body.pack(into: &bits, at: now, SmallView.packing)
      var outbox = Bits()
      body.packOutbox(into: &outbox, at: now, tickets: tickets)
      state.outbox = outbox.word
    }
    state.client = bits.word
    state.server = packedServer
    state.network = packedNetwork
    return state
  }

  /// The data layer, the client's knowledge of it, and the disk.
  private var packedServer: UInt128 {
    var bits = Bits()
    bits.put(dataLayer.count, width: 3)
    bits.put(dataLayer.fates, width: 14)
    bits.put(refusalsLeft, width: 2)
    bits.put(stored, width: 3)
    bits.put(copies, width: 3)
    bits.put(disk != nil)
    if let disk { bits.put(disk, width: SmallViewRun.diskWidth) }
    switch operation {
    case nil: bits.put(0, width: 2)
    case .load: bits.put(1, width: 2)
    case .save(let form):
      bits.put(2, width: 2)
      bits.put(form, width: SmallViewRun.diskWidth)
    }
    return bits.word
  }

  static var diskWidth: UInt8 { 48 }

  private var packedNetwork: UInt128 {
    var bits = Bits()
    bits.put(push != nil)
    if let push {
      push.content.pack(into: &bits)
      bits.put(push.hasLeft)
      bits.put(push.isAccepted)
      bits.put(push.refused, width: 3)
    }
    bits.put(UInt64(underWay.count), width: 3)
    for push in underWay { push.pack(into: &bits) }
    return bits.word
  }

  init(unpacking state: SmallView.State, in world: SmallView) {
    self.init(in: world)
    var client = Bits(word: state.client)
    broken = SmallViewRule(rawValue: UInt8(client.take(width: 4)))
    guard broken == nil else { return }
    isRunning = client.takeFlag()
    unpackServer(state.server)
    unpackNetwork(state.network)
    guard isRunning else { return }
    for index in timers.indices { timers[index] = client.takeMoment(past: .zero, width: 3) }
    let count = client.take(width: 4)
    let hasFinger = client.takeFlag()
    let model = count == 0 ? nil : replica(asOf: count - 1)
    body = Body(
      unpacking: &client, model: model, finger: hasFinger ? finger(asOf: count - 1) : nil,
      incarnation: SmallView.incarnation, settings: SmallView.clientSettings, SmallView.packing)
    var outbox = Bits(word: state.outbox)
    body.unpackOutbox(from: &outbox, tickets: tickets) { SmallEdit(number: $0.number) }
  }

  private mutating func unpackServer(_ word: UInt128) {
    var bits = Bits(word: word)
    dataLayer.count = bits.take(width: 3)
    dataLayer.fates = bits.take(width: 14)
    refusalsLeft = bits.take(width: 2)
    stored = bits.take(width: 3)
    copies = bits.take(width: 3)
    if bits.takeFlag() { disk = bits.take(width: SmallViewRun.diskWidth) }
    switch bits.take(width: 2) {
    case 0: operation = nil
    case 1: operation = .load
    default: operation = .save(bits.take(width: SmallViewRun.diskWidth))
    }
  }

  private mutating func unpackNetwork(_ word: UInt128) {
    var bits = Bits(word: word)
    if bits.takeFlag() {
      var out = Push(content: SmallPush(unpacking: &bits))
      out.hasLeft = bits.takeFlag()
      out.isAccepted = bits.takeFlag()
      out.refused = bits.take(width: 3)
      push = out
    }
    for _ in 0..<bits.take(width: 3) { underWay.append(SmallPush(unpacking: &bits)) }
  }

  // MARK: Models and forms

  /// The replica of a client that has the data layer's state after the first `count` IDs.
  func replica(asOf count: UInt64) -> SmallReplica {
    let pulled = dataLayer.pulled(asOf: count, known: nil)
    guard let replica = try? SmallReplica(snapshot: pulled) else {
      preconditionFailure("a view that was pulled can be held")
    }
    return replica
  }

  func finger(asOf count: UInt64) -> ViewFinger { dataLayer.pulled(asOf: count, known: nil).finger }

  /// A saved form, packed.
  func packed(_ saved: Body.Saved) -> UInt64? {
    guard let outbox = saved.outbox else { return nil }
    var bits = Bits()
    bits.put(saved.model.confirmation.last.number, width: 3)
    bits.put(saved.finger != nil)
    outbox.packSaved(into: &bits, tickets: tickets)
    precondition(bits.count <= Int(SmallViewRun.diskWidth), "a form is larger than its place")
    return UInt64(truncatingIfNeeded: bits.word)
  }

  func saved(_ form: UInt64) -> Body.Saved {
    var bits = Bits(word: UInt128(form))
    let count = bits.take(width: 3)
    let hasFinger = bits.takeFlag()
    let outbox = Outbox<SmallEdit>(
      unpackingSaved: &bits, of: SmallView.client, tickets: tickets,
      settings: SmallView.outboxSettings
    ) { SmallEdit(number: $0.number) }
    return Body.Saved(
      model: replica(asOf: count), finger: hasFinger ? finger(asOf: count) : nil,
      terms: SmallView.terms, outbox: outbox)
  }

  // MARK: Coverage

  /// Which of ``SmallView/names`` this state reaches, one bit each.
  var coverage: UInt64 {
    guard isRunning, broken == nil, let outbox = body.local?.outbox else { return 0 }
    var bits: UInt64 = 1 << UInt64(SmallViewRun.code(of: outbox.status))
    for ticket in 1...tickets {
      switch outbox.state(of: MutationTicket(ticket)) {
      case .queued: bits |= 1 << 6
      case .sent: bits |= 1 << 7
      case .setAside: bits |= 1 << 8
      case .acknowledged: bits |= 1 << 9
      case .discarded: bits |= 1 << 10
      case .uncertain, .overruled, nil: break
      }
    }
    if let disk, disk >> 3 & 1 == 0 { bits |= 1 << 11 }
    return bits
  }

  private static func code(of status: OutboxStatus) -> Int {
    switch status {
    case .resting: 0
    case .storing: 1
    case .pushing: 2
    case .waiting: 3
    case .pausing: 3  // Nothing is paced in a small view.
    case .confirming: 4
    case .halted: 5
    }
  }
}
