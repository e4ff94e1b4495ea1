import Testing

@testable import Simulator

/// The library's server of a change log, as the judge of another one.
@Suite struct LogTwinTests {
  private typealias Twin = LogTwin<String>

  /// Four changes, of which the third is not logged.
  private var twin: Twin {
    var twin = Twin()
    for event in ["a", "b"] { twin.commit(event, retained: 10) }
    twin.commit()
    twin.commit("d", retained: 10)
    return twin
  }

  private func objection(
    to numbers: [Int64]?, after number: Int64, through last: Int64 = 4, hasMore: Bool = false,
    inLog log: Int = 0, atMost maximum: Int = 5, _ twin: Twin
  ) -> String? {
    let answer = numbers.map { Twin.Answer(through: last, hasMore: hasMore, numbers: $0) }
    return twin.objection(to: answer, after: number, inLog: log, atMost: maximum)
  }

  @Test func `equal answers are right`() {
    #expect(objection(to: [1, 2, 4], after: 0, twin) == nil)
    #expect(objection(to: [4], after: 2, twin) == nil)
    #expect(objection(to: [], after: 4, twin) == nil)
    #expect(
      objection(to: [1, 2], after: 0, through: 2, hasMore: true, atMost: 2, twin) == nil)
    #expect(objection(to: nil, after: 5, twin) == nil, "a number that was never given")
    #expect(objection(to: nil, after: 0, inLog: 1, twin) == nil, "another log")
  }

  @Test func `a change too few, a change too many and a wrong end are found`() {
    #expect(
      objection(to: [1, 2], after: 0, twin)
        == "after 0 [1, 2] through 4, and of the library [1, 2, 4] through 4")
    #expect(objection(to: [2, 4], after: 2, twin) != nil)
    #expect(objection(to: [4], after: 2, through: 3, twin) != nil)
    #expect(objection(to: [1, 2], after: 0, through: 2, atMost: 2, twin) != nil)
  }

  @Test func `a place expires with the change after it, and no sooner`() {
    var twin = Twin()
    for event in ["a", "b", "c"] { twin.commit(event, retained: 2) }
    #expect(objection(to: [2, 3], after: 1, through: 3, twin) == nil)
    #expect(objection(to: nil, after: 0, twin) == nil)
    #expect(objection(to: nil, after: 1, twin) != nil)
    twin.forget()
    #expect(objection(to: nil, after: 2, twin) == nil)
    #expect(objection(to: [], after: 3, through: 3, twin) == nil)
    twin.begin(log: 1)
    #expect(objection(to: [], after: 0, through: 0, inLog: 1, twin) == nil)
    #expect(objection(to: nil, after: 0, twin) == nil)
  }
}
