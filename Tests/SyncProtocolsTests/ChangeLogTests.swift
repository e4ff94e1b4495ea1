import Foundation
import SyncProtocols
import Testing
import UpdateMachine

/// The client half: the laws of `advance`, for every log of a few changes and all its answers.
@Suite struct ChangeLogTests {
  private typealias Log = ChangeLog<Int64>
  private typealias Batch = ChangeLogBatch<Int64>

  private static let epoch = ChangeLogEpoch("one")
  private static let latest: Int64 = 4

  /// Every log with the numbers 1…4, of which any may be holes.
  private static var logs: [[Int64]] {
    (0..<16).map { bits in (1...latest).filter { bits >> ($0 - 1) & 1 == 1 } }
  }

  private static func place(_ number: Int64) -> ChangeLogPlace {
    ChangeLogPlace(epoch: epoch, number: number)
  }

  /// Every answer that an honest server can give about a log: any part of it, empty ones too.
  ///
  /// - Parameter then: the latest number when it was read.
  private static func answers(about log: [Int64], then: Int64 = latest) -> [Batch] {
    (0...then).flatMap { after in
      (after...then).map { through in
        let numbers = log.filter { after < $0 && $0 <= through }
        return Batch(
          epoch: epoch, after: after, through: through, hasMore: through < then,
          changes: numbers.map { LoggedChange(number: $0, event: $0) })
      }
    }
  }

  /// A client that notes what it has applied.
  private struct Client: Equatable {
    var place = ChangeLogTests.place(0)
    var applied: [Int64] = []

    mutating func take(_ batch: Batch) -> SyncAdvance<ChangeLogPlace> {
      let verdict = Log.advance(place, over: batch)
      if case .next(let next, let first, _) = verdict {
        applied += (first..<batch.count).compactMap { batch.event(at: $0) }
        place = next
      }
      return verdict
    }
  }

  // MARK: Laws

  @Test(arguments: ChangeLogTests.logs)
  func `whatever honest answers come, each change is applied once, in order, and none is left out`(
    log: [Int64]
  ) {
    let answers = ChangeLogTests.answers(about: log)
    var wrong: [[Batch]] = []
    for one in answers {
      for two in answers {
        for three in answers {
          var client = Client()
          var last = Int64(0)
          for batch in [one, two, three] {
            _ = client.take(batch)
            let expected = log.filter { $0 <= client.place.number }
            if client.applied != expected || client.place.number < last {
              wrong.append([one, two, three])
            }
            last = client.place.number
          }
        }
      }
    }
    #expect(wrong == [])
  }

  @Test(arguments: ChangeLogTests.logs)
  func `only an answer with all that there was then says that the client is up to date`(
    log: [Int64]
  ) {
    for number in 0...ChangeLogTests.latest {
      for then in 0...ChangeLogTests.latest {
        for batch in ChangeLogTests.answers(about: log, then: then) {
          let isNew = batch.after <= number && number < batch.through
          switch Log.advance(ChangeLogTests.place(number), over: batch) {
          case .next(let next, _, let isComplete):
            #expect(isNew && next.number == batch.through)
            #expect(isComplete == (next.number == then))
          // An older answer proves nothing, even if it was complete when it was read.
          case .seen: #expect(!isNew && number == then && batch.through == then)
          case .incomplete:
            #expect(!isNew && batch.after <= number)
            #expect(number > batch.through || batch.hasMore)
          case .gap: #expect(batch.after > number)
          case .lost: Issue.record("\(number) \(batch)")
          }
        }
      }
    }
  }

  @Test(arguments: ChangeLogTests.logs)
  func `an answer is taken whole, whatever part of it was taken before`(log: [Int64]) {
    for whole in ChangeLogTests.answers(about: log) {
      for part in ChangeLogTests.answers(about: log) where part.after == whole.after {
        var (client, other) = (Client(), Client())
        client.place.number = whole.after
        other.place.number = whole.after
        _ = client.take(part)
        _ = client.take(whole)
        _ = other.take(whole)
        if part.through <= whole.through { #expect(client == other, "\(part) \(whole)") }
      }
    }
  }

  @Test(arguments: ChangeLogTests.logs)
  func `an answer that cannot be is a gap`(log: [Int64]) {
    for number in 0...ChangeLogTests.latest {
      let place = ChangeLogTests.place(number)
      for honest in ChangeLogTests.answers(about: log) {
        func isGap(_ change: (inout Batch) -> Void) -> Bool {
          var batch = honest
          change(&batch)
          return Log.advance(place, over: batch) == .gap
        }
        #expect(isGap { $0.epoch = ChangeLogEpoch("two") })
        #expect(isGap { $0.after = number + 1 })
        #expect(isGap { $0.through = $0.after - 1 })
        #expect(isGap { $0.changes.insert(LoggedChange(number: $0.after, event: 0), at: 0) })
        #expect(isGap { $0.changes.append(LoggedChange(number: $0.through + 1, event: 0)) })
        if let last = honest.changes.last { #expect(isGap { $0.changes.append(last) }) }
        if honest.changes.count > 1 { #expect(isGap { $0.changes.swapAt(0, 1) }) }
      }
    }
  }

  @Test func `a server that has lost changes is noticed, unless it copies the number asked after`()
  {
    // It was restored at 40 and did not say so. The client is at 50.
    let place = ChangeLogTests.place(50)
    func answer(through: Int64) -> Batch {
      Batch(
        epoch: ChangeLogTests.epoch, after: 50, through: through, hasMore: false, changes: [])
    }
    #expect(Log.advance(place, over: answer(through: 40)) == .gap)
    #expect(Log.advance(place, over: answer(through: 50)) == .seen)
  }

  @Test func `a change that means nothing to the model moves the place`() {
    let batch = Batch(
      epoch: ChangeLogTests.epoch, after: 0, through: 1, hasMore: false,
      changes: [LoggedChange(number: 1, event: nil)])
    var client = Client()
    #expect(client.take(batch) == .next(ChangeLogTests.place(1), first: 0))
    #expect(client == Client(place: ChangeLogTests.place(1)))
  }

  // MARK: Forms

  @Test func `a place survives as bytes`() throws {
    let place = ChangeLogPlace(epoch: ChangeLogEpoch("5e1b"), number: .max)
    var bytes = ByteWriter()
    bytes.put(place)
    var reader = ByteReader(bytes.bytes)
    #expect(try ChangeLogPlace(from: &reader) == place)
    #expect("\(place)" == "5e1b:9223372036854775807")
  }

  @Test func `answers survive as JSON, in the form that is promised`() throws {
    let text =
      #"{"epoch":"5e1b","after":41,"through":45,"hasMore":false,"#
      + #""changes":[{"number":42,"event":7},{"number":44,"event":null}]}"#
    let batch = Batch(
      epoch: ChangeLogEpoch("5e1b"), after: 41, through: 45, hasMore: false,
      changes: [LoggedChange(number: 42, event: 7), LoggedChange(number: 44, event: nil)])
    #expect(try JSONDecoder().decode(Batch.self, from: Data(text.utf8)) == batch)
    #expect(try JSONDecoder().decode(Batch.self, from: JSONEncoder().encode(batch)) == batch)
    let snapshot = ChangeLogSnapshot(epoch: ChangeLogEpoch("5e1b"), number: 41, state: ["milk"])
    let form = #"{"epoch":"5e1b","number":41,"state":["milk"]}"#
    typealias Snapshot = ChangeLogSnapshot<[String]>
    #expect(try JSONDecoder().decode(Snapshot.self, from: Data(form.utf8)) == snapshot)
    #expect(
      try JSONDecoder().decode(Snapshot.self, from: JSONEncoder().encode(snapshot)) == snapshot)
  }

  @Test(arguments: [
    "epoch", "after", "through", "hasMore", "changes", "number", "event",
  ])
  func `a field that is missing in JSON is an error, and not a default`(name: String) {
    let text =
      #"{"epoch":"5e1b","after":41,"through":45,"hasMore":false,"#
      + #""changes":[{"number":42,"event":7}]}"#
    let damaged = text.replacing("\"\(name)\"", with: "\"x\"")
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(Batch.self, from: Data(damaged.utf8))
    }
  }
}
