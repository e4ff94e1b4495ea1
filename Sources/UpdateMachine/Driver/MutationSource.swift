#if !hasFeature(Embedded)

  /// A source whose server takes changes, too.
  ///
  /// With one, an app changes its model (``UpdateMachine/UpdateMachine/mutate(_:)``), sees that at
  /// once, and the changes are sent while `run()` goes on. What the server makes of them comes with
  /// the log, as all its news does: the model says how far they are confirmed.
  public protocol MutationSource: Source where Model: MutableModel {
    /// Sends mutations, in the order in which they are to be run. One push is out at a time, beside a
    /// register, a poll and a release; one that is cancelled should end soon, as those should.
    ///
    /// - Parameter push: the mutations, whose they are, and the last refusal that is known.
    /// - Returns: that the server has them, or which of them it refuses. Neither acknowledges
    ///   anything: it may run them later.
    func push(
      _ push: Outbox<Model.Change>.Push
    ) async throws(PushFailure) -> Outbox<Model.Change>.PushAnswer
  }

  /// Why a push was not answered.
  public struct PushFailure: Error, Hashable, Sendable {
    /// Classified as for a poll.
    public var failure: SyncFailure
    /// Whether the server may have heard of it. `false` only if it certainly has not, as when there
    /// was no connection: what was in the push then is as if it had never been sent.
    public var hasLeft: Bool

    /// In doubt, it has left.
    public init(_ failure: SyncFailure, hasLeft: Bool = true) {
      self.failure = failure
      self.hasLeft = hasLeft
    }
  }

#endif
