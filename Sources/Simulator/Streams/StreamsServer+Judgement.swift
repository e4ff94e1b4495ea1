internal import SyncProtocols
internal import UpdateMachine

// The server half of a stream, said once more in the plainest way: what a page has.

extension StreamsServer {
  /// Notes that the world has a new event, which reads see after the server's lag.
  mutating func noteEvent() { visibleAt.append(now + server.lag) }

  /// Judges an answer: of what was asked for it has the first events that can be seen, as many as
  /// there is room for, and nothing else.
  mutating func judge(_ batch: StreamBatch, to request: StreamRequest) {
    guard !isArmed, breachCount == 0 else { return }
    var asked: [ClosedRange<Int64>] = request.holes.filter { $0.low <= $0.high }.map {
      $0.low...$0.high
    }
    if request.after.number < .max { asked.append(request.after.number + 1 ... .max) }
    var expected: [StreamStep] = []
    for range in asked {
      for (index, event) in truth.events.enumerated()
      where range.contains(Int64(index)) && visibleAt[index] <= now {
        expected.append(.event(event))
      }
    }
    let steps = Array(expected.prefix(max(server.pageMaximum, 1)))
    guard batch.steps != steps || batch.latest.number != Int64(truth.events.count) - 1 else {
      return
    }
    truth.noteWrong("\(batch) instead of \(steps), to \(request)")
  }
}
