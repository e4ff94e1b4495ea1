import MessageSync
import ZulipSync

/// How many messages are unread, by conversation.
struct UnreadCounts: Equatable {
  /// The unread messages of a topic, or of a direct conversation.
  struct Conversation: Equatable {
    /// With the topic as the newest of the messages has it.
    var place: MessagePlace
    var count = 0
    var mentions = 0
    /// Whether its topic or its channel is muted, so that it does not count.
    var isMuted = false
    /// The newest unread message.
    var newest: MessageID
  }

  /// Direct conversations first, then channels by name, in each the newest first.
  var conversations: [Conversation]
  /// Whether the server has sent all unread messages, and not only the newest.
  var isComplete: Bool

  init(_ state: ZulipState) {
    var counts: [MessagePlace: Conversation] = [:]
    for message in state.unread {
      var one = counts[message.place] ?? Conversation(place: message.place, newest: message.id)
      // The messages ascend.
      (one.place, one.newest) = (message.place, message.id)
      one.count += 1
      one.mentions += message.isMention ? 1 : 0
      one.isMuted = message.isMuted
      counts[message.place] = one
    }
    isComplete = !state.hasMoreUnread
    let ranked = counts.values.map { one in
      let channel = one.place.channel
      let name = channel.flatMap { state.channel($0)?.name.lowercased() } ?? ""
      return (rank: (channel == nil ? 0 : 1, name, channel?.number ?? 0), conversation: one)
    }
    conversations = ranked.sorted { one, other in
      one.rank == other.rank
        ? one.conversation.newest > other.conversation.newest : one.rank < other.rank
    }.map(\.conversation)
  }

  var total: Int { conversations.filter { !$0.isMuted }.reduce(0) { $0 + $1.count } }
  var mentions: Int { conversations.filter { !$0.isMuted }.reduce(0) { $0 + $1.mentions } }
  var muted: Int { conversations.filter(\.isMuted).reduce(0) { $0 + $1.count } }
}
