internal import SyncProtocols
internal import UpdateMachine

/// One client of a small world with everything that belongs to it: the client value, what the
/// server holds for it, its open request, its disk, and the operation of its store.
///
/// Times are relative to now, which is moment 0. Positions and event IDs are relative to the model,
/// which is at 0. The queue that the client follows is `a`. A queue from a snapshot is `b`, with
/// other event IDs. A queue that was lost and is still on the disk is `o`.
struct SmallClient: Sendable {
  typealias Sync = EventQueue<SmallEvent>
  typealias Body = SyncClient<SmallModel, Sync>
  typealias Packing = Machine<QueueFinger>.Packing

  var body: Body
  var isRunning = false
  var isAsleep = false
  /// The number of events that the server has beyond the client's model, or beyond its disk while
  /// no process runs. It means nothing without a finger.
  var behind: Int64 = 0
  var isQueueAlive = false
  /// The time since the server last noted interest in the queue, up to the queue's lifetime.
  var sinceNoted: TimeSpan = .zero
  /// Whether the saved form came with a wrong age.
  var hasWrongAge = false
  var exchange = Exchange.none
  var disk = Disk.nothing
  var operation: Operation?
  /// When the armed timer may fire, and when it must.
  var timer: MomentRange?
  /// The names of the last timer and write. A client that was packed calls them 8.
  var lastTimer = TimerID(8)
  var lastWrite = WriteID(8)
  var broken: SmallRule?
  /// The last input's row in the failure table, if it has one. Not part of the state.
  var row: UInt8?

  /// Where the open request is. If it is `none` while the machine awaits an answer, the request or
  /// the answer was lost.
  enum Exchange: Equatable {
    case none
    /// On its way to the server.
    case requested
    /// Waits at the server for news.
    case waiting
    /// A batch is on its way that ends with the event of this number; 0 stands for an empty batch.
    case batch(Int64)
    /// A batch with an event ID and nothing for the model.
    case heartbeat
    /// The answer says that the queue is gone.
    case expired
    /// A snapshot is on its way; `behind` events were committed since it was read.
    case snapshot(behind: Int64, isQueueAlive: Bool)

    /// Whether a queue was made for this request and still exists.
    var bringsQueue: Bool {
      if case .snapshot(_, let isAlive) = self { isAlive } else { false }
    }
  }

  /// What is durable.
  enum Disk: Equatable {
    case nothing
    /// A replica of the followed queue, `lag` events older than the one in memory.
    case followed(lag: Int64)
    /// A replica of a queue that is no longer followed.
    case orphan
  }

  /// What the store was asked to do and has not yet finished.
  enum Operation: Equatable {
    case load
    /// What the disk will hold.
    case save(Disk)
    case erase
  }

  static let incarnation = Incarnation(1)

  static func fresh(_ packing: Packing) -> SmallClient {
    SmallClient(body: newBody(packing.settings))
  }

  static func newBody(_ settings: MachineSettings) -> Body {
    Body(incarnation: incarnation, settings: clientSettings(settings))
  }

  private static func clientSettings(_ machine: MachineSettings) -> ClientSettings {
    var settings = ClientSettings()
    settings.machine = machine
    return settings
  }

  init(body: Body) { self.body = body }

  // MARK: Packed

  /// Packs the client into 128 bits, relative to `now` and to its model.
  func packed(at now: Moment, _ packing: Packing) -> UInt128 {
    var bits = Bits()
    bits.put(UInt64(broken?.rawValue ?? 0), width: 4)
    guard broken == nil else { return bits.word }
    bits.put(isRunning)
    bits.put(isAsleep)
    bits.put(UInt64(behind), width: 3)
    bits.put(isQueueAlive)
    let hasQueue = isQueueAlive || exchange.bringsQueue
    bits.put(UInt64(hasQueue ? sinceNoted.milliseconds : 0), width: 3)
    bits.put(hasWrongAge)
    pack(exchange, into: &bits)
    pack(disk, into: &bits)
    switch operation {
    case nil: bits.put(0, width: 2)
    case .load?: bits.put(1, width: 2)
    case .erase?: bits.put(2, width: 2)
    case .save(let disk)?:
      bits.put(3, width: 2)
      pack(disk, into: &bits)
    }
    guard isRunning else { return bits.word }
    bits.put(timer?.earliest, at: now, past: .zero, width: 5)
    bits.put(timer?.latest, at: now, past: .zero, width: 5)
    bits.put(body.finger != nil)
    bits.put(body.model != nil)
    body.pack(into: &bits, at: now, packing)
    return bits.word
  }

  init(unpacking word: UInt128, _ packing: Packing) {
    var bits = Bits(word: word)
    let broken = SmallRule(rawValue: UInt8(bits.take(width: 4)))
    let isRunning = bits.takeFlag()
    let isAsleep = bits.takeFlag()
    let behind = Int64(bits.take(width: 3))
    let isQueueAlive = bits.takeFlag()
    let sinceNoted = TimeSpan.milliseconds(Int64(bits.take(width: 3)))
    let hasWrongAge = bits.takeFlag()
    let exchange = SmallClient.takeExchange(&bits)
    let disk = SmallClient.takeDisk(&bits)
    let operation: Operation? =
      switch bits.take(width: 2) {
      case 0: nil
      case 1: .load
      case 2: .erase
      default: .save(SmallClient.takeDisk(&bits))
      }
    if isRunning {
      let earliest = bits.takeMoment(past: .zero, width: 5)
      let latest = bits.takeMoment(past: .zero, width: 5)
      if let earliest, let latest { timer = MomentRange(from: earliest, to: latest) }
      let hasFinger = bits.takeFlag()
      let hasModel = bits.takeFlag()
      body = Body(
        unpacking: &bits, model: hasModel ? SmallModel(position: 0) : nil,
        finger: hasFinger ? QueueFinger(queue: .followed, lastEventID: 0) : nil,
        incarnation: SmallClient.incarnation,
        settings: SmallClient.clientSettings(packing.settings), packing)
    } else {
      body = SmallClient.newBody(packing.settings)
    }
    self.broken = broken
    self.isRunning = isRunning
    self.isAsleep = isAsleep
    self.behind = behind
    self.isQueueAlive = isQueueAlive
    self.sinceNoted = sinceNoted
    self.hasWrongAge = hasWrongAge
    self.exchange = exchange
    self.disk = disk
    self.operation = operation
  }

  private func pack(_ exchange: Exchange, into bits: inout Bits) {
    switch exchange {
    case .none: bits.put(0, width: 3)
    case .requested: bits.put(1, width: 3)
    case .waiting: bits.put(2, width: 3)
    case .heartbeat: bits.put(3, width: 3)
    case .expired: bits.put(4, width: 3)
    case .batch(let last):
      bits.put(5, width: 3)
      bits.put(UInt64(last), width: 3)
    case .snapshot(let behind, let isQueueAlive):
      bits.put(6, width: 3)
      bits.put(UInt64(behind), width: 3)
      bits.put(isQueueAlive)
    }
  }

  private static func takeExchange(_ bits: inout Bits) -> Exchange {
    switch bits.take(width: 3) {
    case 0: return .none
    case 1: return .requested
    case 2: return .waiting
    case 3: return .heartbeat
    case 4: return .expired
    case 5: return .batch(Int64(bits.take(width: 3)))
    default:
      let behind = Int64(bits.take(width: 3))
      return .snapshot(behind: behind, isQueueAlive: bits.takeFlag())
    }
  }

  private func pack(_ disk: Disk, into bits: inout Bits) {
    switch disk {
    case .nothing: bits.put(0, width: 2)
    case .orphan: bits.put(1, width: 2)
    case .followed(let lag):
      bits.put(2, width: 2)
      bits.put(UInt64(lag), width: 3)
    }
  }

  private static func takeDisk(_ bits: inout Bits) -> Disk {
    switch bits.take(width: 2) {
    case 0: .nothing
    case 1: .orphan
    default: .followed(lag: Int64(bits.take(width: 3)))
    }
  }
}

extension QueueID {
  static let followed = QueueID("a")
  static let brought = QueueID("b")
  static let orphan = QueueID("o")
}
