import SyncProtocols
import Testing
import UpdateMachine

/// Long random runs of three devices: loss, repeats, crashes, lag, holes, late answers, pushes that
/// are taken in part, and users who change the same few objects.
struct EventStreamRunTests {
  @Test(arguments: StreamConflictLaw.allCases)
  func `all clients end equal to a fold from 0 in causal order`(law: StreamConflictLaw) {
    var counts: [String: Int] = [:]
    for seed in 0..<70 as Range<UInt64> {
      var world = StreamWorld(seed: seed, devices: 3, law: law)
      world.run()
      #expect(world.violation == nil, "seed \(seed)")
      #expect(world.ending() == nil, "seed \(seed)")
      counts.merge(world.counts) { $0 + $1 }
    }
    // The test means something only if all of this happens.
    for what in [
      "holes", "crashes", "taken in part", "repeated pushes", "lost pushes", "late events",
      "interleaved", "begun anew",
    ] { #expect(counts[what, default: 0] > 20, "\(what)") }
  }

  @Test func `clocks set anywhere change nothing`() {
    for seed in 0..<10 as Range<UInt64> {
      var world = StreamWorld(seed: seed, devices: 3)
      var skewed = StreamWorld(seed: seed, devices: 3, skew: .seconds(40_000_000))
      world.run()
      skewed.run()
      #expect(skewed.server.events == world.server.events)
      #expect(skewed.devices.map(\.model) == world.devices.map(\.model))
    }
  }
}

extension StreamWorld {
  mutating func run() {
    server.pageMaximum = 4
    for _ in 0..<160 where violation == nil {
      let index = draws.below(devices.count)
      switch draws.below(20) {
      case 0..<5: change(index)
      case 5..<10: serve(index, losing: draws.happens(1, in: 6))
      case 10..<13:
        let loses = draws.happens(1, in: 5)
        if loses { count("lost pushes") }
        take(
          index, failing: draws.happens(1, in: 3) ? [draws.below(3)] : [], losingAnswer: loses,
          again: draws.happens(1, in: 4))
      case 13: repeatPush()
      case 14..<16: devices[index].endSave(at: clock(index))
      case 16:
        guard draws.happens(1, in: 3) else { break }
        count("crashes")
        devices[index].crash(at: clock(index))
      case 17 where draws.happens(1, in: 4):
        guard devices[index].question?.place != nil else { break }
        count("begun anew")
        devices[index].answer(.failure(.expired), at: clock(index))
      case 17: server.lag = .seconds(Int64([0, 0, 1, 40, 300][draws.below(5)]))
      case _: pass(.milliseconds(Int64([1, 500, 5_000, 60_000][draws.below(4)])))
      }
    }
    server.lag = .zero
    settle()
  }

  private mutating func change(_ index: Int) {
    let key = "o\(draws.below(5))"
    let fields: StreamFields = [
      ViewKey("f\(draws.below(3))"): JSONValue(integerLiteral: Int64(made.count))
    ]
    let kinds: [StreamChange.Kind] = [.insert(fields), .update(fields), .update(fields), .delete]
    do {
      try make(index, key, kinds[draws.below(4)])
    } catch {
      // The object may be missing, which the random user does not look up.
      count("refused changes")
    }
  }

  /// What is wrong at rest; `nil`: nothing.
  mutating func ending() -> String? {
    let sorted = server.inCausalOrder
    var rank: [StreamEventID: Int] = [:]
    for (number, event) in sorted.enumerated() { rank[event.change.id] = number }
    for (number, event) in sorted.enumerated() where number > 0 {
      if event.sequence < sorted[number - 1].sequence { count("late events") }
    }
    for (event, next) in zip(server.events, server.events.dropFirst())
    where event.client != next.client && event.change.preceding == next.change.preceding {
      count("interleaved")
    }
    var last: [Int: Int] = [:]
    for change in made {
      // It may be coalesced, overruled, given up, or lost in a crash.
      guard let place = rank[change.id] else { continue }
      if last[change.device, default: -1] >= place { return "\(change.id) sorts before its elder" }
      last[change.device] = place
      for event in server.events where event.sequence <= change.seen {
        if rank[event.change.id]! >= place { return "\(change.id) sorts before what it had seen" }
      }
    }
    for (index, device) in devices.enumerated() {
      guard let model = device.model else { return "\(index) has nothing" }
      if device.client.freshness(at: clock(index)).claim != .connected { return "\(index) is away" }
      if !device.client.pending.isEmpty { return "\(index) has \(device.client.pending)" }
      if model.events.map(\.value) != server.events { return "\(index) does not hold the stream" }
      if model.state.plain != server.objects { return "\(index) differs from a fold from 0" }
      if model.state.fold != devices[0].model?.state.fold { return "\(index) differs from 0" }
    }
    return nil
  }
}
