internal import UpdateMachine

/// Oracle H where the server cannot tell a second copy from the first. The view is the confirmed
/// state with the pending posts replayed over it. Each of the user's posts is confirmed, pending,
/// uncertain or set aside, unless it was given up. The server has no post more often than it was
/// sent, and none out of order.
enum PostsOracle {
  static func objection(
    to model: PostsApp.Model, _ local: LocalChanges<PostChange>, _ book: ChangeBook<PostChange>,
    _ truth: PostsApp.Truth
  ) -> UserObjection? {
    objectionToView(model, local) ?? objectionToPosts(model, local.outbox, book)
      ?? objectionToServer(truth, book)
  }

  /// Compares the view with a simple replay.
  private static func objectionToView(
    _ model: PostsApp.Model, _ local: LocalChanges<PostChange>
  ) -> UserObjection? {
    let outbox = local.outbox
    var posts = model.state.posts
    for pending in outbox.pending {
      let isOpen = model.state.isOpen(pending.change.post.channel)
      if isOpen { posts.append(pending.change.post) }
      guard isOpen != (pending.refusal == nil) else { continue }
      return UserObjection(
        .input, "a mutation is set aside when it throws, and only then", "\(pending), \(outbox)")
    }
    guard posts != local.view.state.posts else { return nil }
    return UserObjection(
      .causality, "\(model.state) and what is pending",
      "\(local.view.state) with \(outbox)")
  }

  /// No post is lost.
  private static func objectionToPosts(
    _ model: PostsApp.Model, _ outbox: Outbox<PostChange>, _ book: ChangeBook<PostChange>
  ) -> UserObjection? {
    let confirmed = entries(of: outbox.client, in: model.state)
    for made in book.made where !made.isDiscarded && !book.isDoubtful(made) {
      switch outbox.state(of: made.ticket) {
      case .queued, .sent, .uncertain, .setAside: continue
      case .acknowledged, nil: if confirmed.contains(made.change.post.entry) { continue }
      case .discarded, .overruled: break
      }
      return UserObjection(
        .input,
        "\(made.ticket), entry \(made.change.post.entry), is confirmed, pending or set aside",
        "\(words(confirmed)) with \(outbox)")
    }
    return nil
  }

  /// The server has no post more often than it was sent, and none that was not made. Posts that
  /// were sent once and have kept their places are in the user's order.
  private static func objectionToServer(
    _ truth: PostsApp.Truth, _ book: ChangeBook<PostChange>
  ) -> UserObjection? {
    guard let client = book.client else { return nil }
    let posted = book.withoutDoubtful(entries(of: client, in: truth.state))
    var known = 0
    var last = -1
    for made in book.made where !book.isDoubtful(made) {
      let copies = posted.count { $0 == made.change.post.entry }
      known += copies
      if copies > made.sends {
        return UserObjection(
          .input, "entry \(made.change.post.entry) was sent \(made.sends) times", words(posted))
      }
      guard made.sends == 1, !made.isDiscarded, !made.hasMoved,
        let place = posted.firstIndex(of: made.change.post.entry)
      else { continue }
      if place < last {
        return UserObjection(
          .input, "entry \(made.change.post.entry) comes after all that were made before",
          words(posted))
      }
      last = place
    }
    guard known < posted.count else { return nil }
    return UserObjection(.input, "the server has what was made, and as it was", words(posted))
  }

  private static func entries(of client: ClientID, in state: PostsState) -> [Int64] {
    var entries: [Int64] = []
    for post in state.posts where post.author == client { entries.append(post.entry) }
    return entries
  }

  private static func words(_ entries: [Int64]) -> String {
    var text = ""
    for entry in entries { text += "\(entry) " }
    return text.isEmpty ? "nothing" : text
  }
}
