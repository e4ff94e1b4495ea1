/// What names the messages that a list shows.
///
/// The library asks it of every message that an event or a page names; so it must be a pure function
/// of what it is shown, and quick. ``MessageFilter`` serves most apps.
public protocol MessageNarrow: Hashable, Sendable {
  associatedtype Content: Hashable & Sendable

  /// The fields that the verdict hangs on. An event that assigns none of them changes nothing here.
  var reads: MessageFields { get }

  /// Whether ``verdict(on:)`` can tell of every message whether the server would list it. If not (a
  /// search), its pages are snapshots, and the list is never called complete.
  var isDecidable: Bool { get }

  /// The one channel that everything in it stands in, always the same; `nil`: it may reach over
  /// several. Of what stands elsewhere the narrow is not asked. While no events come for that
  /// channel, pages are snapshots.
  var channel: ChannelID? { get }

  /// Whether a message is in it, as far as that is certain from what is shown of it.
  func verdict(on glimpse: MessageGlimpse<Content>) -> Verdict
}

/// Whether something is so.
public enum Verdict: Hashable, Sendable {
  case yes
  case no
  /// It hangs on what is not shown.
  case unknown

  @inlinable
  public init(_ isSo: Bool) { self = isSo ? .yes : .no }

  @inlinable
  public static prefix func ! (verdict: Verdict) -> Verdict {
    switch verdict {
    case .yes: .no
    case .no: .yes
    case .unknown: .unknown
    }
  }

  @inlinable
  public static func && (one: Verdict, other: Verdict) -> Verdict {
    if one == .no || other == .no { return .no }
    return one == .yes ? other : one
  }
}

/// Some of the fields of a message.
public struct MessageFields: BitwiseCopyable, Hashable, Sendable {
  public var hasPlace: Bool
  public var hasContent: Bool
  public var hasReactions: Bool
  public var flags: MessageFlags

  @inlinable
  public init(
    place: Bool = false, content: Bool = false, reactions: Bool = false, flags: MessageFlags = []
  ) {
    hasPlace = place
    hasContent = content
    hasReactions = reactions
    self.flags = flags
  }

  /// Every field.
  @inlinable
  public static var all: MessageFields {
    MessageFields(place: true, content: true, reactions: true, flags: .all)
  }

  @inlinable
  public static func | (one: MessageFields, other: MessageFields) -> MessageFields {
    MessageFields(
      place: one.hasPlace || other.hasPlace, content: one.hasContent || other.hasContent,
      reactions: one.hasReactions || other.hasReactions, flags: one.flags.union(other.flags))
  }

  /// Whether there is a field that is in both.
  @inlinable
  public func overlaps(_ other: MessageFields) -> Bool {
    hasPlace && other.hasPlace || hasContent && other.hasContent
      || hasReactions && other.hasReactions || !flags.isDisjoint(with: other.flags)
  }
}

/// What is shown of a message: of one that is held everything, but for flags in doubt; of one that an
/// event names, what the event says.
public struct MessageGlimpse<Content: Hashable & Sendable>: Sendable {
  public var id: MessageID
  public var sender: UserID?
  /// `nil`: not shown; it may still be shown which channel it is in.
  public var place: MessagePlace?
  public var channel: ChannelID?
  public var content: Content?
  /// In ascending order.
  public var reactions: [Reaction]?
  /// The flags that are set, of those that are shown.
  public var flags: MessageFlags
  /// The flags of which it is shown whether they are set.
  public var flagsShown: MessageFlags

  /// Nothing but its ID.
  @inlinable
  public init(_ id: MessageID) {
    self.id = id
    flags = []
    flagsShown = []
  }

  /// All of it, but for the flags in doubt.
  @inlinable
  public init(_ message: Message<Content>, doubt: MessageFlags = []) {
    id = message.id
    sender = message.sender
    place = message.place
    channel = message.place.channel
    content = message.content
    reactions = message.reactions
    flags = message.flags.subtracting(doubt)
    flagsShown = MessageFlags.all.subtracting(doubt)
  }

  /// Whether it has these flags, or one of them if `any`.
  @inlinable
  public func has(_ wanted: MessageFlags) -> Verdict {
    if flags.isSuperset(of: wanted) { return .yes }
    let missing = wanted.subtracting(flags)
    return missing.isDisjoint(with: flagsShown) ? .unknown : .no
  }
}
