internal import MessageSync
internal import SyncProtocols
internal import UpdateMachine

/// Posts in the topics of a channel, over an event queue. A client holds what its windows have
/// shown, and what has come since.
enum PlayedMessages: PlayedApp {
  typealias Model = MessagesModel
  typealias Server = EventQueueServer<ServerMessages>
  typealias Client = SyncClient<MessagesModel, EventQueue<ServerMessages.Event>>

  static var played: PlayedProtocol { .messages }
  static var cadence: Cadence { .waits }

  private static let channel = ChannelID(1)
  /// So many posts are there at the beginning, every fourth in another topic than the others.
  private static let postsAtFirst = 40 as Int64
  /// The rows of a window.
  private static let rows = 5 as Int64

  private static func place(_ topic: String) -> MessagePlace {
    .channel(channel, topic: MessageTopic(topic))
  }

  private static func topic(of place: MessagePlace) -> String {
    if case .channel(_, let topic) = place { topic.key } else { "" }
  }

  static func server(_ settings: ServerSettings) -> Server {
    var posts = ServerMessages(following: [channel], hidden: [])
    for number in 1...postsAtFirst {
      let topic = number % 4 == 0 ? "dinner" : "lunch"
      posts.apply(.sent(MessageID(number), by: UserID(1), to: place(topic), 0, []))
    }
    return Server(truth: posts, settings: settings, at: Moment(milliseconds: 0))
  }

  static func request(_ push: PushRequest<Never>, at finger: QueueFinger?) -> MutationPush {
    MutationPush(
      client: push.client, knownRefusal: push.knownRefusal, voided: push.voided, mutations: [])
  }

  static func clientName(of model: MessagesModel) -> UInt64? { nil }

  // MARK: What is seen

  private static func text(_ post: ChatMessage<UInt32>, _ made: PlayedThings) -> String {
    post.content == 0 ? "post \(post.id)" : made.texts[Int(post.content) - 1]
  }

  private static func thing(_ post: ChatMessage<UInt32>, _ made: PlayedThings) -> JSONObject {
    JSONObject(
      of: ("item", JSONValue(integerLiteral: post.id.number)),
      (
        "fields",
        .object(
          JSONObject(
            of: ("title", .string(text(post, made))), ("topic", .string(topic(of: post.place)))))
      ))
  }

  static func things(on server: Server, _ made: PlayedThings) -> JSONValue {
    .array(server.truth.messages.map { .object(thing($0, made)) })
  }

  static func things(
    shownBy client: Client, through window: WindowID?, _ made: PlayedThings
  ) -> JSONValue {
    guard let view = window.flatMap({ client.view(of: $0) }) else { return .array([]) }
    return .array(
      view.rows.map { row in
        switch row {
        case .item(let post): return .object(thing(post, made))
        case .former(let id, let post):
          var object = post.map { thing($0, made) } ?? JSONObject()
          object["item"] = JSONValue(integerLiteral: id.number)
          object["former"] = true
          return .object(object)
        case .gap(let gap):
          return .object(JSONObject(of: ("gap", .string(PlayedMessages.words(gap)))))
        }
      })
  }

  /// "8 to 30", "up to 30", "from 8 on", "everything".
  private static func words(_ gap: IDInterval<MessageID>) -> String {
    switch (gap.lowerEnd.id?.number, gap.upperEnd.id?.number) {
    case (let low?, let high?): "\(low) to \(high)"
    case (nil, let high?): "up to \(high)"
    case (let low?, nil): "from \(low) on"
    case (nil, nil): "everything"
    }
  }

  /// A window that is level shows, without a gap, what the server lists around its anchor.
  static func isLevel(
    _ client: Client, through window: WindowID?, with server: Server, _ made: PlayedThings
  ) -> Bool {
    guard let window else { return client.model != nil }
    guard let (narrow, part) = client.window(window), let view = client.view(of: window) else {
      return false
    }
    let posts = server.truth.messages.filter { server.truth.contains($0.id, in: narrow) }
    let first =
      switch part.anchor {
      case .oldest: 0
      case .newest, .serverChosen: posts.count
      case .id(let id): posts.firstIndex { $0.id >= id } ?? posts.count
      }
    let low = max(0, first - Int(part.before))
    let expected = posts[low..<min(posts.count, first + Int(part.after))]
    return view.isComplete && view.rows == expected.map { .item($0) }
  }

  static func picture(
    of window: WindowID, _ client: Client, with server: Server
  ) -> (list: String, bar: String)? {
    guard let narrow = client.window(window)?.narrow else { return nil }
    let list = client.model?.lists.list(of: narrow) ?? PartialList()
    var name = "the channel"
    for term in narrow.terms { if case .topic(let topic) = term.subject { name = topic.key } }
    return (name, "\(IntervalBar(list, through: server.truth.newest))")
  }

  // MARK: What is done

  static func edit(_ edit: ItemEdit, number: UInt64) -> Never? { nil }

  static func change(
    by act: PlaygroundStep.Somebody, on server: Server, _ made: inout PlayedThings
  ) throws(PlayedRefusal) -> ServerMessages.Change {
    if let post = act.post, server.truth[MessageID(post)] == nil {
      throw PlayedRefusal("there is no post \(post)")
    }
    switch act {
    case .post(let text, let topic):
      made.texts.append(text)
      let id = MessageID(server.truth.newest.number + 1)
      return .sent(id, by: UserID(1), to: place(topic), UInt32(made.texts.count), [])
    case .change(let post, let text):
      made.texts.append(text)
      return .edited(MessageID(post), UInt32(made.texts.count), isMention: false)
    case .delete(let post): return .deleted([MessageID(post)])
    case .move(let post, let topic):
      return .moved([MessageID(post)], to: place(topic), isAnnounced: true)
    }
  }

  static func list(of topic: String?) -> ServerMessages.Narrow? {
    guard let topic else { return ServerMessages.Narrow([.channel(channel)]) }
    return ServerMessages.Narrow([.channel(channel), .topic(MessageTopic(topic))])
  }

  static func window(
    _ move: PlaygroundStep.Look, from view: WindowView<MessageStore<ServerMessages.Narrow>>?
  ) throws(PlayedRefusal) -> ListWindow<MessageID> {
    switch move {
    case .atEnd: return .newest(rows)
    case .at(let post):
      return ListWindow(.id(MessageID(post)), before: rows / 2, after: rows / 2 + 1)
    case .up, .down:
      guard let posts = view?.items, let oldest = posts.first, let newest = posts.last else {
        throw PlayedRefusal("the window shows no post from which to scroll")
      }
      return move == .up
        ? ListWindow(.id(oldest.id), before: rows - 1, after: 1)
        : ListWindow(.id(newest.id), before: 0, after: rows)
    }
  }

  static func page(
    _ request: PageRequest<ServerMessages.Narrow, MessageID>, on server: Server
  ) -> (page: MessagePage<UInt32>, words: String)? {
    let page = server.truth.page(request, later: server.truth)
    let count = page.messages.count
    return (page, "page of \(count) post\(count == 1 ? "" : "s")")
  }

  static func words(_ request: PageRequest<ServerMessages.Narrow, MessageID>) -> String {
    "\(request)"
  }
}
