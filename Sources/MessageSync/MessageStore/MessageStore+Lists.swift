public import UpdateMachine

// The lists of messages, as the planner and a client see them.

extension MessageStore: PartialLists {
  /// An empty store that follows no channels.
  @inlinable
  public static var none: MessageStore { MessageStore(following: []) }

  public typealias ID = MessageID
  public typealias Item = ChatMessage<Content>

  @inlinable
  public func item(_ id: MessageID) -> ChatMessage<Content>? { self[id] }

  @inlinable
  public func item(_ id: MessageID, in narrow: Narrow) -> ChatMessage<Content>? {
    message(id, in: narrow)
  }

  @inlinable
  public var revision: UInt64 { _revision }

  @inlinable
  public static func anchor(of page: Page) -> MessageID? { page.anchor }
}
