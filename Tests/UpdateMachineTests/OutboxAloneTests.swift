import TestSupport
import Testing

@testable import UpdateMachine

/// A change that is sent alone. Letters must not arrive twice; flags may.
private enum Errand: Mutation, Equatable, Storable {
  case letter(String)
  case flag(String, isSet: Bool)
  /// Is about everything.
  case census

  struct Moved: Error, Hashable {}

  var name: String {
    switch self {
    case .letter(let person): "letter \(person)"
    case .flag(let person, let isSet): "flag \(isSet ? "+" : "-")\(person)"
    case .census: "census"
    }
  }

  var object: String? {
    switch self {
    case .letter(let person): "letters to \(person)"
    case .flag(let person, _): "flag of \(person)"
    case .census: nil
    }
  }

  var isIdempotent: Bool { if case .flag = self { true } else { false } }

  func apply(to state: inout VersionedMap<String, Bool>) throws(Moved) {
    switch self {
    case .letter(let person): if state["moved \(person)"] != nil { throw Moved() }
    case .flag(let person, let isSet): state[person] = isSet
    case .census: break
    }
  }

  func put(into bytes: inout ByteWriter) {
    switch self {
    case .letter(let person): bytes.put(["letter", person])
    case .flag(let person, let isSet): bytes.put([isSet ? "set" : "clear", person])
    case .census: bytes.put(["census"])
    }
  }

  init(from bytes: inout ByteReader) throws(StoredFormError) {
    let words: [String] = try bytes.takeArray()
    switch words[0] {
    case "letter": self = .letter(words[1])
    case "census": self = .census
    default: self = .flag(words[1], isSet: words[0] == "set")
    }
  }
}

/// Where each mutation is sent alone, what is idempotent is sent again, and what cannot be sent
/// holds back only what may depend on it.
@Suite struct OutboxAloneTests {
  private typealias Desk = LoneDesk<Errand>

  @Test(arguments: [SyncFailure.timedOut, .unreachable, .serverFault, .malformed])
  func `what is idempotent is sent again after a lost answer`(failure: SyncFailure) throws {
    var desk = Desk()
    let ticket = try desk.make(.flag("ada", isSet: true))
    let first = try #require(desk.push).id
    try desk.fail(failure)
    #expect(desk.stages == ["#1 flag +ada sent 1"])
    try desk.wait()
    #expect(desk.push?.id != first && desk.sent == ["flag +ada"])
    try desk.answer()
    desk.local.pollLeft()
    desk.local.pollWasAnswered { _ in false }
    #expect(desk.state(ticket) == .acknowledged)
  }

  @Test func `what is idempotent is sent again after a restart, and a letter is not`() throws {
    var desk = Desk()
    try desk.make(.flag("ada", isSet: true))
    try desk.restart()
    #expect(desk.stages == ["#1 flag +ada sent 1"] && desk.sent == ["flag +ada"])
    desk = Desk()
    try desk.make(.letter("ada"))
    try desk.restart()
    #expect(desk.stages == ["#1 letter ada uncertain 1"])
  }

  @Test func `an uncertain letter holds back letters to the same person only`() throws {
    var desk = Desk()
    let uncertain = try desk.make(.letter("ada"))
    try desk.make(.letter("ada"))
    try desk.make(.letter("bo"))
    try desk.make(.flag("ada", isSet: true))
    try desk.fail(.timedOut)
    try desk.wait()
    #expect(desk.sent == ["letter bo"])
    try desk.answer()
    #expect(desk.sent == ["flag +ada"])
    try desk.answer()
    #expect(desk.local.outbox.block == .uncertain(uncertain))
    #expect(
      desk.stages == [
        "#1 letter ada uncertain 1", "#2 letter ada unsent", "#3 letter bo accepted 2",
        "#4 flag +ada accepted 3",
      ])
    desk.local.confirm(desk.local.view.confirmed, echo: uncertain)
    desk.feed(.heldBack(false))
    desk.save()
    #expect(desk.sent == ["letter ada"])
  }

  @Test func `what a letter has created confirms it, also after a restart`() throws {
    var desk = Desk()
    let ticket = try desk.make(.letter("ada"))
    func held(_ id: Int64) -> MutationTicket? {
      desk.local.outbox.heldMutation { change, created in
        change == .letter("ada") && created == id
      }
    }
    #expect(held(70) == nil)
    try desk.answer(.created(70))
    #expect(desk.stages == ["#1 letter ada accepted 1"])
    #expect(held(70) == ticket && held(71) == nil)
    try desk.restart()
    #expect(held(70) == ticket)
    desk.local.confirm(desk.local.view.confirmed, echo: ticket)
    #expect(held(70) == nil && desk.state(ticket) == .acknowledged)
  }

  @Test func `a refused letter holds back letters to the same person only`() throws {
    var desk = Desk()
    let refused = try desk.make(.letter("ada"))
    try desk.make(.letter("ada"))
    try desk.make(.letter("bo"))
    try desk.answer(.refused(MutationRefusal(MutationID(1), RejectionCode("GONE"))))
    #expect(desk.state(refused) == .setAside)
    #expect(desk.sent == ["letter bo"])
    try desk.answer()
    #expect(desk.local.outbox.block == .refused(refused))
    desk.feed(.discarded(refused))
    desk.save()
    #expect(desk.sent == ["letter ada"])
  }

  @Test func `what is about everything waits for all, and all wait for it`() throws {
    var desk = Desk()
    let uncertain = try desk.make(.letter("ada"))
    try desk.make(.census)
    try desk.make(.letter("bo"))
    try desk.fail(.timedOut)
    try desk.wait()
    #expect(desk.local.outbox.block == .uncertain(uncertain))
    #expect(desk.sent == ["letter ada"], "nothing else has left")
  }

  @Test func `a refusal does not touch an uncertain letter, nor one that is sent again`() throws {
    var desk = Desk()
    let uncertain = try desk.make(.letter("ada"))
    try desk.make(.flag("ada", isSet: true))
    try desk.make(.letter("bo"))
    try desk.fail(.timedOut)
    try desk.wait()
    try desk.fail(.timedOut)
    try desk.wait()
    #expect(desk.sent == ["letter bo"])
    try desk.answer(.refused(MutationRefusal(MutationID(3), RejectionCode("NO"))))
    #expect(desk.stages == ["#1 letter ada uncertain 1", "#2 flag +ada sent 2"])
    #expect(desk.sent == ["flag +ada"])
    try desk.answer(.refused(MutationRefusal(MutationID(2), RejectionCode("NO"))))
    #expect(desk.state(uncertain) == .uncertain)
    #expect(desk.stages == ["#1 letter ada uncertain 1"])
    #expect(desk.local.outbox.setAside.count == 2)
    try desk.restart()
    #expect(desk.local.outbox.setAside.count == 2, "what is saved can be read")
  }

  /// A proxy, say, that stumbles on one change.
  @Test func `a change that never gets an answer holds up no other, and can be given up`() throws {
    var desk = Desk()
    let stuck = try desk.make(.flag("ada", isSet: true))
    for number in 1...3 {
      try desk.make(.letter("\(number)"))
      try desk.fail(.serverFault)
      try desk.wait()
      #expect(desk.sent == ["letter \(number)"])
      try desk.answer()
      #expect(desk.sent == ["flag +ada"], "then it is tried again")
    }
    #expect(!desk.local.outbox.canDiscard(stuck), "it is out")
    try desk.fail(.serverFault)
    #expect(desk.local.outbox.canDiscard(stuck))
    desk.feed(.discarded(stuck))
    #expect(desk.state(stuck) == .discarded)
  }

  enum Decision: CaseIterable { case discard, edit, throwing, retry }

  /// Otherwise it is sent a second time.
  @Test(arguments: Decision.allCases)
  func `a letter that is out keeps its mark, whatever becomes of those before it`(
    decision: Decision
  ) throws {
    var desk = Desk()
    try desk.make(.letter("ada"))
    let behind = try desk.make(.letter("ada"))
    try desk.fail(.timedOut)
    let refused = try desk.make(.letter("cy"))
    try desk.wait()
    try desk.answer(.refused(MutationRefusal(MutationID(2), RejectionCode("NO"))))
    let out = try desk.make(.letter("bo"))
    #expect(desk.sent == ["letter bo"])
    switch decision {
    case .discard: desk.feed(.discarded(behind))
    case .edit: desk.feed(.edited(behind, .letter("ada")))
    case .throwing:
      desk.local.confirm(["moved ada": true], echo: nil)
      desk.feed(.heldBack(false))
    case .retry:
      desk.local.confirm(["moved cy": true], echo: nil)
      desk.feed(.retried(refused))
    }
    desk.save()
    #expect(!desk.local.outbox.canDiscard(out) && !desk.local.outbox.canEdit(out))
    let count = desk.push?.id
    try desk.answer()
    #expect(desk.local.outbox.pending.contains { $0.ticket == out && $0.isAccepted })
    #expect(desk.push?.id == count || desk.sent != ["letter bo"])
  }

  @Test func `a letter that waits for the disk gives way if it can no longer be sent`() throws {
    var desk = Desk()
    let made = try desk.local.mutate(.letter("ada"), at: desk.now)
    desk.take(made.effects)
    #expect(desk.stages == ["#1 letter ada marked 1"])
    desk.take(try desk.local.mutate(.letter("bo"), at: desk.now).effects)
    desk.local.confirm(["moved ada": true], echo: nil)
    desk.feed(.heldBack(false))
    desk.save()
    #expect(desk.sent == ["letter bo"])
    #expect(desk.state(made.ticket) == .setAside)
  }
}

extension LoneDesk where Change == Errand {
  fileprivate init() { self.init(over: VersionedMap()) }
}
