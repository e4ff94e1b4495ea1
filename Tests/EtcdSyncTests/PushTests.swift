import SyncProtocols
import Testing

@testable import EtcdSync
@testable import UpdateMachine

/// How changes become a transaction, without a cluster.
@Suite struct PushTests {
  static let prefix = Array("app/".utf8)
  static let recordKey = prefix + EtcdKey.record(of: ClientID(7)).bytes
  static let finger = EtcdFinger(
    cluster: EtcdClusterID(1), revision: 20,
    marks: EtcdMarks(term: 2, count: 3, lastModified: 15, key: "thing/a", keyRevision: 15))

  static func view(record: String? = nil) -> EtcdView {
    EtcdView(
      [
        "number": EtcdEntry(Array("4".utf8), revision: 9),
        "thing/a": EtcdEntry(Array("tea".utf8), revision: 15),
        "thing/b": EtcdEntry(Array("milk".utf8), revision: 12),
      ], record: record.map { EtcdEntry(Array($0.utf8), revision: 18) })
  }

  static func plan(
    _ push: PushRequest<Chore>, over view: EtcdView = view()
  ) throws -> (transaction: EtcdTransaction?, answer: PushAnswer) {
    switch try EtcdPush.plan(push, over: view, at: finger, prefix: prefix) {
    case .answer(let answer): (nil, answer)
    case .send(let push): (push.transaction, push.answer)
    }
  }

  static func key(_ text: String) -> [UInt8] { prefix + Array(text.utf8) }

  /// The record that a transaction writes.
  static func record(in transaction: EtcdTransaction?) -> String? {
    for case .put(let key, let value, _) in transaction?.success ?? [] where key == recordKey {
      return String(validating: value, as: UTF8.self)
    }
    return nil
  }

  @Test func `a push compares what its changes have read, and writes what they did`() throws {
    let (transaction, answer) = try PushTests.plan(
      .of(.count("number"), .add("thing/c", "jam"), .remove("thing/b")))
    #expect(answer == .accepted)
    #expect(
      transaction?.comparisons == [
        .modified(PushTests.recordKey, at: 0), .modified(PushTests.key("number"), at: 9),
        .modified(PushTests.key("thing/c"), at: 0),
      ])
    #expect(
      transaction?.success.dropLast() == [
        .put(PushTests.key("number"), Array("5".utf8)), .delete(PushTests.key("thing/b")),
        .put(PushTests.key("thing/c"), Array("jam".utf8)),
        .put(PushTests.recordKey, Array(#"{"last":3}"#.utf8)),
      ])
    // A cluster that has lost the finger's revision refuses the whole.
    guard case .range(let mark)? = transaction?.success.last else {
      Issue.record("no mark")
      return
    }
    #expect(mark.revision == 20)
  }

  @Test func `changes of one push see each other`() throws {
    let (transaction, _) = try PushTests.plan(
      .of(.count("number"), .count("number"), .rename("thing/a", from: "tea", to: "mate")))
    #expect(transaction?.success.contains(.put(PushTests.key("number"), Array("6".utf8))) == true)
  }

  @Test func `a change that reads a range depends on each key of it, and on there being no more`()
    throws
  {
    let (transaction, _) = try PushTests.plan(.of(.tally))
    #expect(
      transaction?.comparisons == [
        .modified(PushTests.recordKey, at: 0),
        .unmodified(EtcdSpan(prefix: PushTests.key("thing/")), since: 21),
        .modified(PushTests.key("thing/a"), at: 15), .modified(PushTests.key("thing/b"), at: 12),
      ])
  }

  @Test func `a refused change takes its number, and those before it are done`() throws {
    let (transaction, answer) = try PushTests.plan(
      .of(.count("number"), .add("thing/a", "jam"), .remove("thing/b")))
    #expect(answer == .refused(MutationRefusal(MutationID(2), RejectionCode("EXISTS"))))
    #expect(PushTests.record(in: transaction) == #"{"code":"EXISTS","last":2,"refused":2}"#)
    #expect(transaction?.success.count == 3, "the number, the record, the mark")
    // What the refusal has read counts, too.
    #expect(
      transaction?.comparisons.contains(.modified(PushTests.key("thing/a"), at: 15)) == true)
  }

  @Test func `a change that throws has written nothing`() throws {
    enum Rash: EtcdMutation {
      case now
      var name: String { "now" }
      func apply(to view: inout EtcdView) throws(ChangeRefusal) {
        try view.put("x", for: "thing/a")
        throw ChangeRefusal("NO")
      }
    }
    let push = PushRequest(
      id: RequestID(incarnation: Incarnation(1), number: 1), client: ClientID(7),
      knownRefusal: .none, voided: [],
      mutations: [.init(id: MutationID(1), ticket: MutationTicket(1), change: Rash.now)])
    guard
      case .send(let planned) = try EtcdPush.plan(
        push, over: PushTests.view(), at: PushTests.finger, prefix: PushTests.prefix)
    else {
      Issue.record("nothing is sent")
      return
    }
    #expect(planned.transaction.success.count == 2, "the record and the mark")
  }

  @Test func `no change writes a key of the library's own`() throws {
    let own = String(decoding: EtcdKey.record(of: ClientID(8)).bytes, as: UTF8.self)
    let (_, answer) = try PushTests.plan(.of(.remove(own)))
    #expect(answer == .refused(MutationRefusal(MutationID(1), RejectionCode("RESERVED_KEY"))))
  }

  @Test func `what was run before is not run again`() throws {
    let view = PushTests.view(record: #"{"last":2}"#)
    let (transaction, answer) = try PushTests.plan(
      .of(.count("number"), .count("number"), .count("number")), over: view)
    #expect(answer == .accepted)
    #expect(transaction?.success.contains(.put(PushTests.key("number"), Array("5".utf8))) == true)
    #expect(transaction?.comparisons.first == .modified(PushTests.recordKey, at: 18))
    let (nothing, _) = try PushTests.plan(.of(.count("number"), .count("number")), over: view)
    #expect(nothing == nil)
  }

  @Test func `nothing is run until the client knows of a refusal`() throws {
    let view = PushTests.view(record: #"{"code":"EXISTS","last":2,"refused":2}"#)
    let refusal = MutationRefusal(MutationID(2), RejectionCode("EXISTS"))
    let (nothing, answer) = try PushTests.plan(.of(.count("number"), from: 3), over: view)
    #expect(nothing == nil)
    #expect(answer == .refused(refusal))
    let (transaction, _) = try PushTests.plan(
      .of(.count("number"), from: 3, knowing: 2), over: view)
    #expect(
      PushTests.record(in: transaction) == #"{"code":"EXISTS","last":3,"refused":2}"#)
  }

  @Test func `void numbers are refused in their turn`() throws {
    let (transaction, answer) = try PushTests.plan(
      .of(.count("number"), from: 3, voided: [1, 2]))
    #expect(answer == .accepted)
    #expect(PushTests.record(in: transaction) == #"{"code":"","last":3,"refused":2}"#)
  }

  /// A cluster that was restored from a backup knows less than its clients do.
  @Test func `a record that has gone back does not stop a client`() throws {
    let (transaction, _) = try PushTests.plan(
      .of(.count("number"), from: 9), over: PushTests.view(record: #"{"last":2}"#))
    #expect(PushTests.record(in: transaction) == #"{"last":9}"#)
  }

  @Test(
    arguments: [
      (nil, .behind), (#"{"last":1}"#, .behind), (#"{"last":2}"#, .accepted),
      (#"{"last":5}"#, .accepted),
      (
        #"{"code":"EXISTS","last":2,"refused":2}"#,
        .refused(MutationRefusal(MutationID(2), RejectionCode("EXISTS")))
      ),
    ] as [(String?, PushAnswer)])
  func `another record than expected says what became of a push`(
    record: String?, answer: PushAnswer
  ) throws {
    let entry = record.map { EtcdEntry(Array($0.utf8), revision: 30) }
    let push = PushRequest.of(.count("number"), .count("number"))
    #expect(try EtcdPush.answer(push, found: entry) == answer)
  }

  /// A cluster that was restored under another name has the old keys. It performs a transaction
  /// that was planned in the old history, and to say that nothing was done would do it twice.
  @Test func `what another history has done is not undone`() {
    func answer(_ cluster: UInt64, _ succeeded: Bool) -> EtcdTransactionAnswer {
      EtcdTransactionAnswer(
        header: EtcdHeader(cluster: cluster, revision: 30, term: 2), succeeded: succeeded,
        ranges: succeeded ? [nil] : [EtcdRange(pairs: [], hasMore: false, count: 0)])
    }
    let finger = PushTests.finger
    #expect(EtcdPush.outcome(of: answer(1, true), at: finger) == .done)
    #expect(EtcdPush.outcome(of: answer(1, false), at: finger) == .notDone(nil))
    #expect(EtcdPush.outcome(of: answer(2, true), at: finger) == .doneElsewhere)
    #expect(EtcdPush.outcome(of: answer(2, false), at: finger) == .foreign)
  }

  @Test(arguments: [
    "", "7", "{}", #"{"last":0}"#, #"{"last":-1}"#, #"{"last":"7"}"#,
    #"{"last":2,"refused":3,"code":""}"#, #"{"last":2,"refused":1}"#,
  ])
  func `a record that is not ours is an error, and a model refuses it`(text: String) throws {
    #expect(throws: EtcdRecordError.self) {
      try PushTests.plan(.of(.tally), over: PushTests.view(record: text))
    }
    var model = try Chores(
      snapshot: EtcdSnapshot(entries: PushTests.view().map, client: ClientID(7)))
    #expect(throws: EtcdModelRefusal.record) {
      try model.apply(
        EtcdEvent(key: .record(of: ClientID(7)), value: Array(text.utf8), revision: 21))
    }
  }

  // MARK: Models

  @Test func `a model confirms with its record, and hears nothing of others'`() throws {
    var model = try Chores(
      snapshot: EtcdSnapshot(entries: PushTests.view().map, client: ClientID(7)))
    #expect(model.confirmation == MutationConfirmation(last: .none))
    let entries = model.entries
    let record = Array(#"{"code":"EXISTS","last":3,"refused":2}"#.utf8)
    try model.apply(EtcdEvent(key: .record(of: ClientID(8)), value: [1], revision: 21))
    try model.apply(EtcdEvent(key: .record(of: ClientID(7)), value: record, revision: 22))
    #expect(model.entries == entries)
    let refusal = MutationRefusal(MutationID(2), RejectionCode("EXISTS"))
    #expect(model.confirmation == MutationConfirmation(last: MutationID(3), refusal: refusal))
    #expect(model.state.record?.revision == 22)
  }

  @Test func `a model is saved and read back`() throws {
    var model = try Chores(
      snapshot: EtcdSnapshot(entries: PushTests.view().map, client: ClientID(7)))
    try model.apply(
      EtcdEvent(
        key: .record(of: ClientID(7)), value: Array(#"{"last":3}"#.utf8), revision: 22))
    #expect(try PushTests.reread(model) == model)
    let map = EtcdMap(snapshot: EtcdSnapshot(entries: model.entries, client: ClientID(7)))
    #expect(try PushTests.reread(map) == map)
  }

  static func reread<Model: StorableModel>(_ model: Model) throws -> Model {
    var rows = RowWriter()
    model.store(since: nil, into: &rows)
    let stored = rows.rows.compactMap { row in row.value.map { (key: row.key, value: $0) } }
      .sorted { $0.key < $1.key }
    return try Model(stored: try RowReader(stored))
  }
}
