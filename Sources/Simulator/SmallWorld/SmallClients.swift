internal import UpdateMachine

/// The clients that occur in a crowd, by number, and their steps by number.
///
/// A client's steps depend on nothing but the client, so they are worked out once, not again in
/// each state of the crowd. And a state is a few numbers: different states have different ones, so
/// none is taken for another.
///
/// What it holds is only remembered: it changes no answer.
final class SmallClients {
  /// The world of one of them.
  let world: SmallWorld
  /// The clients, packed, by number.
  private var words: [UInt128] = []
  private var records: [Record] = []
  /// The steps of all clients whose steps are worked out.
  private var steps: [Step] = []
  /// Numbers, each plus one, in the slots that the clients' fingerprints say; 0: free.
  private var slots: [UInt32] = Array(repeating: 0, count: 1 << 10)

  /// What is known of a client.
  struct Record {
    var facts: Facts
    var stepCount: UInt8 = 0
    var firstStep: UInt32 = 0
    /// The client when the server has committed an event.
    var heard = SmallClients.nobody
    /// The client when a tick has passed.
    var ticked = SmallClients.nobody
    /// The client after what happens at once when all is calm; `nobody`: it waits for time to pass.
    var calm = SmallClients.nobody
    /// The client after its timer has fired; `nobody`: it cannot fire yet.
    var fired = SmallClients.nobody
  }

  struct Facts: OptionSet {
    var rawValue: UInt8
    /// It has broken a rule, or is another client when it is packed again.
    static let isWrong = Facts(rawValue: 1)
    static let isBroken = Facts(rawValue: 2)
    static let isSettled = Facts(rawValue: 4)
    /// See ``SmallWorld/mayHear(_:)``.
    static let mayHear = Facts(rawValue: 8)
    /// A timer must fire before time passes.
    static let mustAct = Facts(rawValue: 16)
    /// Its steps are worked out, and what it hears.
    static let hasSteps = Facts(rawValue: 32)
    /// Its calm steps are worked out, and its tick.
    static let hasCalmSteps = Facts(rawValue: 64)
    /// See ``SmallClient/isBetweenPolls``.
    static let isBetweenPolls = Facts(rawValue: 128)
  }

  /// A step of one client: the client that it leads to, and what it reached.
  struct Step {
    private let bits: UInt32

    init(to number: UInt32, status: Int, row: UInt8?) {
      // The largest world has 2,579,186 clients.
      precondition(number < Step.limit, "the number fits into its bits")
      bits = number | UInt32(status) << 22 | UInt32(row ?? Step.noRow) << 26
    }

    static var limit: UInt32 { 1 << 22 }
    private static var noRow: UInt8 { 63 }

    var number: UInt32 { bits & (Step.limit - 1) }

    /// As in ``SmallWorld/Step/coverage``.
    var coverage: UInt64 {
      let row = bits >> 26
      let status: UInt64 = 1 << UInt64((bits >> 22) & 15)
      return row == UInt32(Step.noRow) ? status : status | 1 << (UInt64(row) + 16)
    }
  }

  /// The number of no client.
  static var nobody: UInt32 { .max }

  /// - Parameter world: the world of one client.
  init(_ world: SmallWorld) {
    self.world = world
    for state in world.initialStates { _ = number(of: state) }
  }

  /// How many clients have a number.
  var count: Int { words.count }

  var bytes: UInt64 {
    let perClient = words.capacity * 16 + records.capacity * MemoryLayout<Record>.stride
    return UInt64(perClient + steps.capacity * 4 + slots.capacity * 4)
  }

  /// A client, packed.
  func word(of number: UInt32) -> UInt128 { words[Int(number)] }

  /// What is known of a client without working anything out.
  @inline(__always)
  func facts(of number: UInt32) -> Facts { records[Int(number)].facts }

  /// What is known of a client, with its steps.
  @inline(__always)
  func withSteps(_ number: UInt32) -> Record {
    let record = records[Int(number)]
    return record.facts.contains(.hasSteps) ? record : workOutSteps(of: number)
  }

  /// What is known of a client, with its calm steps.
  @inline(__always)
  func withCalmSteps(_ number: UInt32) -> Record {
    let record = records[Int(number)]
    return record.facts.contains(.hasCalmSteps) ? record : workOutCalmSteps(of: number)
  }

  @inline(__always)
  func step(_ index: Int) -> Step { steps[index] }

  // MARK: Working out

  @inline(never)
  private func workOutSteps(of number: UInt32) -> Record {
    let client = world.client(of: word(of: number))
    var record = records[Int(number)]
    record.firstStep = UInt32(steps.count)
    client.forEachHappening(SmallWorld.ages) { _, next in
      let step = Step(
        to: self.number(of: world.judged(next)), status: next.body.status.code, row: next.row)
      steps.append(step)
    }
    record.stepCount = UInt8(steps.count - Int(record.firstStep))
    if world.mayHear(client) {
      record.facts.insert(.mayHear)
      record.heard = self.number(of: world.heard(client))
    }
    if client.mustAct {
      record.facts.insert(.mustAct)
    } else {
      record.ticked = self.number(of: world.ticked(client))
    }
    record.facts.insert(.hasSteps)
    records[Int(number)] = record
    return record
  }

  @inline(never)
  private func workOutCalmSteps(of number: UInt32) -> Record {
    let client = world.client(of: word(of: number))
    var record = records[Int(number)]
    if let (_, next) = client.calmHappening {
      record.calm = self.number(of: world.packed(next))
    } else {
      if let fired = client.afterTimer { record.fired = self.number(of: world.packed(fired)) }
      record.ticked = self.number(of: world.ticked(client))
    }
    record.facts.insert(.hasCalmSteps)
    records[Int(number)] = record
    return record
  }

  /// The number of a client, which is a new one if it has not occurred before.
  func number(of word: UInt128) -> UInt32 {
    var slot = Int(truncatingIfNeeded: word.fingerprint) & (slots.count - 1)
    while slots[slot] != 0 {
      let number = slots[slot] - 1
      if words[Int(number)] == word { return number }
      slot = (slot + 1) & (slots.count - 1)
    }
    let number = UInt32(words.count)
    slots[slot] = number + 1
    words.append(word)
    var facts: Facts = []
    if world.violation(of: word) != nil { facts.insert(.isWrong) }
    if world.broken(in: word) != nil { facts.insert(.isBroken) }
    if world.isSettled(word) { facts.insert(.isSettled) }
    if !facts.contains(.isBroken), world.client(of: word).isBetweenPolls {
      facts.insert(.isBetweenPolls)
    }
    records.append(Record(facts: facts))
    if words.count > slots.count / 2 { growSlots() }
    return number
  }

  private func growSlots() {
    slots = Array(repeating: 0, count: slots.count * 2)
    for (number, word) in words.enumerated() {
      var slot = Int(truncatingIfNeeded: word.fingerprint) & (slots.count - 1)
      while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
      slots[slot] = UInt32(number) + 1
    }
  }
}
