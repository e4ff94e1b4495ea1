internal import SyncProtocols
internal import UpdateMachine

// Comparison: the room of one workload over five protocols: what users do, the network that they do
// it over, each protocol's app of items, a host for its clients, and what is counted.
//
// Comparison may use: Agenda, Ledger, Records, Run, Streams, Tables.

/// What the users of all protocols do, and what happens to their devices: decided by a seed before
/// anything runs, so it is the same for each protocol.
struct Workload: Sendable {
  struct Edit: Sendable {
    let at: Moment
    let device: Int
    let edit: ItemEdit
  }

  /// What happens to a device.
  enum Event: Sendable {
    case goesOffline
    case comesBack
    case crashes
  }

  let devices: Int
  private let seed: UInt64
  /// Ascending by moment.
  private(set) var edits: [Edit] = []
  private(set) var events: [(at: Moment, device: Int, event: Event)] = []
  /// When the server restarts and loses what it remembers of its clients.
  var restarts: [Moment]

  /// All users have stopped, all devices are back, and nothing is lost any more.
  static var calm: Moment { Moment(milliseconds: 30 * minute) }
  /// By now every device must show the same.
  static var end: Moment { Moment(milliseconds: 60 * minute) }
  private static var minute: Int64 { 60_000 }

  init(seed: UInt64, devices: Int = 4) {
    self.seed = seed
    self.devices = devices
    restarts = [10, 20].map { Moment(milliseconds: $0 * Workload.minute) }
    var random = SplitMix(StateDigest.mixed(seed ^ 0x6C62_272E_07BB_0142))
    drawEdits(&random)
    for device in 0..<devices { drawEvents(of: device, &random) }
  }

  /// Everybody edits items that anybody has made. Each value is written once.
  private mutating func drawEdits(_ random: inout SplitMix) {
    var items: [(number: Int64, madeAt: Int64)] = []
    var next: [Int64] = (0..<devices).map { _ in 5_000 + random.below(Int64(10_000)) }
    while let device = next.indices.min(by: { next[$0] < next[$1] }),
      next[device] < 28 * Self.minute
    {
      let now = next[device]
      let known = items.indices.filter { items[$0].madeAt < now - Self.minute }
      let kind = random.below(UInt64(10))
      let edit: ItemEdit
      if known.isEmpty || kind < 2 {
        let number = Int64(edits.count) + 1
        items.append((number, now))
        edit = .create(number, title: "item \(number)")
      } else {
        let index = known[Int(random.below(UInt64(known.count)))]
        let number = items[index].number
        if kind == 2 {
          items.remove(at: index)
          edit = .delete(number)
        } else {
          let field = kind < 7 ? "title" : "note"
          edit = .set(number, field: field, to: "words of device \(device), number \(edits.count)")
        }
      }
      edits.append(Edit(at: Moment(milliseconds: now), device: device, edit: edit))
      next[device] = now + 10_000 + random.below(Int64(40_000))
    }
  }

  /// A device is on line for minutes, then off line for minutes, and crashes once.
  private mutating func drawEvents(of device: Int, _ random: inout SplitMix) {
    var now = Int64(0)
    while true {
      now += 2 * Self.minute + random.below(6 * Self.minute)
      let back = now + Self.minute + random.below(4 * Self.minute)
      guard back < Workload.calm.milliseconds else { break }
      events.append((Moment(milliseconds: now), device, .goesOffline))
      events.append((Moment(milliseconds: back), device, .comesBack))
      now = back
    }
    let crash = 5 * Self.minute + random.below(20 * Self.minute)
    events.append((Moment(milliseconds: crash), device, .crashes))
  }

  /// What becomes of a request that leaves a device now.
  struct Trip: Sendable {
    /// The time from the device to the server, and that from the server to the device.
    let there: TimeSpan
    let back: TimeSpan
    let isRequestLost: Bool
    let isAnswerLost: Bool
  }

  /// The same for all requests of a device in one quarter of a second, whatever the protocol.
  func trip(of device: Int, at now: Moment) -> Trip {
    let quarter = UInt64(now.milliseconds / 250)
    var random = SplitMix(
      StateDigest.mixed(StateDigest.mixed(seed) ^ quarter << 8 ^ UInt64(device)))
    let there = TimeSpan.milliseconds(20 + random.below(Int64(100)))
    let back = TimeSpan.milliseconds(20 + random.below(Int64(100)))
    let luck = now < Workload.calm ? random.below(UInt64(40)) : 40
    return Trip(there: there, back: back, isRequestLost: luck == 0, isAnswerLost: luck == 1)
  }
}
