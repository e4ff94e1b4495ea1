import Testing

@testable import UpdateMachine

/// Undo and redo: what a change did is taken back, and nothing that others have done.
@Suite struct UndoTests {
  private var typist = Typist()

  @Test mutating func `what never left is discarded, and nobody hears of it`() throws {
    try typist.make(.type("a", "Milk"))
    #expect(typist.undoable == "type" && typist.redoable == nil)
    #expect(try typist.undo() == .discarded(MutationTicket(1)))
    #expect(typist.shown == [:] && typist.local.outbox.isEmpty)
    #expect(typist.undoable == nil && typist.redoable == "type")
    #expect(try typist.redo() == .queued(MutationTicket(2)))
    #expect(typist.shown == ["a": "Milk"])
    try typist.run()
    #expect(typist.server["a"] == "Milk" && typist.last == MutationID(1))
  }

  @Test mutating func `what has left is taken back by its inverse, also while it is out`() throws {
    try typist.make(.type("a", "Milk"))
    typist.send()
    #expect(try typist.undo() == .queued(MutationTicket(2)))
    #expect(typist.shown == [:] && typist.redoable == "type", "the name of what the user did")
    try typist.run()
    #expect(typist.server["a"] == nil && typist.last == MutationID(2))
    #expect(try typist.redo() == .queued(MutationTicket(3)))
    try typist.run()
    #expect(typist.server["a"] == "Milk")
    #expect(try typist.undo() == .queued(MutationTicket(4)))
    #expect(typist.shown == [:])
  }

  @Test mutating func `the newest goes first, and a new change leaves nothing to redo`() throws {
    for (key, title) in [("a", "1"), ("b", "2"), ("c", "3")] { try typist.make(.type(key, title)) }
    try typist.run()
    try typist.undo()
    try typist.undo()
    #expect(typist.shown == ["a": "1"])
    try typist.redo()
    #expect(typist.shown == ["a": "1", "b": "2"])
    try typist.make(.look)
    #expect(typist.redoable == "type", "what cannot be undone is no new chapter")
    try typist.make(.type("d", "4"))
    #expect(typist.redoable == nil)
    #expect(try typist.redo() == .nothing)
    for _ in 1...3 { try typist.undo() }
    #expect(typist.shown == [:])
    #expect(try typist.undo() == .nothing)
  }

  /// The point of it. The inverse is what the server's run of the change has done: here others had
  /// named the thing between.
  @Test mutating func `an inverse restores what the change has overwritten`() throws {
    typist.others("a", "Milk")
    typist.pull()
    try typist.make(.type("a", "Bread"))
    typist.send()
    typist.others("a", "Oats")
    typist.pull()
    try typist.undo()
    #expect(typist.shown == ["a": "Oats"])
    try typist.redo()
    try typist.run()
    #expect(typist.server["a"] == "Bread")
    try typist.undo()
    try typist.run()
    #expect(typist.server["a"] == "Oats")
  }

  @Test mutating func `an event with the change itself tells exactly what it did`() throws {
    typist = Typist(delivery: .atLeastOnce)
    let ticket = try typist.make(.type("a", "Bread"))
    typist.send()
    // Others name it; the server runs ours after that. The client hears of both at once.
    typist.others("a", "Oats")
    typist.local.confirm(typist.server, echo: nil)
    typist.others("a", "Bread")
    typist.local.confirm(typist.server, echo: ticket)
    #expect(typist.local.outbox.isEmpty)
    try typist.undo()
    #expect(typist.shown == ["a": "Oats"])
  }

  /// A server that tells of changes only in its state: the news come first, and then the word that
  /// they are ours.
  @Test mutating func `what is there already, and pending in name, can be undone`() throws {
    typist = Typist(delivery: .atLeastOnce)
    typist.others("a", "Milk")
    typist.pull()
    let ticket = try typist.make(.type("a", "Bread"))
    typist.send()
    typist.others("a", "Bread")
    typist.local.confirm(typist.server, echo: nil)
    #expect(typist.local.outbox.state(of: ticket) == .sent && typist.shown == ["a": "Bread"])
    guard case .queued = try typist.undo() else { throw Naming.Changed() }
    #expect(typist.shown == ["a": "Milk"])
    try typist.redo()
    #expect(typist.shown == ["a": "Bread"])
  }

  @Test mutating func `nobody else's later work is undone`() throws {
    try typist.make(.type("a", "Bread"))
    try typist.make(.type("b", "Rye"))
    try typist.run()
    typist.others("b", "Corn")
    typist.pull()
    #expect(try typist.undo() == .outdated(Naming.Changed()))
    #expect(typist.shown == ["a": "Bread", "b": "Corn"] && typist.local.outbox.isEmpty)
    #expect(typist.redoable == nil)
    #expect(try typist.undo() == .queued(MutationTicket(3)), "the one before it")
    // And not if the news come while the inverse is on its way.
    typist.others("a", "Oats")
    try typist.run()
    #expect(typist.server["a"] == "Oats")
    #expect(typist.local.outbox.setAside.count == 1, "the user sees that it was in vain")
  }

  @Test mutating func `what did nothing has nothing to undo`() throws {
    typist.others("a", "Milk")
    typist.pull()
    try typist.make(.suggest("a", "Oats"))
    #expect(typist.undoable == nil)
    // Here only a state tells, which does not say whether Corn came before or after.
    try typist.make(.suggest("b", "Rye"))
    typist.send()
    typist.others("b", "Corn")
    try typist.run()
    #expect(typist.server["b"] == "Corn")
    #expect(try typist.undo() == .outdated(Naming.Changed()))
    // Here an event does.
    typist = Typist(delivery: .atLeastOnce)
    let ticket = try typist.make(.suggest("b", "Rye"))
    typist.send()
    typist.others("b", "Corn")
    typist.local.confirm(typist.server, echo: nil)
    #expect(typist.undoable == "suggest")
    typist.local.confirm(typist.server, echo: ticket)
    #expect(typist.undoable == nil)
  }

  @Test mutating func `what was refused, discarded or threw has nothing to undo`() throws {
    let first = try typist.make(.type("a", "Milk"))
    try typist.make(.replace("a", "Milk", by: "Oats"))
    typist.feed(.discarded(first))
    #expect(typist.local.outbox.setAside.count == 1 && typist.undoable == "replace")
    #expect(try typist.undo() == .discarded(MutationTicket(2)))
    #expect(typist.local.outbox.isEmpty && typist.undoable == nil && typist.redoable == nil)

    try typist.make(.type("a", "Milk"))
    try typist.make(.replace("a", "Milk", by: "Oats"))
    typist.send()
    typist.feed(.answered(typist.push!.id, .refused(MutationRefusal(MutationID(2)))))
    #expect(typist.local.outbox.setAside.count == 1)
    #expect(try typist.undo() == .discarded(MutationTicket(4)))
    #expect(typist.redoable == nil && typist.undoable == "type")
  }

  @Test mutating func `what is refused after it was undone is gone, and its undo with it`() throws {
    let ticket = try typist.make(.type("a", "Milk"))
    typist.send()
    #expect(try typist.undo() == .queued(MutationTicket(2)))
    typist.feed(.answered(typist.push!.id, .refused(MutationRefusal(MutationID(1)))))
    #expect(typist.local.outbox.isEmpty && typist.shown == [:])
    #expect(typist.local.outbox.state(of: ticket) == .discarded)
    #expect(typist.undoable == nil && typist.redoable == nil)
  }

  /// Seeds 277 and 209 of the ledger with the fault `undo`.
  @Test mutating func `what a proxy has refused waits with its undo`() throws {
    for isRefusedByServer in [false, true] {
      typist = Typist()
      let ticket = try typist.make(.type("a", "Milk"))
      typist.send()
      try typist.undo()
      typist.feed(.failed(typist.push!.id, .rejected(RejectionCode("NO")), hasLeft: true))
      var outbox: Outbox<Naming> { typist.local.outbox }
      #expect(outbox.setAside.count == 2 && outbox.pending.isEmpty && typist.shown == [:])
      #expect(!outbox.canRetry(MutationTicket(2)) && outbox.canRetry(ticket))
      #expect(try typist.undo() == .nothing)
      if isRefusedByServer {
        typist.last = MutationID(1)
        typist.pull(refusal: MutationRefusal(MutationID(1)))
      } else {
        typist.feed(.discarded(ticket))
      }
      #expect(outbox.isEmpty && typist.undoable == nil && typist.redoable == nil)
    }
  }

  /// Seed 6769 of the ledger. The server runs nothing behind what it refuses, whatever has left.
  @Test mutating func `an undo that was tried again goes with what the server then refuses`() throws
  {
    let ticket = try typist.make(.type("a", "Milk"))
    typist.send()
    try typist.undo()
    typist.feed(.answered(typist.push!.id, .accepted))
    typist.send()
    #expect(typist.push!.mutations.map(\.ticket) == [MutationTicket(2)])
    typist.feed(.failed(typist.push!.id, .rejected(RejectionCode("NO")), hasLeft: true))
    typist.feed(.retried(MutationTicket(2)))
    #expect(typist.local.outbox.mayHaveCopy(of: MutationTicket(2)))
    typist.last = MutationID(1)
    typist.pull(refusal: MutationRefusal(MutationID(1)))
    #expect(typist.local.outbox.isEmpty && typist.shown == [:])
    #expect(typist.local.outbox.state(of: ticket) == .discarded)
  }

  @Test mutating func `what is refused after it was redone waits for the user`() throws {
    let ticket = try typist.make(.type("a", "Milk"))
    typist.send()
    try typist.undo()
    try typist.redo()
    typist.feed(.answered(typist.push!.id, .refused(MutationRefusal(MutationID(1)))))
    #expect(typist.local.outbox.setAside.map(\.ticket) == [ticket])
    #expect(typist.local.outbox.pending.isEmpty && typist.shown == [:])
  }

  @Test mutating func `what is refused after it was undone in part waits for the user`() throws {
    typist = Typist(isStarted: false)
    try typist.make(.type("a", "M"))
    try typist.make(.type("a", "Mi"))
    typist.feed(.app(.started(foreground: true)))
    typist.send()
    try typist.undo()
    typist.feed(.answered(typist.push!.id, .refused(MutationRefusal(MutationID(1)))))
    #expect(typist.local.outbox.setAside.count == 1 && typist.local.outbox.pending.isEmpty)
  }

  @Test mutating func `a change and its undo are tried again together`() throws {
    let ticket = try typist.make(.type("a", "Milk"))
    typist.send()
    try typist.undo()
    typist.feed(.failed(typist.push!.id, .rejected(RejectionCode("NO")), hasLeft: true))
    typist.feed(.retried(ticket))
    #expect(typist.local.outbox.setAside.isEmpty && typist.shown == [:])
    try typist.run()
    #expect(typist.server["a"] == nil && typist.last == MutationID(2))
  }

  @Test mutating func `two changes that one answer confirms have inverses of their own`() throws {
    typist.others("a", "Milk")
    typist.pull()
    try typist.make(.type("a", "Bread"))
    try typist.make(.replace("a", "Bread", by: "Rye"))
    typist.send()
    typist.others("a", "Bread")
    let (before, between) = (typist.local.view.confirmed, typist.server)
    typist.local.confirm(between, through: MutationID(1), refusal: nil, after: before)
    typist.others("a", "Rye")
    typist.local.confirm(typist.server, through: MutationID(2), refusal: nil, after: between)
    try typist.undo()
    #expect(typist.shown == ["a": "Bread"])
    try typist.undo()
    #expect(typist.shown == ["a": "Milk"])
  }

  @Test mutating func `the order of what can be redone survives a restart`() throws {
    typist = Typist(isStarted: false)
    try typist.make(.type("a", "Milk"))
    try typist.make(.replace("a", "Milk", by: "Oats"))
    try typist.undo()
    try typist.undo()
    try typist.restart()
    try typist.redo()
    #expect(typist.shown == ["a": "Milk"])
    try typist.redo()
    #expect(typist.shown == ["a": "Oats"])
  }

  @Test mutating func `an edit that comes too late changes nothing`() throws {
    let ticket = try typist.make(.type("a", "Milk"))
    typist.send()
    let history = typist.local.outbox.history
    typist.feed(.edited(ticket, .type("a", "Oats")))
    #expect(typist.local.outbox.history == history)
  }

  @Test mutating func `as long as a change throws, its undo has no effect either`() throws {
    typist.others("a", "Milk")
    typist.pull()
    try typist.make(.replace("a", "Milk", by: "Oats"))
    typist.send()
    try typist.undo()
    typist.others("a", "Oats")  // By chance, what the undo expects.
    typist.pull()
    #expect(typist.shown == ["a": "Oats"])
    typist.others("a", "Milk")
    typist.pull()
    #expect(typist.local.outbox.setAside.isEmpty && typist.shown == ["a": "Milk"])
  }

  @Test mutating func `an edit of what was undone is no longer undone`() throws {
    let ticket = try typist.make(.type("a", "Milk"))
    try typist.make(.look)
    #expect(try typist.undo() == .queued(MutationTicket(3)))
    typist.feed(.edited(ticket, .type("a", "Oats")))
    #expect(typist.shown == ["a": "Oats"] && typist.local.outbox.pending.count == 2)
    typist.feed(.discarded(ticket))
    #expect(typist.shown == [:])
  }

  /// Seed 328 of the ledger with the fault `undo`: only one of two undos went.
  @Test mutating func `an edit of what was coalesced ends each of its undos`() throws {
    typist = Typist(isStarted: false)
    let ticket = try typist.make(.type("a", "M"))
    try typist.make(.type("a", "Mi"))
    try typist.undo()
    try typist.undo()
    #expect(typist.shown == [:] && typist.local.outbox.pending.count == 3)
    typist.feed(.edited(ticket, .type("b", "Rye")))
    #expect(typist.shown == ["b": "Rye"] && typist.local.outbox.pending.count == 1)
  }

  /// Seeds 93 and 77 of the ledger with the fault `undo`: what had been discarded and was made
  /// again no longer knew what it undid, and stayed when that was given up.
  @Test mutating func `a redo that was undone and redone goes with its undo`() throws {
    try typist.make(.type("a", "Milk"))
    try typist.make(.look)
    #expect(try typist.undo() == .queued(MutationTicket(3)))
    #expect(try typist.redo() == .queued(MutationTicket(4)))
    #expect(try typist.undo() == .discarded(MutationTicket(4)))
    #expect(try typist.redo() == .queued(MutationTicket(5)))
    typist.feed(.discarded(MutationTicket(3)))
    #expect(typist.local.outbox.pending.count == 2 && typist.shown == ["a": "Milk"])

    #expect(try typist.undo() == .nothing, "its last step is gone")
    try typist.make(.type("b", "Rye"))
    try typist.make(.look)
    #expect(try typist.undo() == .queued(MutationTicket(8)))
    try typist.redo()
    #expect(try typist.undo() == .discarded(MutationTicket(9)))
    typist.feed(.discarded(MutationTicket(8)))
    #expect(try typist.redo() == .nothing && typist.shown == ["a": "Milk", "b": "Rye"])
  }

  @Test mutating func `as long as nobody knows, nothing is undone`() throws {
    typist = Typist(delivery: .atMostOnce)
    let ticket = try typist.make(.type("a", "Milk"))
    typist.send()
    typist.feed(.failed(typist.push!.id, .timedOut, hasLeft: true))
    #expect(try typist.undo() == .undecided(ticket))
    #expect(typist.undoable == "type")
    typist.feed(.discarded(ticket))
    #expect(try typist.undo() == .nothing)

    typist = Typist()
    let other = try typist.make(.suggest("a", "Milk"))
    typist.send()
    typist.others("a", "Oats")
    typist.pull()
    #expect(try typist.undo() == .undecided(other), "the server may find it free")
  }

  @Test mutating func `what was coalesced is undone step by step`() throws {
    typist = Typist(isStarted: false)
    for title in ["M", "Mi", "Mil"] { try typist.make(.type("a", title)) }
    #expect(typist.local.outbox.pending.count == 1)
    try typist.undo()
    #expect(typist.shown == ["a": "Mi"])
    try typist.undo()
    try typist.undo()
    #expect(typist.shown == [:])
    for _ in 1...3 { try typist.redo() }
    #expect(typist.shown == ["a": "Mil"])
    typist.feed(.app(.started(foreground: true)))
    try typist.run()
    try typist.undo()
    #expect(typist.shown == ["a": "Mi"])
  }

  @Test mutating func `an edit is undone as it is`() throws {
    let ticket = try typist.make(.suggest("a", "Milk"))
    typist.feed(.edited(ticket, .type("b", "Rye")))
    #expect(typist.shown == ["b": "Rye"])
    try typist.run()
    try typist.undo()
    #expect(typist.shown == [:])
  }

  @Test mutating func `it survives a restart`() throws {
    try typist.make(.type("a", "Milk"))
    try typist.make(.type("b", "Rye"))
    try typist.run()
    try typist.undo()
    try typist.restart()
    #expect(typist.undoable == "type" && typist.redoable == "type")
    try typist.undo()
    #expect(typist.shown == [:])
    try typist.redo()
    try typist.redo()
    #expect(typist.shown == ["a": "Milk", "b": "Rye"])
  }

  @Test mutating func `each save writes what has changed`() throws {
    try typist.make(.type("a", "Milk"))
    try typist.run()
    for act in [
      { (typist: inout Typist) in _ = try typist.make(.type("b", "Rye")) },
      { try $0.run() }, { try $0.undo() }, { try $0.run() }, { try $0.redo() },
      { try $0.undo() }, { _ = try $0.make(.type("c", "Corn")) }, { try $0.undo() },
    ] {
      let before = typist.local.outbox
      try act(&typist)
      var (disk, step) = (RowDisk(), RowWriter())
      before.store(since: nil, into: &step)
      disk.write(step.rows)
      step = RowWriter()
      typist.local.outbox.store(since: before, into: &step)
      disk.write(step.rows)
      #expect(
        UndoHistory<Naming>(
          stored: disk.rows, through: typist.local.outbox.newestTicket)
          == typist.local.outbox.history)
    }
  }

  @Test mutating func `the oldest are forgotten`() throws {
    for number in 1...150 {
      try typist.make(.type("\(number)", "x"))
      if number % 50 == 0 { try typist.run() }
    }
    for _ in 1...100 { try typist.undo() }
    #expect(try typist.undo() == .nothing)
    #expect(typist.shown.count == 50)
  }
}
