import Foundation
import SQLiteStore
import UpdateMachine
import ZulipSync

/// One run of the command: follows an account, and prints what comes.
actor Follower {
  typealias Machine = UpdateMachine<ZulipAccountSource>

  private let options: Options
  private let narrow: NarrowText
  private let file: SQLiteFile
  private let machine: Machine
  private var printer: Printer
  private let mark: PrintMark
  /// The newest message that was printed; `nil`: none ever was.
  private var last: MessageID?
  private var window: WindowID?
  /// The claim that the machine made last.
  private var claim = Freshness.Claim.unknown
  /// Why it cannot go on.
  private var trouble: String?
  private var wasInterrupted = false

  /// Opens what is kept. Asks nothing of the server.
  init(_ options: Options, _ connection: ZulipConnection, _ file: SQLiteFile) async throws {
    self.options = options
    self.file = file
    narrow = try NarrowText(options.narrow)
    printer = Printer(isJSON: options.isJSON)
    mark = PrintMark(store: file.store(named: "printed \(options.narrow ?? "")"))
    last = try await mark.load()
    machine = Machine(
      source: ZulipAccountSource(connection, ZulipRegister(form: .raw)),
      store: file.store(named: "account"))
  }

  /// Ends when all was printed that was asked for, at a Ctrl-C, or when only the user can help.
  /// Returns the exit code.
  func run() async -> Int32 {
    if let aside = await file.movedAside { printer.say("\(aside)") }
    if options.logsOut { return await logOut() }
    await withDiscardingTaskGroup { group in
      group.addTask { await self.machine.run() }
      group.addTask { await self.watch() }
    }
    await file.close()
    if let trouble {
      printer.say(trouble)
      return 1
    }
    return wasInterrupted ? 130 : 0
  }

  /// Ctrl-C. The server's log stays, and what is kept.
  func interrupt() async {
    wasInterrupted = true
    await machine.stop()
  }

  private func logOut() async -> Int32 {
    do throws(StoreError) {
      try await machine.logOut()
      try await mark.erase()
    } catch {
      printer.say("what is kept could not be erased: \(error)")
      return 1
    }
    await file.close()
    printer.say("logged out; nothing is kept")
    return 0
  }

  // MARK: Watching

  private func watch() async {
    for await state in await machine.states() {
      claim = state.freshness.claim
      say(state)
      if case .halted(let halt) = claim {
        if halt != .stopped { trouble = Follower.words(halt) }
        break
      }
      if window == nil, let model = state.model {
        do {
          try await open(model)
        } catch {
          trouble = "\((error as? Misuse)?.words ?? "\(error)")"
          break
        }
      }
      await endIfDone()
    }
    await machine.stop()
  }

  private func say(_ state: Machine.State) {
    switch claim {
    case .unknown: printer.say("reading what is kept")
    case .connected: printer.say("connected")
    case .connecting: printer.say(state.model == nil ? "connecting" : "connecting again")
    case .unreachable: printer.say("the server cannot be reached; trying")
    case .resting, .halted: break
    }
  }

  private static func words(_ halt: MachineStatus.Halt) -> String {
    switch halt {
    case .credentials: "the server refuses the key, or the e-mail"
    case .unsupported: "the server is too old: this needs Zulip 7 or later"
    case .stopped: "stopped"
    }
  }

  // MARK: Printing

  private func open(_ model: ZulipAccount) async throws {
    let list = model.list(try narrow.narrow(in: model.state))
    let views = await machine.openWindow(on: list, showing: span)
    window = views.id
    Task {
      for await view in views { await self.show(view) }
    }
  }

  /// What is looked at: at first the newest, then what comes behind the last that was printed.
  private var span: ListWindow {
    guard let last else { return .newest(max(1, options.count)) }
    return ListWindow(.id(last), before: 0, after: 200)
  }

  /// Prints what is new, up to where nobody knows what there is.
  private func show(_ view: WindowView<ZulipMessageList>) async {
    guard let state = await machine.state.model?.state else { return }
    let isFirst = last == nil
    if isFirst, !view.isComplete { return }
    var newest = last
    for row in view.rows {
      guard case .message(let message) = row else { break }
      if let newest, message.id <= newest { continue }
      newest = message.id
      if !isFirst || options.count > 0 { printer.show(message, in: state) }
    }
    if let newest, newest != last {
      last = newest
      do throws(StoreError) {
        try await mark.save(newest)
      } catch {
        printer.say("what was printed could not be noted: \(error)")
      }
      if let window { await machine.moveWindow(window, to: span) }
    }
    isPrinted = view.isComplete && newest == last
    await endIfDone()
  }

  /// All that is known was printed.
  private var isPrinted = false

  private func endIfDone() async {
    guard options.isOnce, claim == .connected, isPrinted else { return }
    await machine.stop()
  }
}

/// What was printed last, kept beside the account.
struct PrintMark {
  let store: SQLiteStore

  private static let key = StoredKey(.firstOfModel, [])

  func load() async throws(StoreError) -> MessageID? {
    guard let row = try await store.load()?.rows.first else { return nil }
    do throws(StoredFormError) {
      return try MessageID(keyBytes: row.value)
    } catch {
      return nil
    }
  }

  func save(_ id: MessageID) async throws(StoreError) {
    try await store.checkpoint(
      StoredForm(
        rows: [(key: PrintMark.key, value: id.keyBytes)], writtenAt: SystemClock().wallTime))
  }

  func erase() async throws(StoreError) { try await store.erase() }
}
