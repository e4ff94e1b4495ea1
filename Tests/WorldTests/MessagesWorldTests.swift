import Simulator
import Testing

/// Tests whole worlds in which clients hold parts of the messages.
struct MessagesWorldTests {
  // MARK: A server that breaks its contract

  @Test(arguments: [Fault.silentChange, .oldCache])
  func `each fault of pages strikes, and is repaired`(fault: Fault) {
    var statistics = RunStatistics()
    for seed: UInt64 in 0..<40 {
      var faults = FaultSet()
      faults.insert(fault)
      var configuration = SimulationConfiguration(
        seed: seed, clients: 2, steps: 150, faults: faults)
      configuration.isSwarm = false
      let result = Simulation<MessagesApp>.run(configuration)
      #expect(result.finding == nil, "seed \(seed)")
      statistics.add(result)
    }
    #expect(statistics.faults[fault] > 40)
    #expect(statistics.audits.repairs > (fault == .silentChange ? 10 : 0))
    #expect(statistics.audits.readings <= statistics.audits.suspects)
    #expect(Fault.allCases.allSatisfy { $0 == fault || statistics.faults[$0] == 0 })
  }

  /// Messages that come back unannounced may be suspect. Nothing else in these seeds is.
  @Test func `a server that keeps its contract causes no suspects`() {
    var audits = AuditCounts()
    for seed: UInt64 in 0..<20 {
      let configuration = SimulationConfiguration(
        seed: seed, clients: 2, steps: 150, faults: [.brokenConnection, .background])
      audits.add(Simulation<MessagesApp>.run(configuration).audits)
    }
    #expect(audits.suspects <= 2)
    #expect(audits.repairs <= audits.suspects)
  }

  @Test(arguments: PageBreach.allCases)
  func `every plant of pages is found`(breach: PageBreach) {
    for seed: UInt64 in 1...200 {
      let configuration = SimulationConfiguration(seed: seed, plant: .page(breach))
      if Simulation<MessagesApp>.run(configuration).finding != nil { return }
    }
    Issue.record("no oracle noticed \(breach.rawValue)")
  }

  // MARK: Pictures

  @Test func `a trace shows each list when it changes, the same every time`() {
    let configuration = SimulationConfiguration(seed: 3)
    let (result, trace) = Simulation<MessagesApp>.trace(configuration)
    let pictures = trace.events.filter { $0.isPicture }
    #expect(pictures.count > 20)
    for picture in pictures {
      #expect(picture.what.prefix { $0 != " " }.count == Int(IntervalBar.width) + 2)
      #expect(picture.what.count < 90)
      #expect(picture.client != nil)
    }
    #expect(Set(pictures.map(\.what)).count > 10)
    #expect(Simulation<MessagesApp>.trace(configuration).1.lines == trace.lines)
    #expect(Simulation<MessagesApp>.run(configuration).hash == result.hash)
    #expect(Simulation<DirectoryApp>.trace(configuration).1.events.allSatisfy { !$0.isPicture })
  }

  @Test func `a story has no pictures of lists`() throws {
    for seed: UInt64 in 1...60 {
      let configuration = SimulationConfiguration(seed: seed, plant: .page(.missesOne))
      let (result, trace) = Simulation<MessagesApp>.trace(configuration)
      guard result.finding != nil else { continue }
      let story = try #require(Story(result, trace))
      #expect(trace.events.contains { $0.isPicture })
      #expect(story.events.allSatisfy { !$0.isPicture })
      return
    }
    Issue.record("no seed fails")
  }
}
