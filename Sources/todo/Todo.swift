import EtcdSync
import Foundation
import SQLiteStore
import SyncProtocols
import UpdateMachine

/// One run of the command: shows a list, and changes it.
actor Todo {
  typealias Machine = UpdateMachine<EtcdSource<EtcdModel<Deed>>>

  private let options: Options
  private let source: EtcdSource<EtcdModel<Deed>>
  private let file: SQLiteFile
  private let machine: Machine
  private let output = Output()
  private var acting: Task<Int32, Never>?
  private var interruption: Int32?
  /// The list that the user saw last, whose numbers count.
  private var shown: Rows?
  /// Who was here then, as it was printed last.
  private var company = "here: nobody"

  /// Sends nothing yet.
  init(_ options: Options, _ connection: EtcdConnection, _ file: SQLiteFile) throws {
    self.options = options
    self.file = file
    let output = output
    source = try EtcdSource(
      connection, prefix: "todo/\(options.list)/", for: EtcdModel<Deed>.self)
    machine = Machine(
      source: source, store: file.store(named: options.list),
      reporter: { output.complain(Todo.words($0)) })
  }

  /// Does what the command says. Returns the exit code.
  func run() async -> Int32 {
    if let aside = await file.movedAside { output.complain("\(aside)") }
    let code = await withTaskGroup(of: Void.self) { group in
      group.addTask { [machine] in await machine.run() }
      let acting = Task { await act() }
      self.acting = acting
      if interruption != nil { acting.cancel() }
      let code = await acting.value
      await machine.stop()
      return code
    }
    await file.close()
    return interruption ?? code
  }

  /// Ends in order. What is on disk is sent by the next run.
  func interrupt(code: Int32) {
    interruption = code
    acting?.cancel()
  }

  private func act() async -> Int32 {
    do throws(Misuse) {
      switch options.command {
      case .watch: return await watch()
      case .prompt: return await prompt()
      case .list:
        try await show(
          await state { $0.freshness.claim == .connected && $0.pending.isEmpty })
        return 0
      case .add, .done, .reopen, .remove, .undo, .redo:
        // The saved list is enough to make a change, so this works without a connection.
        let state = await state { $0.view != nil }
        _ = try rows(of: state)
        return await perform(options.command)
      }
    } catch {
      output.complain(error.words)
      return 1
    }
  }

  // MARK: Showing

  private func rows(of state: Machine.State) throws(Misuse) -> Rows {
    guard let view = state.view else {
      throw Misuse("the list was never read: \(Todo.words(state))")
    }
    return Rows(view, pending: state.pending)
  }

  private func show(_ state: Machine.State) async throws(Misuse) {
    let rows = try rows(of: state)
    shown = rows
    output.print(rows.lines.isEmpty ? ["the list is empty"] : rows.lines)
    output.status(Todo.words(state))
  }

  /// Shows the list whenever it changes, and the others that this user is here, until the end.
  private func watch() async -> Int32 {
    await withTaskGroup(of: Void.self) { group in
      if let name = options.name {
        group.addTask { await self.stay(as: name) }
      }
      let code = await follow()
      group.cancelAll()
      return code
    }
  }

  private func stay(as name: String) async {
    do throws(EtcdPresenceError) {
      try await source.present(
        as: Company.newKey(), value: name, timeToLive: Company.timeToLive)
    } catch {
      output.complain(Company.words(error))
    }
  }

  private func follow() async -> Int32 {
    for await state in await machine.states() {
      if state.freshness.claim != .unknown { output.status(Todo.words(state)) }
      if let view = state.view {
        let rows = Rows(view, pending: state.pending)
        let isNew = rows != shown
        shown = rows
        if isNew { output.print(rows.lines.isEmpty ? ["the list is empty"] : rows.lines + [""]) }
        let line = Company.line(view, isConnected: state.freshness.claim == .connected)
        if let line, line != company {
          output.print([line])
          company = line
        }
      }
      await discard(state.setAside)
      if case .halted = state.freshness.claim { return 1 }
    }
    return 0
  }

  /// Shows the list, and does what the user types, until the end of the input. Returns the exit
  /// code of the last command.
  private func prompt() async -> Int32 {
    let lines = output.lines()
    return await withTaskGroup(of: Int32.self) { group in
      group.addTask { await self.watch() }
      group.addTask {
        var code: Int32 = 0
        for await line in lines { code = await self.obey(line) ?? code }
        await self.leave()
        return code
      }
      let code = await group.next() ?? 0
      group.cancelAll()
      return code
    }
  }

  /// Returns the command's exit code; `nil`: the line has none.
  private func obey(_ line: String) async -> Int32? {
    let words = line.split(separator: " ").map(String.init)
    guard !words.isEmpty else { return nil }
    do throws(Misuse) {
      let command = try Command(words)
      let state = await state { $0.view != nil }
      switch command {
      case .list, .watch, .prompt: try await show(state)
      case .add, .done, .reopen, .remove, .undo, .redo:
        if let ticket = try await make(command, in: state) {
          return await machine.stored(ticket) ? 0 : 1
        }
      }
      return 0
    } catch {
      output.complain(error.words)
      return 1
    }
  }

  /// Waits for what is not sent yet.
  private func leave() async {
    let state = await state { $0.pending.isEmpty }
    if !state.pending.isEmpty { output.complain(Todo.words(state)) }
  }

  // MARK: Changing

  /// Makes one change, and waits for the cluster. Returns the exit code.
  private func perform(_ command: Command) async -> Int32 {
    let ticket: MutationTicket?
    do throws(Misuse) {
      let state = await machine.state
      ticket = try await make(command, in: state)
    } catch {
      output.complain(error.words)
      return 1
    }
    guard let ticket, await machine.stored(ticket) else { return ticket == nil ? 0 : 1 }
    let fate = await within(options.wait) { [machine] in await machine.acknowledged(ticket) }
    switch fate {
    case .acknowledged, .discarded, .queued, .sent: return 0
    case nil:
      output.complain("kept on this computer. \(Todo.words(await machine.state))")
      return 0
    case .overruled:
      output.complain("somebody has removed it meanwhile")
      return 1
    case .setAside, .uncertain:
      await discard(await machine.state.setAside)
      return 1
    }
  }

  /// Makes the change that a command asks for, and prints what it did. Returns the change's ticket;
  /// `nil`: the command makes no change.
  private func make(
    _ command: Command, in state: Machine.State
  ) async throws(Misuse) -> MutationTicket? {
    var rows = shown
    if rows == nil { rows = try self.rows(of: state) }
    guard let rows else { return nil }
    switch command {
    case .add(let title):
      return try await mutate(.add(Todo.newKey(), title: title), "added: \(title)")
    case .done(let words):
      let row = try rows.row(words)
      return try await mutate(.mark(row.key, isDone: true), "done: \(row.item.title)")
    case .reopen(let words):
      let row = try rows.row(words)
      return try await mutate(.mark(row.key, isDone: false), "open again: \(row.item.title)")
    case .remove(let words):
      let row = try rows.row(words)
      return try await mutate(.remove(row.key), "removed: \(row.item.title)")
    case .undo: return try await takeBack(state.undoable, among: state, redoes: false)
    case .redo: return try await takeBack(state.redoable, among: state, redoes: true)
    case .list, .watch, .prompt: return nil
    }
  }

  private func mutate(_ deed: Deed, _ words: String) async throws(Misuse) -> MutationTicket {
    do throws(MutationError<ChangeRefusal>) {
      let ticket = try await machine.mutate(deed).ticket
      output.print([Rows.plain(words)])
      return ticket
    } catch {
      switch error {
      case .refused: throw Misuse("somebody has removed it meanwhile")
      case .full: throw Misuse("too many changes wait to be sent")
      case .nothingHeld, .notConnected: throw Misuse("the list was never read")
      case .unstorable(let error): throw Misuse("it cannot be saved: \(error)")
      }
    }
  }

  private func takeBack(
    _ name: String?, among state: Machine.State, redoes: Bool
  ) async throws(Misuse) -> MutationTicket? {
    let word = redoes ? "redone" : "undone"
    let outcome: UndoOutcome<ChangeRefusal>
    do throws(MutationError<ChangeRefusal>) {
      outcome = redoes ? try await machine.redo() : try await machine.undo()
    } catch {
      throw Misuse("it cannot be \(word) now")
    }
    switch outcome {
    case .queued(let ticket):
      let words = [word + ":", name, await title(of: ticket, before: state)]
      output.print([Rows.plain(words.compactMap(\.self).joined(separator: " "))])
      return ticket
    case .discarded(let ticket):
      let words = [word + ":", name, await title(of: ticket, before: state)]
      let had = state.pending.contains { $0.ticket == ticket } ? "not been sent" : "no effect"
      output.print([
        Rows.plain(words.compactMap(\.self).joined(separator: " ") + ", which had \(had)")
      ])
      return ticket
    case .outdated: throw Misuse("it cannot be \(word): somebody has changed it since")
    case .undecided: throw Misuse("it cannot be \(word) yet: it is on its way")
    case .nothing: throw Misuse("there is nothing to be \(word)")
    }
  }

  /// The title of the item that a change is about. An undo may remove the item or bring it back, so
  /// it is looked for in the state before and in the present one; `nil`: it is in neither.
  private func title(of ticket: MutationTicket, before: Machine.State) async -> String? {
    let after = await machine.state
    let pending = (before.pending + after.pending).first { $0.ticket == ticket }?.change
    let change = pending ?? before.setAside.first { $0.ticket == ticket }?.change
    guard let key = change?.key else { return nil }
    return (Item(before.view?[key]) ?? Item(after.view?[key]))?.title
  }

  /// Gives up changes that have no effect, and says so.
  private func discard(_ changes: [MutationSetAside<Deed>]) async {
    for change in changes where await machine.discard(change.ticket) {
      let reason =
        switch change.reason {
        case .threw: "somebody was faster"
        case .refused(let code) where Todo.isLate(code): "somebody was faster"
        case .refused(let code): "the cluster refuses it (\(code.text))"
        }
      output.complain("your change '\(change.change.name)' has no effect: \(reason)")
    }
  }

  /// A key that sorts after those before it, and that nobody else draws.
  private static func newKey() -> EtcdKey {
    let moment = String(UInt64(max(0, SystemClock().wallTime.milliseconds)), radix: 16)
    let zeros = String(repeating: "0", count: max(0, 12 - moment.count))
    return EtcdKey("item/\(zeros)\(moment)-\(UUID().uuidString.prefix(8))")
  }

  // MARK: Waiting

  /// Waits until a state is so, as long as a command may. Returns the last one.
  private func state(
    where isSo: @escaping @Sendable (Machine.State) -> Bool
  ) async -> Machine.State {
    let states = await machine.states()
    let found = await within(options.wait) { () -> Machine.State? in
      for await state in states {
        if isSo(state) { return state }
        if case .halted = state.freshness.claim { return state }
      }
      return nil
    }
    if let found { return found }
    return await machine.state
  }

  /// Returns what `body` does; `nil`: it took longer than so many seconds.
  private func within<Value: Sendable>(
    _ seconds: Int64, _ body: @escaping @Sendable () async -> Value?
  ) async -> Value? {
    await withTaskGroup(of: Value?.self) { group in
      group.addTask { await body() }
      group.addTask {
        let clock = SystemClock()
        try? await clock.sleep(until: clock.now + .seconds(seconds))
        return nil
      }
      let first = await group.next() ?? nil
      group.cancelAll()
      return first
    }
  }
}
