package import SyncProtocols
package import UpdateMachine

/// A user who posts online and offline, and decides about posts that are set aside or
/// uncertain.
package struct PostsUser: ReconsideringUser {
  package typealias Model = PostsApp.Model
  package typealias Truth = PostsApp.Truth
  package typealias Sync = PostsApp.Server.Sync

  package var memory = ChangeBook<PostChange>()
  package var check = OutboxCheck<PostChange>()

  private var entryCount: Int64 = 0
  /// When the open register left.
  private var registerSent: Moment?
  /// When the answer to a push showed that each of these mutations is at the server.
  private var answered: [(ticket: MutationTicket, at: Moment)] = []
  /// The mutations of the push whose answer is being taken.
  private var inPush: [MutationTicket] = []
  /// The number of confirmed posts when the user last looked.
  private var confirmedCount = 0

  package init() {}

  package mutating func begin() {
    check.begin()
    registerSent = nil
    answered = []
  }

  // MARK: Inputs

  package mutating func look(before input: Body.Input, _ client: Body, reading rows: ReadRows) {
    inPush = []
    noteRejection(by: input, client)
    guard case .pushAnswered(let id, _) = input, let outbox = client.local?.outbox,
      case .pushing(let push) = outbox.status, push.id == id
    else { return }
    for pending in outbox.pending {
      if let id = pending.id, push.first <= id, id <= push.last { inPush.append(pending.ticket) }
    }
  }

  package mutating func took(
    _ input: Body.Input?, _ effects: Body.Effects, _ client: Body, reading rows: ReadRows,
    at now: Moment
  ) {
    if let outbox = client.local?.outbox, memory.client != outbox.client { answered = [] }
    noteInput(effects, client, at: now)
    if case .snapshotArrived = input { judgeSnapshot(client) }
    if case .batchArrived = input { judgeEchoes(client) }
    confirmedCount = client.model?.state.posts.count ?? 0
    registerSent = nil
    if case .registering(let request) = client.status { registerSent = request.sent }
    for ticket in inPush { answered.append((ticket, now)) }
    inPush = []
  }

  /// A post that an event has brought is no longer pending, however uncertain it was.
  private mutating func judgeEchoes(_ client: Body) {
    guard let model = client.model, let outbox = client.local?.outbox else { return }
    for post in model.state.posts.dropFirst(confirmedCount) {
      let pending = outbox.pending.first { $0.change.post == post }
      guard post.author == model.name, let pending else { continue }
      check.lie = UserObjection(
        .input, "\(post), which an event brought, is no longer pending", "\(pending), \(outbox)")
    }
  }

  /// Anything that the server accepted before a snapshot was requested is in it, and so is no
  /// longer pending. Otherwise it would be shown twice.
  private mutating func judgeSnapshot(_ client: Body) {
    guard let sent = registerSent, client.finger != nil, let outbox = client.local?.outbox
    else { return }
    for (ticket, moment) in answered where moment < sent {
      guard outbox.state(of: ticket) == .sent else { continue }
      check.lie = UserObjection(
        .input, "\(ticket), accepted at \(moment), is in a snapshot asked for at \(sent)",
        "\(outbox)")
    }
  }

  // MARK: What the user does

  package mutating func newChange(
    _ local: LocalChanges<PostChange>, _ choices: inout Choices
  ) -> PostChange { newPost(by: local.outbox.client, &choices) }

  package mutating func newChange(
    inPlaceOf old: PostChange, _ local: LocalChanges<PostChange>, _ choices: inout Choices
  ) -> PostChange? { newPost(by: local.outbox.client, &choices) }

  private mutating func newPost(by client: ClientID, _ choices: inout Choices) -> PostChange {
    entryCount += 1
    let channel = Int(choices.draw(.users, below: UInt64(PostsState.channels)))
    return PostChange(post: Post(author: client, entry: entryCount, channel: channel))
  }

  // MARK: What becomes of it

  package mutating func noteEdited(
    _ ticket: MutationTicket, from old: (change: PostChange, tickets: TicketSet),
    to change: PostChange, from before: Body, to after: Body
  ) {
    memory.edit(old.tickets, to: change)
    // Those of its new channel did not wait for it.
    if old.change.object != change.object { memory.noteMove(of: old.tickets) }
    answered.removeAll { $0.ticket == ticket }
  }

  package mutating func noteRetried(_ ticket: MutationTicket, in outbox: Outbox<PostChange>) {
    if outbox.state(of: ticket) == .uncertain, let old = outbox.mutation(of: ticket) {
      memory.noteRetry(old.tickets)
    }
    answered.removeAll { $0.ticket == ticket }
  }

  // MARK: What the user is owed

  package func law(
    _ model: Model, _ local: LocalChanges<PostChange>, _ truth: Truth, at position: Int64
  ) -> PostsLaw { PostsLaw(model: model, local: local, truth: truth) }

  package static func checksum(of state: PostsState) -> UInt64 { state.checksum }
}
