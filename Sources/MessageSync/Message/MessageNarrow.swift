/// A filter that says which messages a list shows.
///
/// The library evaluates it for every message that an event or a page names. So it must be fast,
/// and a pure function of its argument. ``MessageFilter`` serves most apps.
public protocol MessageNarrow<Content>: Hashable, Sendable {
  /// The content of the messages that it lists.
  associatedtype Content: Hashable & Sendable

  /// The fields that the verdict depends on. An event that assigns none of them cannot change it.
  var reads: MessageFields { get }

  /// Whether ``verdict(on:)`` can decide every message as the server would. If not (a search),
  /// pages are snapshots, and the list is never called complete.
  var isDecidable: Bool { get }

  /// The only channel that the narrow can list messages from; `nil`: there may be several. It must
  /// never change. The narrow is not asked about messages elsewhere. While no events come for this
  /// channel, pages are snapshots.
  var channel: ChannelID? { get }

  /// Whether a message is in the narrow, as far as the known fields decide it.
  func verdict(on partialMessage: PartialMessage<Content>) -> Verdict
}

/// The answer of a narrow about a message.
public enum Verdict: Hashable, Sendable {
  /// The message is in the narrow, whatever its unknown fields are.
  case yes
  /// The message is not in the narrow, whatever its unknown fields are.
  case no
  /// It depends on fields that are not known.
  case unknown

  /// Creates `yes` or `no`, never `unknown`.
  @inlinable
  public init(_ isSo: Bool) { self = isSo ? .yes : .no }

  /// The opposite verdict; `unknown` stays unknown.
  @inlinable
  public static prefix func ! (verdict: Verdict) -> Verdict {
    switch verdict {
    case .yes: .no
    case .no: .yes
    case .unknown: .unknown
    }
  }

  /// `no` if either is `no`, `yes` if both are `yes`, otherwise `unknown`.
  @inlinable
  public static func && (one: Verdict, other: Verdict) -> Verdict {
    if one == .no || other == .no { return .no }
    return one == .yes ? other : one
  }
}
