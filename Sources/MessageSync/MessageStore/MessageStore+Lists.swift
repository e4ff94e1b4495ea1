public import UpdateMachine

// What the planner and a client see of a store: lists of messages.

extension MessageStore: PartialLists {
  /// Follows nothing, and holds nothing.
  @inlinable
  public static var none: MessageStore { MessageStore(following: []) }

  public typealias ID = MessageID
  public typealias Item = Message<Content>

  @inlinable
  public func item(_ id: MessageID) -> Message<Content>? { self[id] }

  @inlinable
  public func item(_ id: MessageID, in narrow: Narrow) -> Message<Content>? {
    message(id, in: narrow)
  }

  @inlinable
  public var revision: UInt64 { _revision }

  @inlinable
  public static func anchor(of page: Page) -> MessageID? { page.anchor }
}
