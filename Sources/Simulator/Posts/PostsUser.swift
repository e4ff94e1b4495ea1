public import SyncProtocols
public import UpdateMachine

/// A user of the board: posts online and offline, and says what shall become of what is set aside, and
/// of what nobody can tell whether it was posted.
public struct PostsUser: OutboxWriter {
  public typealias Model = Posts.Model
  public typealias Truth = Posts.Truth
  public typealias Sync = Posts.Server.Sync
  public typealias Body = Replica<Model, Sync>
  public typealias Saved = SavedReplica<Model, Sync.Place>
  public typealias Effects = WriterEffects<Body.Input>

  public var memory = PostsBook()
  public var courier = Courier<Model, Sync>()

  private var entryCount: Int64 = 0
  /// When the register left that is out.
  private var registerSent: Moment?
  /// Since when each mutation is known to be at the server, by what an answer to a push has said.
  private var answered: [(ticket: MutationTicket, at: Moment)] = []
  /// How many posts were confirmed when he looked last.
  private var confirmedCount = 0

  public init() {}

  public mutating func begin() {
    courier.begin()
    registerSent = nil
    answered = []
  }

  public func memory(of saved: Saved, _ old: PostsBook) -> PostsBook {
    let outbox = saved.model.local.outbox
    // The first form of an outbox is taken before its user has a book.
    let book = old.client == outbox.client ? old : PostsBook(of: outbox.client)
    return book.cameBack(inPlaceOf: memory, outbox)
  }

  // MARK: What is heard

  public mutating func hear(
    _ input: Body.Input, _ replica: inout Body, at now: Moment
  ) -> Effects {
    if let client = replica.model?.local.outbox.client, memory.client != client {
      memory = PostsBook(of: client)
      answered = []
    }
    if case .snapshotArrived = input { judgeSnapshot(replica) }
    if case .batchArrived = input { judgeEchoes(replica) }
    confirmedCount = replica.model?.confirmed.state.posts.count ?? 0
    registerSent = nil
    if case .registering(let request) = replica.status { registerSent = request.sent }
    return courier.hear(input, &replica, at: now)
  }

  /// What an event has brought is pending no more, however uncertain it was.
  private mutating func judgeEchoes(_ replica: Body) {
    guard let model = replica.model else { return }
    for post in model.confirmed.state.posts.dropFirst(confirmedCount) {
      let pending = model.local.outbox.pending.first { $0.change.post == post }
      guard post.author == model.confirmed.client, let pending else { continue }
      courier.lie = WriterObjection(
        .input, "\(post), which an event brought, is pending no more",
        "\(pending), \(model.local.outbox)")
    }
  }

  /// What was accepted before a snapshot was asked for is in it, and so it is pending no more: it would
  /// be seen twice.
  private mutating func judgeSnapshot(_ replica: Body) {
    guard let sent = registerSent, replica.finger != nil, let outbox = replica.model?.local.outbox
    else { return }
    for (ticket, moment) in answered where moment < sent {
      guard outbox.state(of: ticket) == .sent else { continue }
      courier.lie = WriterObjection(
        .input, "\(ticket), accepted at \(moment), is in a snapshot asked for at \(sent)",
        "\(outbox)")
    }
  }

  public mutating func take(
    _ push: UInt64, _ replica: inout Body, at now: Moment
  ) -> Effects {
    let before = replica.model?.local.outbox
    let sent = courier.push(push)
    let effects = courier.take(push, &replica, at: now)
    if let before, before.client == sent.client, before.isCurrent(sent.id) {
      for item in sent.mutations { answered.append((item.ticket, now)) }
    }
    return effects
  }

  // MARK: The user

  public mutating func act(
    _ replica: inout Body, at now: Moment, _ choices: inout Choices
  ) -> Effects {
    var wanted = Effects()
    guard let outbox = replica.model?.local.outbox else { return wanted }
    let open = outbox.setAside.map { $0.ticket } + outbox.uncertain.map { $0.ticket }
    if !open.isEmpty, choices.happens(.users, 3, in: 4) {
      let ticket = open[Int(choices.draw(.users, below: UInt64(open.count)))]
      reconsider(ticket, of: &replica, at: now, &choices, &wanted)
      return wanted
    }
    if !outbox.pending.isEmpty, choices.happens(.users, 1, in: 8) {
      let index = Int(choices.draw(.users, below: UInt64(outbox.pending.count)))
      reconsider(outbox.pending[index].ticket, of: &replica, at: now, &choices, &wanted)
      return wanted
    }
    for _ in 0...choices.draw(.users, below: 3) {
      guard replica.model.map({ $0.local.outbox.count < PostsUser.pendingMaximum }) ?? false else {
        break
      }
      post(newPost(by: outbox.client, &choices), &replica, at: now, &wanted)
    }
    return wanted
  }

  private mutating func newPost(by client: ClientID, _ choices: inout Choices) -> PostChange {
    entryCount += 1
    let channel = Int(choices.draw(.users, below: UInt64(Board.channels)))
    return PostChange(post: Post(author: client, entry: entryCount, channel: channel))
  }

  private mutating func post(
    _ change: PostChange, _ replica: inout Body, at now: Moment, _ wanted: inout Effects
  ) {
    guard let before = replica.model?.local else { return }
    do throws(MutationError<PostChange.Closed>) {
      let mutated = try replica.mutate(change, at: now)
      memory.note(mutated.ticket, change.post.entry)
      courier.perform(mutated.effects, &wanted)
    } catch {
      if case .refused = error, !before.view.state.isOpen(change.post.channel) { return }
      courier.lie = WriterObjection(.input, "\(change) can be made", "it cannot: \(before.outbox)")
    }
  }

  /// He has another word on one that he has made.
  private mutating func reconsider(
    _ ticket: MutationTicket, of replica: inout Body, at now: Moment, _ choices: inout Choices,
    _ wanted: inout Effects
  ) {
    guard let outbox = replica.model?.local.outbox else { return }
    switch choices.draw(.users, below: 3) {
    case 0: retry(ticket, of: &replica, at: now, &wanted)
    case 1:
      let change = newPost(by: outbox.client, &choices)
      guard outbox.canEdit(ticket) else { return }
      memory.edit(ticket, to: change.post.entry)
      answered.removeAll { $0.ticket == ticket }
      courier.say(.edited(ticket, change), to: &replica, at: now, &wanted)
    default: discard(ticket, of: &replica, at: now, &wanted)
    }
  }

  private mutating func retry(
    _ ticket: MutationTicket, of replica: inout Body, at now: Moment, _ wanted: inout Effects
  ) {
    if replica.model?.local.outbox.state(of: ticket) == .uncertain { memory.noteRetry(ticket) }
    answered.removeAll { $0.ticket == ticket }
    courier.say(.retried(ticket), to: &replica, at: now, &wanted)
  }

  private mutating func discard(
    _ ticket: MutationTicket, of replica: inout Body, at now: Moment, _ wanted: inout Effects
  ) {
    guard replica.model?.local.outbox.canDiscard(ticket) == true else { return }
    memory.discard(ticket)
    courier.say(.discarded(ticket), to: &replica, at: now, &wanted)
  }

  /// What may have been posted is posted once more, or given up, as the user likes.
  public mutating func tidy(_ replica: inout Body, at now: Moment) -> Effects {
    var wanted = Effects()
    guard let outbox = replica.model?.local.outbox else { return wanted }
    wake(&replica, at: now, &wanted)
    if let first = outbox.setAside.first(where: { outbox.canDiscard($0.ticket) }) {
      discard(first.ticket, of: &replica, at: now, &wanted)
    } else if let first = outbox.uncertain.first {
      if first.ticket.number % 2 == 0 {
        retry(first.ticket, of: &replica, at: now, &wanted)
      } else {
        discard(first.ticket, of: &replica, at: now, &wanted)
      }
    }
    return wanted
  }

  // MARK: Pushes

  public func request(_ push: UInt64) -> PushRequest {
    let push = courier.push(push)
    return PushRequest(
      client: push.client, knownRefusal: push.knownRefusal, voided: push.voided,
      mutations: push.mutations.map {
        PushedMutation(
          id: $0.id, name: $0.change.name, arguments: $0.change.arguments($0.ticket))
      })
  }

  // MARK: Judgement

  public mutating func objection(
    to replica: Body, _ truth: Truth, disk: Saved?
  ) -> WriterObjection? {
    guard let model = replica.model else { return courier.lie }
    if let objection = courier.objection(
      to: model.local.outbox, disk: disk?.model.local.outbox)
    {
      return objection
    }
    let confirmed = model.confirmed.state.checksum
    guard courier.isNews(model, confirmed: confirmed, truth: truth.checksum) else { return nil }
    return PostsOracle.objection(to: model, memory, truth)
  }

  public func fold(_ replica: Body, into digest: inout Digest) {
    guard let local = replica.model?.local else { return }
    digest.fold(local.view.state.checksum)
    digest.fold(local.outbox.currentVersion.number)
  }
}
