import MessageSync
import UpdateMachine
import ZulipSync

// The list that `follow` prints: its window, and which of its messages are new.

extension Follower {
  /// Opens the list. A name that is not found counts as unknown only once we are up to date.
  func open(_ model: ZulipAccount) async {
    do throws(Misuse) {
      let list = model.list(try narrow.narrow(in: model.realm))
      guard model.messages.canBeKnown(list) else { throw Follower.withoutEvents }
      let opened = await machine.openWindow(on: list, showing: span)
      window = (opened.id, list)
      viewsOpened.yield(opened)
      viewsOpened.finish()
    } catch {
      if claim == .connected { await end(.trouble(error.words, code: 2)) }
    }
  }

  private static let withoutEvents = Misuse(
    "--narrow: no events come for that: you are not subscribed to the channel")

  /// Ends if nothing can come of an open list: the account has left its channel, or, with `--once`,
  /// the server hides all that is in it.
  func endIfHopeless(_ model: ZulipAccount) async {
    guard let window, ending == nil, claim == .connected else { return }
    if !model.messages.canBeKnown(window.list) {
      await end(.trouble(Follower.withoutEvents.words, code: 2))
    } else if options.isOnce,
      model.messages.list(of: window.list)?.historyLimit == MessageID(.max)
    {
      await end(
        .trouble(
          "the server hides all messages there: its plan ends the history earlier", code: 1))
    }
  }

  /// The window to show: the newest messages at first, then those after the last that is surely
  /// printed.
  private var span: ListWindow<MessageID> {
    guard let printed else { return .newest(max(1, options.count)) }
    return ListWindow(.id(printed.next), before: 0, after: Printed.span + 200)
  }

  func look() async {
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
      return await end(.unprinted(error))
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
  func endIfDone() async {
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
