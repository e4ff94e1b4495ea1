public import UpdateMachine

/// A model whose partial lists are lists of messages. It holds them as `lists`, and applies the
/// log's events to them.
///
/// If its events are message events, extensions supply what it needs to leave messages unloaded.
public protocol MessageModel<Narrow>: SyncModel where Lists == MessageStore<Narrow> {
  /// The narrows whose lists an app can open.
  associatedtype Narrow: MessageNarrow
}

extension MessageModel where Self: StorableModel, Narrow: Storable, Narrow.Content: Storable {
  public var hasUnloaded: Bool { lists.hasUnloaded }

  @discardableResult
  public mutating func load(
    _ answer: RowAnswer, isSaved: Bool
  ) throws(StoredFormError) -> Bool {
    try lists.load(answer, isSaved: isSaved)
  }

  public mutating func forgetUnloaded() { lists.forgetUnloaded() }
}

extension MessageModel
where
  Self: StorableModel, Narrow: Storable, Narrow.Content: Storable,
  Event == MessageEvent<Narrow.Content>
{
  public func unloaded(under events: [Event]) -> [RowQuery] { lists.unloaded(under: events) }
}
