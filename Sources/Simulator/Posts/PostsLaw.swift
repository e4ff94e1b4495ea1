internal import UpdateMachine

/// The law of a server that cannot tell a second copy from the first: each post that was accepted
/// stands, as often as it was sent at the most. Those that were sent once are in the user's order,
/// channel by channel: what waits for one channel does not hold up the others.
package struct PostsLaw: ConflictLaw {
  package typealias Change = PostChange

  let model: PostsApp.Model
  let local: LocalChanges<PostChange>
  let truth: PostsApp.Truth

  package func objectionToView(_ book: Book) -> UserObjection? {
    var posts = model.state.posts
    for pending in local.outbox.pending {
      let isOpen = model.state.isOpen(pending.change.post.channel)
      if isOpen { posts.append(pending.change.post) }
      guard isOpen != (pending.refusal == nil) else { continue }
      return UserObjection(
        .input, "a mutation is set aside when it throws, and only then",
        "\(pending), \(local.outbox)")
    }
    guard posts != local.view.state.posts else { return nil }
    return UserObjection(
      .causality, "\(model.state) and what is pending",
      "\(local.view.state) with \(local.outbox)")
  }

  package func copies(of made: Made) -> (found: Int, maximum: Int) {
    let count = entries(in: truth.state).count { $0 == made.change.post.entry }
    return (count, made.isDiscarded && !made.isLoose ? 0 : made.sends)
  }

  package var order: [Int64]? { entries(in: truth.state) }

  package var ordersOnlyObjects: Bool { true }

  package func isConfirmed(_ made: Made, _ book: Book) -> Bool {
    entries(in: model.state).contains(made.change.post.entry)
  }

  private func entries(in state: PostsState) -> [Int64] {
    state.posts.filter { $0.author == local.outbox.client }.map { $0.entry }
  }
}
