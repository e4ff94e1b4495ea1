import Testing
import UpdateMachine

private func ids(_ low: Int64, _ high: Int64) -> IDInterval<RowID> {
  IDInterval(from: RowID(low), to: RowID(high))
}

private func from(_ low: Int64) -> IDInterval<RowID> {
  IDInterval(from: .id(RowID(low)), to: .veryEnd)
}

private func upTo(_ high: Int64) -> IDInterval<RowID> {
  IDInterval(from: .veryBeginning, to: .id(RowID(high)))
}

@Suite struct IntervalTests {
  @Test func `the very beginning is before all IDs, and the very end after them`() {
    let least = IDInterval<RowID>.Point.id(RowID(.min))
    let greatest = IDInterval<RowID>.Point.id(RowID(.max))
    #expect(IDInterval<RowID>.Point.veryBeginning < least)
    #expect(least < greatest)
    #expect(greatest < .veryEnd)
    #expect(
      IDInterval<RowID>.Point.veryBeginning.id == nil && IDInterval<RowID>.Point.veryEnd.id == nil)
    #expect(least.id?.number == .min + 1 && greatest.id?.number == .max - 1)
  }

  @Test func `an interval includes both its ends`() {
    let interval = ids(3, 9)
    #expect([2, 3, 9, 10].map { interval.contains(RowID($0)) } == [false, true, true, false])
    #expect(interval.lowerEnd == .id(RowID(3)) && interval.upperEnd == .id(RowID(9)))
    #expect(IDInterval(RowID(4)) == ids(4, 4))
  }

  @Test func `an interval to the very end holds every greater ID`() {
    #expect(from(20).contains(RowID(.max)) && from(20).contains(.veryEnd))
    #expect(!ids(20, .max).contains(.veryEnd))
    #expect(upTo(17).contains(RowID(.min)) && upTo(17).contains(.veryBeginning))
    #expect(!ids(.min, 17).contains(.veryBeginning))
    #expect(IDInterval<RowID>.everything == IDInterval(from: .veryBeginning, to: .veryEnd))
  }

  @Test func `the intersection of two intervals is an interval or nothing`() {
    #expect(ids(3, 9).intersection(ids(9, 12)) == ids(9, 9))
    #expect(ids(3, 9).intersection(ids(10, 12)) == nil)
    #expect(from(5).intersection(upTo(7)) == ids(5, 7))
    #expect(from(5).intersection(.everything) == from(5))
    #expect(ids(3, 9).covers(ids(3, 9)) && !ids(3, 9).covers(ids(3, 10)))
    #expect(!ids(3, .max).covers(from(3)) && from(3).covers(ids(3, .max)))
  }

  @Test(arguments: [
    (IDInterval(RowID(5)), "[5]"), (ids(3, 9), "[3…9]"), (upTo(17), "[begin…17]"),
    (from(20), "[20…end]"), (.everything, "[begin…end]"), (ids(-4, -1), "[-4…-1]"),
  ])
  func `the description of an interval names its ends`(interval: IDInterval<RowID>, text: String) {
    #expect("\(interval)" == text)
  }

  @Test func `an interval whose upper end is below its lower end traps`() async {
    await #expect(processExitsWith: .failure) {
      _ = IDInterval(from: RowID(4), to: RowID(3))
    }
    await #expect(processExitsWith: .failure) {
      _ = IDInterval<RowID>(from: .veryEnd, to: .veryBeginning)
    }
  }
}

@Suite struct KnowledgeTests {
  @Test func `adjacent intervals become one, whichever is given first`() {
    #expect(Knowledge<RowID>([ids(1, 3), ids(4, 9)]) == Knowledge<RowID>(ids(1, 9)))
    #expect(Knowledge<RowID>([ids(4, 9), ids(1, 3)]) == Knowledge<RowID>(ids(1, 9)))
    #expect(Knowledge<RowID>([ids(1, 3), ids(5, 9)]).count == 2)
    #expect(
      Knowledge<RowID>([ids(1, 3), ids(5, 9), IDInterval(RowID(4))]) == Knowledge<RowID>(ids(1, 9)))
    #expect(Knowledge<RowID>([upTo(3), from(4)]).isComplete)
    #expect(Knowledge<RowID>([ids(1, .max), from(.max)]) == Knowledge<RowID>(from(1)))
  }

  @Test func `removing an ID splits an interval, and adding it joins the two again`() {
    var known = Knowledge<RowID>(.everything)
    known.remove(RowID(7))
    #expect("\(known)" == "[begin…6] [8…end]")
    known.remove(RowID(7))
    known.remove(RowID(9))
    #expect("\(known)" == "[begin…6] [8] [10…end]")
    known.remove(RowID(8))
    #expect("\(known)" == "[begin…6] [10…end]")
    known.insert(ids(7, 9))
    #expect(known.isComplete)
  }

  @Test func `the least and the greatest ID can be removed`() {
    var known = Knowledge<RowID>(.everything)
    known.remove(RowID(.max))
    known.remove(RowID(.min))
    #expect(known.contains(.veryBeginning) && known.contains(.veryEnd))
    #expect(!known.contains(RowID(.min)) && !known.contains(RowID(.max)))
    #expect(known.count == 3)
    #expect(known.gaps().intervals.map { $0 } == [ids(.min, .min), ids(.max, .max)])
    known.insert(RowID(.min))
    known.insert(RowID(.max))
    #expect(known.isComplete)
    known.remove(.everything)
    #expect(known.isEmpty && known == Knowledge<RowID>())
  }

  @Test func `a gap is found from either side and from within`() {
    let known = Knowledge<RowID>([upTo(17), ids(20, 29), from(40)])
    func below(_ point: IDInterval<RowID>.Point) -> IDInterval<RowID>? {
      known.gap(atOrBelow: point)
    }
    func above(_ point: IDInterval<RowID>.Point) -> IDInterval<RowID>? {
      known.gap(atOrAbove: point)
    }
    func id(_ number: Int64) -> IDInterval<RowID>.Point { .id(RowID(number)) }
    #expect(below(.veryEnd) == ids(30, 39) && below(id(40)) == ids(30, 39))
    #expect(below(id(35)) == ids(30, 39) && below(id(29)) == ids(18, 19))
    #expect(below(id(17)) == nil && below(.veryBeginning) == nil)
    #expect(above(.veryBeginning) == ids(18, 19) && above(id(17)) == ids(18, 19))
    #expect(above(id(20)) == ids(30, 39) && above(id(35)) == ids(30, 39))
    #expect(above(id(40)) == nil && above(.veryEnd) == nil)
    #expect(Knowledge<RowID>().gap(atOrBelow: id(3)) == .everything)
    #expect(Knowledge<RowID>().gap(atOrAbove: .veryEnd) == .everything)
    #expect(Knowledge<RowID>(upTo(17)).gap(atOrBelow: .veryEnd) == from(18))
    #expect(Knowledge<RowID>(from(40)).gap(atOrAbove: .veryBeginning) == upTo(39))
  }

  @Test func `a copy does not change with the original`() {
    for count in [1, 2, 3, 200] as [Int64] {
      var known = Knowledge<RowID>((0..<count).map { ids($0 * 10, $0 * 10 + 3) })
      let copy = known
      let before = Array(copy.intervals)
      known.insert(ids(-5, 1))
      known.remove(RowID(count * 10 - 9))
      known.insert(from(count * 10))
      #expect(Array(copy.intervals) == before && Int64(before.count) == count)
      #expect(known != copy)
    }
  }

  @Test func `the description of knowledge lists its intervals`() {
    #expect("\(Knowledge<RowID>())" == "nothing")
    #expect(
      "\(Knowledge<RowID>([from(40), upTo(17), ids(20, 29)]))" == "[begin…17] [20…29] [40…end]")
  }
}
