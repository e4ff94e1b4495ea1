/// A model that knows a part of the server's messages only, and learns more by pages.
public protocol PagedModel: SyncModel {
  associatedtype Narrow: MessageNarrow

  /// The messages that it holds. The model applies the log's events to it, in their order, and passes
  /// on ``SyncModel/asked()``, ``SyncModel/answered()`` and ``SyncModel/restored()``.
  @inlinable
  var messages: MessageStore<Narrow> { get set }

  /// A page has told of these messages what no event will tell: flags that were in doubt, or that the
  /// server had been wrong (``MessageStore/takeMended()``). One that is not held any more is gone, or out
  /// of sight. What else the model says of them should become what the messages say.
  ///
  /// By default nothing: the messages are all there is.
  @inlinable
  mutating func mended(_ ids: [MessageID])
}

extension PagedModel {
  @inlinable
  public static var hearsOfPolls: Bool { true }

  @inlinable
  public mutating func asked() { messages.asked() }

  @inlinable
  public mutating func answered() { messages.answered() }

  @inlinable
  public mutating func restored() { messages.restored() }

  @inlinable
  public mutating func mended(_ ids: [MessageID]) {}
}

extension Replica where Model: PagedModel {
  public typealias Planner = PagePlanner<Model.Narrow>

  /// Whether pages are fetched now: the log is followed, so that a page can be brought level, and the
  /// user looks. Not while stopped, halted or in the background: then all that is out is given up.
  public var fetchesPages: Bool {
    finger != nil && machine.isInForeground && !status.isResting && !status.isHalted
  }

  /// An app begins to look at a list: ``PagePlanner/open(_:_:_:isLive:at:)`` on what is held.
  /// Without a model the window waits for one.
  @inlinable
  public mutating func open(
    _ narrow: Model.Narrow, _ window: ListWindow, with planner: inout Planner, at now: Moment
  ) -> (WindowID, Planner.Effects) {
    let isLive = fetchesPages
    var opened: (WindowID, Planner.Effects)?
    change { opened = planner.open(narrow, window, &$0.messages, isLive: isLive, at: now) }
    if let opened { return opened }
    var none = MessageStore<Model.Narrow>(following: [])
    return planner.open(narrow, window, &none, isLive: false, at: now)
  }

  /// Something happened to fetches or windows. What a page has mended meanwhile, the whole model hears.
  @inlinable
  public mutating func handle(
    _ input: Planner.Input, with planner: inout Planner, at now: Moment
  ) -> Planner.Effects {
    let isLive = fetchesPages
    var effects: Planner.Effects?
    change { model in
      effects = planner.handle(input, &model.messages, isLive: isLive, at: now)
      let mended = model.messages.takeMended()
      if !mended.isEmpty { model.mended(mended) }
    }
    if let effects { return effects }
    var none = MessageStore<Model.Narrow>(following: [])
    return planner.handle(input, &none, isLive: false, at: now)
  }

  /// What is held changes beside the log and beside pages: a message is dropped, a list is closed, a
  /// narrow means something else. Then the planner looks what is wanted next.
  public mutating func tend(
    with planner: inout Planner, at now: Moment,
    _ body: (inout MessageStore<Model.Narrow>) -> Void
  ) -> Planner.Effects {
    change { body(&$0.messages) }
    return handle(.changed, with: &planner, at: now)
  }

  /// A page has come. It is taken whole or not at all; then the planner looks what is wanted next.
  @inlinable
  public mutating func handle(
    _ page: MessagePage<Model.Narrow.Content>, for fetch: FetchID, with planner: inout Planner,
    at now: Moment
  ) -> (MessageStore<Model.Narrow>.PageOutcome, Planner.Effects) {
    var outcome = MessageStore<Model.Narrow>.PageOutcome.absorbed
    if fetchesPages { change { outcome = $0.messages.take(page, for: fetch) } }
    let answered = Planner.Input.answered(fetch, outcome, anchor: page.anchor)
    return (outcome, handle(answered, with: &planner, at: now))
  }

  /// What there is to see through a window now; `nil`: it is not open.
  public func view(_ window: WindowID, of planner: Planner) -> WindowView<Model.Narrow>? {
    planner.view(window, of: model?.messages)
  }
}

extension StorableModel where Self: PagedModel, Narrow: Storable, Narrow.Content: Storable {
  public var sleeps: Bool { messages.sleeps }

  @discardableResult
  public mutating func wake(
    _ answer: RowAnswer, isSaved: Bool
  ) throws(StoredFormError) -> Bool {
    try messages.wake(answer, isSaved: isSaved)
  }

  public mutating func forgetAsleep() { messages.forgetAsleep() }
}

extension StorableModel
where
  Self: PagedModel, Narrow: Storable, Narrow.Content: Storable,
  Event == MessageEvent<Narrow.Content>
{
  public func asleep(under events: [Event]) -> [RowQuery] { messages.asleep(under: events) }
}
