import SyncProtocols
import Testing
import UpdateMachine

/// What takes back a change of a record, and what it must find.
struct RecordUndoTests {
  private let key = RecordKey("t", "a")

  /// A client that has pulled one record.
  private func pulled(_ columns: JSONObject) -> RecordState {
    var state = RecordState()
    state.records[key] = SyncedRecord(columns, createdAt: RecordStamp(1))
    state.lastPulledAt = RecordStamp(1)
    return state
  }

  /// Makes a change as an outbox does. Returns what takes it back.
  private func make(_ change: RecordChange?, _ state: inout RecordState) throws -> RecordChange? {
    var change = try #require(change)
    let before = state
    change.stamp(from: before, ticket: MutationTicket(1), inPlaceOf: nil)
    try change.apply(to: &state)
    return change.inverse(from: before, to: state)
  }

  private func refusal(of change: RecordChange?, over state: RecordState) -> RecordChange.Refusal? {
    var state = state
    do throws(RecordChange.Refusal) {
      _ = try change?.apply(to: &state)
      return nil
    } catch {
      return error
    }
  }

  @Test func `undo, then redo, shows what was shown`() throws {
    let actions: [RecordChange.Action] = [
      .update(row(["x": 2])), .update(row(["y": 2])), .create(row(["x": 2, "y": 2])), .delete,
    ]
    for action in actions {
      for isThere in [true, false] {
        var state = isThere ? pulled(row(["x": 1])) : RecordState()
        if !isThere, action.isUpdate || action == .delete { continue }
        let before = state.records[key]?.columns
        var next = try make(RecordChange(action, key), &state)
        let after = state.records[key]?.columns
        for _ in 0..<3 {
          next = try make(next, &state)
          let undone = state.records[key]?.columns
          #expect((undone == nil) == (before == nil) && undone?["x"] == before?["x"])
          #expect(undone?["y"] ?? .null == before?["y"] ?? .null)
          next = try make(next, &state)
          #expect(state.records[key]?.columns == after)
        }
      }
    }
  }

  @Test func `what did nothing has no inverse`() throws {
    var state = pulled(row(["x": 1]))
    #expect(try make(RecordChange(.update(row(["x": 1])), key), &state) == nil)
    #expect(try make(RecordChange(.update(row(["y": .null])), key), &state) == nil)
    #expect(try make(RecordChange(.delete, RecordKey("t", "b")), &state) == nil)
  }

  @Test func `others may change other columns of an update meanwhile`() throws {
    var state = pulled(row(["x": 1, "y": 1]))
    let undo = try make(RecordChange(.update(row(["x": 2])), key), &state)
    state.records[key]?.columns["y"] = 3
    _ = try make(undo, &state)
    #expect(state.records[key]?.columns == row(["x": 1, "y": 3]))
  }

  @Test func `an undo that finds the work of others does nothing, and is not overruled`() throws {
    var state = pulled(row(["x": 1]))
    var undo = try make(RecordChange(.update(row(["x": 2])), key), &state)
    #expect(refusal(of: undo, over: pulled(row(["x": 3]))) == .changed)
    #expect(refusal(of: undo, over: pulled(row([:]))) == .changed)
    var gone = state
    gone.records[key] = nil
    #expect(refusal(of: undo, over: gone) == .gone)

    // A creation, to which others have added a column, or of which they have changed one.
    state = RecordState()
    undo = try make(RecordChange(.create(row(["x": 1])), key), &state)
    #expect(refusal(of: undo, over: pulled(row(["x": 1, "y": 1]))) == .changed)
    #expect(refusal(of: undo, over: pulled(row(["x": 2]))) == .changed)
    #expect(refusal(of: undo, over: pulled(row(["x": 1, "y": .null]))) == nil)

    // A deletion, after which others have created the record anew.
    state = pulled(row(["x": 1]))
    undo = try make(RecordChange(.delete, key), &state)
    #expect(refusal(of: undo, over: pulled(row(["x": 2]))) == .changed)
    #expect(undo?.isOverruled(by: .changed) == false)
  }

  @Test func `an undo that finds its own effect has been made already`() throws {
    // The answer to its push was lost.
    var state = pulled(row(["x": 1]))
    let update = try make(RecordChange(.update(row(["x": 2, "y": 2])), key), &state)
    #expect(refusal(of: update, over: pulled(row(["x": 1]))) == nil)
    state = pulled(row(["x": 1]))
    let deletion = try make(RecordChange(.delete, key), &state)
    #expect(refusal(of: deletion, over: pulled(row(["x": 1]))) == nil)
    state = RecordState()
    let creation = try make(RecordChange(.create(row(["x": 1])), key), &state)
    #expect(refusal(of: creation, over: RecordState()) == nil)
  }

  @Test func `what expects something stays a change of its own`() throws {
    var state = pulled(row(["x": 1]))
    let change = RecordChange(.update(row(["x": 2])), key)
    var undo = try #require(try make(change, &state))
    #expect(change.coalesced(with: undo) == nil && undo.coalesced(with: change) == nil)
    #expect(change.coalesced(with: change) == change)
    // Whoever edits it makes another change of it.
    undo.action = .update(row(["x": 3]))
    #expect(undo == RecordChange(.update(row(["x": 3])), key))
  }

  @Test func `an undone deletion that is pending puts the record in the place of the old`() throws {
    var state = pulled(row(["x": 1]))
    var undo = try #require(try make(RecordChange(.delete, key), &state))
    undo.stamp(from: state, ticket: MutationTicket(2), inPlaceOf: nil)
    #expect(undo.action == .replace(row(["x": 1])) && undo.expected == .nothing)
  }

  // MARK: The saved form

  private func read(_ bytes: ByteWriter) throws -> RecordChange {
    var reader = ByteReader(bytes.bytes)
    let change = try RecordChange(from: &reader)
    #expect(reader.left == 0)
    return change
  }

  @Test func `a condition is saved with its change`() throws {
    let state = pulled(row(["x": 1]))
    for action in [.update(row(["x": 2])), .delete, .create(row(["y": 2]))] as [RecordChange.Action]
    {
      var change = state
      let undo = try #require(try make(RecordChange(action, key), &change))
      let redo = try #require(try make(undo, &change))
      for saved in [undo, redo, RecordChange(action, key)] {
        var bytes = ByteWriter()
        bytes.put(saved)
        #expect(try read(bytes) == saved)
      }
    }
    for cut in ["undo-update", "undo-delete"] {
      var bytes = ByteWriter()
      bytes.put(key)
      bytes.put(RecordStamp(1))
      bytes.put(cut)
      bytes.put(cut == "undo-delete" ? nil : JSONValue.object(row(["x": 1])) as JSONValue?)
      bytes.put(JSONValue?.none)
      #expect(throws: StoredFormError.self) { try read(bytes) }
    }
  }

  @Test func `what the version before has saved expects nothing`() throws {
    for name in ["create", "replace", "update", "delete"] {
      var bytes = ByteWriter()
      bytes.put(key)
      bytes.put(RecordStamp(5))
      bytes.put(name)
      bytes.put(name == "delete" ? nil : JSONValue.object(row(["x": 1])) as JSONValue?)
      let change = try read(bytes)
      #expect(change.name == name && change.expected == nil)
      var again = ByteWriter()
      again.put(change)
      #expect(again.bytes == bytes.bytes)
    }
  }
}

extension RecordChange.Action {
  fileprivate var isUpdate: Bool {
    if case .update = self { true } else { false }
  }
}
