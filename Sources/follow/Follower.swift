import Foundation
import MessageSync
import SQLiteStore
import UpdateMachine
import ZulipSync

/// One run of the command: follows an account, and prints what comes.
actor Follower {
  typealias Machine = UpdateMachine<ZulipAccountSource>
  typealias Views = WindowViews<MessageStore<ZulipMessageList>>
  typealias View = Views.Element

  private let options: Options
  private let account: AccountName
  private let narrow: NarrowText
  private let file: SQLiteFile
  private let machine: Machine
  private let mark: PrintMark
  private var printer: Printer
  /// The printed messages; `nil` before the first look at the list.
  private var printed: Printed?
  private var window: (id: WindowID, list: ZulipMessageList)?
  /// The machine's latest claim.
  private var claim = Freshness.Claim.unknown
  /// The latest failure, for the error message when `--once` times out.
  private var lastTrouble = "the server cannot be reached"
  private var ending: Ending?

  private let (views, viewsOpened) = AsyncStream.makeStream(of: Views.self)
  private let reports: AsyncStream<DriverReport>

  /// The reason for the end.
  private enum Ending {
    case done
    case interrupted(code: Int32)
    case trouble(String, code: Int32)
  }

  /// Opens the local files. Sends nothing to the server.
  init(
    _ options: Options, _ account: AccountName, _ connection: ZulipConnection, _ file: SQLiteFile
  ) async throws {
    self.options = options
    self.account = account
    self.file = file
    narrow = try NarrowText(options.narrow)
    printer = Printer(isJSON: options.isJSON, isQuiet: options.isOnce)
    mark = PrintMark(store: file.store(named: account.printed(options.narrow ?? "")))
    printed = try await mark.load()
    let (reports, reported) = AsyncStream.makeStream(of: DriverReport.self)
    self.reports = reports
    machine = Machine(
      source: ZulipAccountSource(connection, ZulipRegister(form: .raw)),
      store: file.store(named: account.state), reporter: { reported.yield($0) })
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
        if options.isOnce { readers.addTask { await self.waitInVain() } }
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

  private func end(_ ending: Ending) async {
    if self.ending == nil { self.ending = ending }
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
      if window == nil, let model = state.model { await open(model) }
      await endIfDone()
      if ending != nil { return }
    }
  }

  private func say(_ state: Machine.State) {
    switch claim {
    case .unknown: printer.status("reading the saved state")
    case .connected: printer.status("connected")
    case .connecting: printer.status(state.model == nil ? "connecting" : "connecting again")
    case .unreachable:
      lastTrouble = Follower.words(state.trouble)
      let next = state.freshness.nextAttempt.map { SystemClock().date(of: $0) }
      let time = next.map { " at \(Printer.time($0))" } ?? ""
      printer.status("\(lastTrouble); trying again\(time)")
    case .resting, .halted: break
    }
  }

  /// Why there is no connection.
  static func words(_ trouble: SyncFailure?) -> String {
    switch trouble {
    case .unreachable, .unauthorized, .unsupported, nil: "the server cannot be reached"
    case .timedOut: "the server does not answer in time"
    case .serverFault: "the server has a fault, or something else answers in its place"
    case .rateLimited: "the server wants fewer requests"
    case .expired: "the server has forgotten this client"
    case .rejected(let code):
      code.text.isEmpty ? "the server refuses the request" : "the server refuses it: \(code.text)"
    case .malformed, .modelRefused: "the server's answer cannot be used"
    }
  }

  private static func words(_ halt: MachineStatus.Halt) -> String {
    switch halt {
    case .credentials: "the server refuses the key, or the e-mail"
    case .unsupported: "the server is too old: this needs Zulip 7 or later"
    case .stopped: "stopped"
    }
  }

  /// Prints failures that the user should see. The machine goes on by itself.
  private func listen() async {
    for await report in reports {
      switch report {
      case .failure(let failure): lastTrouble = "unusable answer from the server: \(failure)"
      case .store(let error): lastTrouble = "\(error)"
      case .nameShared: lastTrouble = "\(report)"
      }
      printer.complain(lastTrouble)
    }
  }

  /// With `--once`: ends the run when the wait takes too long.
  private func waitInVain() async {
    let clock = SystemClock()
    do {
      try await clock.sleep(until: clock.now + .seconds(options.wait))
    } catch {
      return
    }
    await end(.trouble("not up to date after \(options.wait) s: \(lastTrouble)", code: 1))
  }

  // MARK: Printing

  /// Opens the list. A name that is not found counts as unknown only once we are up to date.
  private func open(_ model: ZulipAccount) async {
    do throws(Misuse) {
      let list = model.list(try narrow.narrow(in: model.realm))
      guard model.messages.canBeKnown(list) else {
        throw Misuse(
          "--narrow: no events come for that: it is a search, or you are not subscribed to the channel"
        )
      }
      let opened = await machine.openWindow(on: list, showing: span)
      window = (opened.id, list)
      viewsOpened.yield(opened)
      viewsOpened.finish()
    } catch {
      if claim == .connected { await end(.trouble(error.words, code: 2)) }
    }
  }

  /// The window to show: the newest messages at first, then those after the last that is surely
  /// printed.
  private var span: ListWindow<MessageID> {
    guard let printed else { return .newest(max(1, options.count)) }
    return ListWindow(.id(printed.next), before: 0, after: Printed.span + 200)
  }

  private func look() async {
    for await views in views {
      for await view in views { await show(view) }
    }
  }

  /// Prints new messages, up to the first gap.
  private func show(_ view: View) async {
    guard let model = await machine.state.model, ending == nil else { return }
    let before = printed
    do {
      if printed == nil {
        guard let tail = newest(view, model) else { return }
        printed = Printed(tail.map(\.id))
        for message in tail.suffix(Int(options.count)) {
          try printer.show(message, in: model.realm)
        }
      } else {
        for case .item(let message) in view.rows.prefix(while: \.isItem)
        where printed?.note(message.id) == true {
          try printer.show(message, in: model.realm)
        }
      }
    } catch {
      printed = before
      return await end(
        .trouble("cannot write to standard output: \(error.localizedDescription)", code: 1))
    }
    if let printed, printed != before {
      do throws(StoreError) {
        try await mark.save(printed)
      } catch {
        printer.complain("could not record what was printed; it will be printed again: \(error)")
      }
      if let window { await machine.moveWindow(window.id, to: span) }
    }
    await endIfDone()
  }

  /// Returns the newest messages at a first start; `nil` if they are not known yet. If a server
  /// hides old messages, it returns those that it shows.
  private func newest(_ view: View, _ model: ZulipAccount) -> [ChatMessage<ZulipContent>]? {
    let isCut = model.messages.list(of: view.narrow)?.historyLimit != nil
    guard view.isComplete || view.reachesEnd && isCut else { return nil }
    var tail: [ChatMessage<ZulipContent>] = []
    for row in view.rows {
      if case .item(let message) = row { tail.append(message) } else { tail = [] }
    }
    return tail
  }

  /// With `--once`: ends if everything is printed, according to one state of the machine.
  private func endIfDone() async {
    guard options.isOnce, ending == nil, let window, let printed else { return }
    let span = span
    let state = await machine.state
    guard state.freshness.claim == .connected, let messages = state.model?.messages,
      messages.unloaded(under: span, of: window.list).isEmpty
    else { return }
    let view = WindowView(window.list, span, of: messages)
    let isDone =
      view.reachesEnd
      && view.rows.allSatisfy { row in
        if case .item(let message) = row { printed.has(message.id) } else { false }
      }
    if isDone { await end(.done) }
  }
}

extension WindowView.Row {
  fileprivate var isItem: Bool {
    if case .item = self { true } else { false }
  }
}
