import Foundation
import MessageSync
import SQLiteStore
import UpdateMachine
import ZulipSync

/// One run of the command: follows an account, and prints what comes.
actor Follower {
  typealias Machine = UpdateMachine<ListSource>
  typealias Views = WindowViews<MessageStore<ZulipMessageList>>
  typealias View = Views.Element

  let options: Options
  let account: AccountName
  let narrow: NarrowText
  private let file: SQLiteFile
  let connection: ZulipConnection
  /// The search or the sending, once it has begun.
  var task: Task<Void, Never>?
  let machine: Machine
  let mark: PrintMark
  var printer: Printer
  /// The printed messages; `nil` before the first look at the list.
  var printed: Printed?
  var window: (id: WindowID, list: ZulipMessageList)?
  /// The machine's latest claim.
  var claim = Freshness.Claim.unknown
  /// The latest failure, for the error message when a run that ends by itself times out.
  private var lastTrouble = "the server cannot be reached"
  var ending: Ending?

  let (views, viewsOpened) = AsyncStream.makeStream(of: Views.self)
  private let notices: AsyncStream<Notice>

  /// What the user may have to be told.
  private enum Notice {
    case report(DriverReport)
    /// The server will never give the list.
    case refused(SyncFailure)
  }

  /// The reason for the end.
  enum Ending {
    case done
    case interrupted(code: Int32)
    case trouble(String, code: Int32)

    /// The output is closed, or its disk is full.
    static func unprinted(_ error: any Error) -> Ending {
      .trouble("cannot write to standard output: \(error.localizedDescription)", code: 1)
    }
  }

  /// Opens the local files. Sends nothing to the server.
  init(
    _ options: Options, _ account: AccountName, _ connection: ZulipConnection, _ file: SQLiteFile
  ) async throws {
    self.options = options
    self.account = account
    self.file = file
    self.connection = connection
    narrow = try NarrowText(options.narrow)
    printer = Printer(
      isJSON: options.isJSON, isQuiet: options.endsByItself,
      Palette(
        options.color, isTerminal: isatty(1) == 1, ProcessInfo.processInfo.environment))
    mark = PrintMark(store: file.store(named: account.printed(options.narrow ?? "")))
    printed = try await mark.load()
    let (notices, noticed) = AsyncStream.makeStream(of: Notice.self)
    self.notices = notices
    machine = Machine(
      source: ListSource(source: ZulipAccountSource(connection, ZulipRegister(form: .raw))) {
        noticed.yield(.refused($0))
      },
      store: file.store(named: account.state), reporter: { noticed.yield(.report($0)) })
  }

  /// Follows the account until everything requested is printed, until Ctrl-C, or until only the
  /// user can help. Returns the exit code.
  func run() async -> Int32 {
    if let aside = await file.movedAside { printer.complain("\(aside)") }
    if options.logsOut { return await logOut() }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.runMachine() }
      await withTaskGroup(of: Void.self) { readers in
        readers.addTask { await self.look() }
        readers.addTask { await self.listen() }
        if options.endsByItself { readers.addTask { await self.waitInVain() } }
        await watch()
        await machine.stop()
        readers.cancelAll()
      }
    }
    await file.close()
    printer.clear()
    switch ending {
    case .done, nil: return 0
    case .interrupted(let code): return code
    case .trouble(let words, let code):
      printer.complain(words)
      return code
    }
  }

  /// Runs the machine, unless the end was already decided: a stop before a run has no effect.
  private func runMachine() async {
    if ending == nil { await machine.run() }
  }

  /// Ends at Ctrl-C. The server's log and the local files stay.
  func interrupt(code: Int32) async { await end(.interrupted(code: code)) }

  func end(_ ending: Ending) async {
    if self.ending == nil { self.ending = ending }
    task?.cancel()
    await machine.stop()
  }

  private func logOut() async -> Int32 {
    do throws(StoreError) {
      try await machine.logOut()
      for replica in try await file.replicas() where account.owns(replica.name) {
        try await file.erase(replica)
      }
    } catch {
      printer.complain("local data could not be erased: \(error)")
      return 1
    }
    await file.close()
    printer.complain("logged out; nothing is kept")
    return 0
  }

  // MARK: Watching

  private func watch() async {
    for await state in await machine.states() {
      claim = state.freshness.claim
      say(state)
      if case .halted(let halt) = claim {
        if halt != .stopped { await end(.trouble(Follower.words(halt), code: 1)) }
        return
      }
      if let model = state.model { await attend(to: model) }
      if ending != nil { return }
    }
  }

  /// Does what the command wants of the account: to open the list, or to answer once we are up to
  /// date.
  private func attend(to model: ZulipAccount) async {
    switch options.command {
    case .follow:
      if window == nil { await open(model) }
      await endIfHopeless(model)
      await endIfDone()
    case .unread:
      guard claim == .connected else { return }
      await answer { try $0.show(UnreadCounts(model.realm), in: model.realm) }
    case .search(let words):
      guard claim == .connected, task == nil else { return }
      task = Task { await find(words, in: model.realm) }
    case .send(let text):
      if task == nil { await post(text, model) }
    }
  }

  /// Prints the only answer of a command, and ends.
  func answer(_ show: (Printer) throws -> Void) async {
    do {
      try show(printer)
      await end(.done)
    } catch {
      await end(.unprinted(error))
    }
  }

  private func say(_ state: Machine.State) {
    switch claim {
    case .unknown: printer.status("reading the saved state")
    case .connected: printer.status("connected")
    case .connecting: printer.status(state.model == nil ? "connecting" : "connecting again")
    case .unreachable:
      let next = state.freshness.nextAttempt.map { Printer.time(SystemClock().date(of: $0)) }
      lastTrouble = Follower.words(
        state.trouble, connection.lastFailure, at: connection.site.text, next: next)
      printer.status("\(lastTrouble); trying again\(next.map { " at \($0)" } ?? "")")
    case .resting, .halted: break
    }
  }

  /// Prints failures that the user should see. The machine goes on by itself; only a run that ends
  /// by itself would wait in vain for a list that the server refuses.
  private func listen() async {
    for await notice in notices where ending == nil {
      switch notice {
      case .refused(let failure):
        guard options.endsByItself else { continue }
        await end(.trouble(Follower.words(refused: narrow, failure), code: 1))
        continue
      case .report(.failure(let failure)): lastTrouble = Follower.words(failure)
      case .report(.store(let error)): lastTrouble = "\(error)"
      case .report(let report): lastTrouble = "\(report)"
      }
      printer.complain(lastTrouble)
    }
  }

  /// Ends a run that should end by itself when that takes too long.
  private func waitInVain() async {
    let clock = SystemClock()
    do {
      try await clock.sleep(until: clock.now + .seconds(options.wait))
    } catch {
      return
    }
    if case .send = options.command {
      return await end(.trouble(Follower.words(unsent: options.wait, lastTrouble), code: 1))
    }
    await end(.trouble("not up to date after \(options.wait) s: \(lastTrouble)", code: 1))
  }
}
