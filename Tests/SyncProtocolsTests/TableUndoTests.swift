import SyncProtocols
import Testing
import UpdateMachine

/// What takes back a change of a row, and what the server must find.
struct TableUndoTests {
  /// Makes a change at the server. Returns what takes it back, by what its user saw.
  private func make(_ change: TableChange?, _ desk: inout TableDesk) throws -> TableChange? {
    let change = try #require(change)
    var client = TableFollower()
    try client.follow(&desk)
    let state = try #require(client.model?.state)
    try desk.make(change)
    return change.inverse(from: state, to: state)
  }

  private func content(_ key: TableRowKey, _ desk: TableDesk) -> SyncedRow.Content? {
    desk.shown.first { $0.key == key }?.content
  }

  @Test func `undo, then redo, shows what was shown`() throws {
    let changes: [TableChange] = [
      .set(action(10), ["day": 7]), .set(action(10), ["new": 1, "day": 0]),
      .move(action(10), parent: 2), .move(action(10), parent: nil),
    ]
    for change in changes {
      var desk = try TableDesk.filled()
      let before = content(action(10), desk)
      var next = try make(change, &desk)
      let after = content(action(10), desk)
      #expect(before != after)
      for _ in 0..<3 {
        next = try make(next, &desk)
        let undone = content(action(10), desk)
        #expect(undone?.parent == before?.parent && undone?.fields["day"] == before?.fields["day"])
        #expect(undone?.fields["new"] ?? .null == .null)
        next = try make(next, &desk)
        #expect(content(action(10), desk) == after)
      }
    }
  }

  @Test func `what does nothing has no inverse, nor has what cannot be taken back`() throws {
    var desk = try TableDesk.filled()
    #expect(try make(.set(action(10), ["day": 0]), &desk) == nil)
    #expect(try make(.set(action(10), ["none": .null]), &desk) == nil)
    #expect(try make(.move(action(10), parent: 1), &desk) == nil)
    #expect(try make(.insert(action(12), parent: 1, [:]), &desk) == nil)
    #expect(try make(.delete(action(12)), &desk) == nil)
  }

  @Test func `others may change other fields meanwhile, and keep what they have written`() throws {
    var desk = try TableDesk.filled()
    let undo = try make(.set(action(10), ["day": 7]), &desk)
    try desk.make(.set(action(10), ["title": "hers"]), .move(action(10), parent: 2))
    var other = desk
    _ = try make(undo, &desk)
    #expect(content(action(10), desk)?.fields == ["day": 0, "title": "hers"])
    #expect(content(action(10), desk)?.parent == 2)
    try other.make(.set(action(10), ["day": 8]))
    #expect(throws: ChangeRefusal("changed")) { _ = try make(undo, &other) }
    #expect(content(action(10), other)?.fields["day"] == 8)
    try other.make(.delete(action(10)))
    #expect(throws: ChangeRefusal("deleted")) { _ = try make(undo, &other) }
  }

  @Test func `a row is moved back unless others have moved it, or its parent is gone`() throws {
    var desk = try TableDesk.filled()
    let undo = try make(.move(action(10), parent: 2), &desk)
    var other = desk
    try other.make(.move(action(10), parent: nil))
    #expect(throws: ChangeRefusal("changed")) { _ = try make(undo, &other) }
    other = desk
    try other.make(.delete(node(1)))
    #expect(throws: ChangeRefusal("deleted")) { _ = try make(undo, &other) }
  }

  @Test func `a redo finds the work of others as well, and a second copy does nothing`() throws {
    var desk = try TableDesk.filled()
    let undo = try make(.set(action(10), ["day": 7]), &desk)
    try desk.make(.set(action(10), ["day": 0]))  // She sets it back herself.
    #expect(throws: ChangeRefusal("changed")) { _ = try make(undo, &desk) }
    let back = try make(.move(action(10), parent: 2), &desk)
    _ = try make(back, &desk)
    #expect(throws: ChangeRefusal("changed")) { _ = try make(back, &desk) }
    #expect(content(action(10), desk)?.parent == 1)
  }

  @Test func `an undo is pushed and saved with what it must find`() throws {
    let changes: [TableChange] = [
      .restore(action(10), ["day": 0], ifFound: ["day": 7]),
      .moveBack(action(10), parent: 1, ifFound: 2),
      .moveBack(action(10), parent: nil, ifFound: nil),
    ]
    #expect(changes.map { $0.name } == ["restore", "move-back", "move-back"])
    for change in changes {
      #expect(TableChange(name: change.name, arguments: .object(change.arguments)) == change)
      var bytes = ByteWriter()
      change.put(into: &bytes)
      var reader = ByteReader(bytes.bytes)
      #expect(try TableChange(from: &reader) == change)
    }
    var arguments = changes[0].arguments
    arguments["found"] = nil
    #expect(TableChange(name: "restore", arguments: .object(arguments)) == nil)
  }
}
