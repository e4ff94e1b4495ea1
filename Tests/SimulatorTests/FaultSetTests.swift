import Testing
import UpdateMachine

@testable import Simulator

struct FaultSetTests {
  @Test func `the set all contains every fault, and the set none is empty`() {
    #expect(FaultSet.all.list == Fault.allCases)
    #expect(FaultSet.none.list == [])
    #expect(FaultSet() == .none)
  }

  @Test(arguments: Fault.allCases)
  func `a set contains the inserted faults and no others`(fault: Fault) {
    var set = FaultSet()
    set.insert(fault)
    #expect(set.list == [fault])
    set.insert(fault)
    #expect(set.list == [fault])
    #expect(Fault.allCases.filter { set.contains($0) } == [fault])
  }

  @Test func `a set is ordered as the faults are declared, however it was filled`() {
    var set = FaultSet()
    for fault in [Fault.storm, .slowNetwork, .crash] { set.insert(fault) }
    #expect(set.list == [.slowNetwork, .crash, .storm])
  }

  @Test func `fault names are unique, in small words`() {
    let names = Fault.allCases.map(\.name)
    #expect(Set(names).count == names.count)
    for name in names { #expect(name.allSatisfy { $0.isLowercase || $0 == "-" }, "\(name)") }
  }

  @Test func `counts are kept and added by fault`() {
    var one = FaultCounts()
    one[.crash] += 2
    var other = FaultCounts()
    other[.crash] += 3
    other[.storm] += 1
    one.add(other)
    #expect(one[.crash] == 5)
    #expect(one[.storm] == 1)
    #expect(one[.logOut] == 0)
  }

  @Test(arguments: Fault.allCases)
  func `a world can have any single fault, and then has no other`(fault: Fault) {
    var allowed = FaultSet()
    allowed.insert(fault)
    var drew = 0
    for seed: UInt64 in 1...40 {
      var choices = Choices(seed: seed)
      let faultPlan = FaultPlan(&choices, allowed: allowed)
      #expect(faultPlan.faults == allowed || faultPlan.faults == .none)
      let strikes =
        faultPlan.outgoing + faultPlan.answering + faultPlan.incoming + faultPlan.writing
      #expect((strikes + faultPlan.disturbances).allSatisfy { $0 == fault })
      if faultPlan.faults == allowed { drew += 1 }
    }
    #expect((1..<40).contains(drew))
  }

  @Test func `each seed turns on some of the faults, and every fault is turned on by some seed`() {
    var union = FaultSet()
    var sizes: Set<Int> = []
    for seed: UInt64 in 1...60 {
      var choices = Choices(seed: seed)
      let faultPlan = FaultPlan(&choices, allowed: .all)
      sizes.insert(faultPlan.faults.list.count)
      for fault in faultPlan.faults.list { union.insert(fault) }
    }
    #expect(union == .all)
    #expect(sizes.count > 5)
  }

  @Test func `faults of pages are not drawn in worlds without pages`() {
    var others = FaultSet()
    for fault in Fault.allCases where !fault.isOfPages { others.insert(fault) }
    for seed: UInt64 in 1...40 {
      var (one, another) = (Choices(seed: seed), Choices(seed: seed))
      let faultPlan = FaultPlan(&one, allowed: .all, hasPages: false)
      let plain = FaultPlan(&another, allowed: others)
      #expect(faultPlan.faults == plain.faults)
      #expect(faultPlan.disturbances == plain.disturbances)
      #expect(one.record == another.record.filter { $0.stream != .lists })
    }
  }

  @Test func `in some worlds every other client saves nothing, if no user changes anything`() {
    var mixed = 0
    for seed: UInt64 in 1...60 {
      var (one, another) = (Choices(seed: seed), Choices(seed: seed))
      let plan = FaultPlan(&one, allowed: .all, hasChanges: false)
      #expect(!FaultPlan(&another, allowed: .all).isMixed)
      guard plan.isMixed else { continue }
      mixed += 1
      #expect((0..<4).map { plan.settings(of: $0).isDurable } == [true, false, true, false])
    }
    #expect((4...25).contains(mixed))
  }

  @Test func `a fault plan has no faults after the faults stop`() {
    var choices = Choices(seed: 1)
    var faultPlan = FaultPlan(&choices, allowed: .all)
    faultPlan.calm()
    #expect(faultPlan.faults == .none)
    let strikes = faultPlan.outgoing + faultPlan.answering + faultPlan.incoming + faultPlan.writing
    #expect((strikes + faultPlan.disturbances).isEmpty)
  }
}
