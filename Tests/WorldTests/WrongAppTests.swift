import SyncProtocols
import Testing
import UpdateMachine

@testable import Simulator

/// Tests that the simulator can find something wrong with a client. The machine cannot be made
/// wrong from here, but an app's model can.
struct WrongAppTests {
  private func findings<Wrong: Flaw>(_ flaw: Wrong.Type, seeds: UInt64 = 40) -> [Finding] {
    (1...seeds).compactMap { seed in
      var world = World<Shop<Wrong>>(
        configuration: SimulationConfiguration(seed: seed), choices: Choices(seed: seed))
      return world.run().finding
    }
  }

  @Test func `a correct model passes`() {
    #expect(findings(Flawless.self) == [])
  }

  @Test func `a model that forgets a deletion is found`() {
    let found = findings(ForgetsDeletions.self)
    #expect(found.count > 25)
    #expect(found.allSatisfy { $0.oracle == .replica })
  }

  @Test func `a model that applies an edit twice is found`() {
    let found = findings(EditsTwice.self)
    #expect(found.count > 30)
    #expect(found.allSatisfy { $0.oracle == .replica })
  }

  @Test func `a model that loses the settings of a snapshot is found`() {
    let found = findings(LosesSettings.self)
    #expect(found.count > 30)
    #expect(found.allSatisfy { $0.oracle == .replica })
  }

  @Test func `a model that goes wrong in one case of many is found by some seed`() {
    let found = findings(SeldomWrong.self, seeds: 120)
    #expect((1..<120).contains(found.count))
    #expect(found.allSatisfy { $0.oracle == .replica })
  }

  @Test func `a model that takes no snapshot never becomes up to date, and that is found`() {
    let found = findings(RefusesSnapshots.self, seeds: 10)
    #expect(found.count == 10)
    #expect(found.allSatisfy { $0.oracle == .liveness })
  }

  @Test func `a finding says what the server had and what the client showed`() throws {
    let finding = try #require(findings(ForgetsDeletions.self).first)
    #expect(finding.expected.contains("stock") && finding.found.contains("stock"))
    #expect(finding.expected != finding.found)
    #expect(finding.client != nil)
  }
}

/// What a model does wrong.
private protocol Flaw: Sendable {
  static func take(_ state: Stock) throws(StockRefusal) -> Stock
  static func apply(_ event: StockEvent, to stock: inout Stock)
}

extension Flaw {
  static func take(_ state: Stock) throws(StockRefusal) -> Stock { state }
  static func apply(_ event: StockEvent, to stock: inout Stock) { stock.apply(event) }
}

private enum Flawless: Flaw {}

private enum ForgetsDeletions: Flaw {
  static func apply(_ event: StockEvent, to stock: inout Stock) {
    if case .empty = event { return }
    stock.apply(event)
  }
}

private enum EditsTwice: Flaw {
  static func apply(_ event: StockEvent, to stock: inout Stock) {
    stock.apply(event)
    if case .add = event { stock.apply(event) }
  }
}

private enum LosesSettings: Flaw {
  static func take(_ state: Stock) throws(StockRefusal) -> Stock {
    var state = state
    state.settings = [:]
    return state
  }
}

private enum SeldomWrong: Flaw {
  static func apply(_ event: StockEvent, to stock: inout Stock) {
    if case .add(3, 9) = event { return }
    stock.apply(event)
  }
}

private enum RefusesSnapshots: Flaw {
  static func take(_ state: Stock) throws(StockRefusal) -> Stock { throw StockRefusal() }
}

private struct StockRefusal: Error {}

private enum StockEvent: Hashable, Sendable {
  case add(shelf: Int, count: Int)
  case empty(shelf: Int)
  case set(key: Int, value: Int)
}

/// A shop's stock: how much is on each shelf, and some settings.
private struct Stock: ServerTruth, Hashable, CustomStringConvertible {
  var shelves: [Int: Int] = [:]
  var settings: [Int: Int] = [:]

  var snapshot: Stock { self }

  var checksum: UInt64 {
    var digest = StateDigest()
    for list in [shelves, settings] {
      for (key, value) in list.sorted(by: { $0.key < $1.key }) {
        digest.fold(Int64(key))
        digest.fold(Int64(value))
      }
      digest.fold(Int64(-1))
    }
    return digest.value
  }

  mutating func apply(_ event: StockEvent) {
    switch event {
    case .add(let shelf, let count): shelves[shelf, default: 0] += count
    case .empty(let shelf): shelves[shelf] = nil
    case .set(let key, let value): settings[key] = value
    }
  }

  static func merged(_ pending: StockEvent, _ newer: StockEvent) -> StockEvent? { nil }

  static func isDeletion(_ event: StockEvent) -> Bool {
    if case .empty = event { true } else { false }
  }

  var description: String {
    "stock \(shelves.sorted { $0.key < $1.key }), \(settings.sorted { $0.key < $1.key })"
  }
}

private struct StockModel<Wrong: Flaw>: SyncModel {
  var stock: Stock

  init(snapshot: Stock) throws(StockRefusal) { stock = try Wrong.take(snapshot) }

  mutating func apply(_ event: StockEvent) throws(StockRefusal) {
    Wrong.apply(event, to: &stock)
  }
}

private enum Shop<Wrong: Flaw>: SimulatedApp {
  typealias Model = StockModel<Wrong>

  static func beginning(_ choices: inout Choices) -> Stock {
    Stock(shelves: [1: 5], settings: [0: 1])
  }

  static func nextEvent(_ truth: Stock, _ choices: inout Choices) -> StockEvent {
    let shelf = Int(choices.draw(.workload, below: 5))
    switch choices.draw(.workload, below: 4) {
    case 0: return .set(key: shelf, value: Int(choices.draw(.workload, below: 100)))
    case 1: return truth.shelves[shelf] == nil ? .add(shelf: shelf, count: 1) : .empty(shelf: shelf)
    default: return .add(shelf: shelf, count: Int(choices.draw(.workload, in: 1...9)))
    }
  }

  static func eventToRefuse(_ truth: Stock) -> StockEvent? { nil }
  static func snapshotToRefuse(_ truth: Stock) -> Stock? { nil }
  static func checksum(of model: StockModel<Wrong>) -> UInt64 { model.stock.checksum }
  static func describe(_ model: StockModel<Wrong>) -> String { "\(model.stock)" }
  static func describe(_ truth: Stock) -> String { "\(truth)" }
}
