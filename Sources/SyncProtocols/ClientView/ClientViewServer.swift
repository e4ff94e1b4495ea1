public import UpdateMachine

/// One user's data layer and diff server, with the credentials that guard pushes and pulls.
package struct ClientViewServer<Mutators: ViewMutators>: Sendable {
  package typealias Value = Mutators.Value

  package var dataLayer: DataLayer<Mutators>
  package var diffServer: DiffServer<Value>
  /// May be changed at any time; takes effect at once.
  package var pushCredential: PushCredential
  /// May be changed at any time; takes effect at once.
  package var pullCredential: PullCredential
  /// Whether a push is run before it is answered. If not, call ``DataLayer/runNext()``.
  package var runsAtOnce = true

  package init(
    _ dataLayer: DataLayer<Mutators>, _ diffServer: DiffServer<Value>,
    pushCredential: PushCredential, pullCredential: PullCredential
  ) {
    self.dataLayer = dataLayer
    self.diffServer = diffServer
    self.pushCredential = pushCredential
    self.pullCredential = pullCredential
  }

  /// Handles a push from a client. Throws `unauthorized` or `busy`, and then nothing was run.
  package mutating func push(
    _ push: MutationPush, with credential: PushCredential
  ) throws(ClientViewFailure) -> PushAnswer {
    guard credential == pushCredential else { throw .unauthorized }
    if runsAtOnce, dataLayer.accepted.isEmpty { return dataLayer.run(push) }
    guard dataLayer.accept(push) else { throw .busy }
    return .accepted
  }

  /// Handles a pull from a client. The client view is fetched as of an existing commit; `nil`: the
  /// newest. Throws `unauthorized` or `viewTooLarge`.
  package mutating func pull(
    _ pull: PullRequest, with credential: PullCredential, asOf commit: CommitNumber? = nil
  ) throws(ClientViewFailure) -> PulledView<Value> {
    guard credential == pullCredential else { throw .unauthorized }
    return try diffServer.pull(pull.state, dataLayer.read(for: pull.client, asOf: commit))
  }

  /// How the server breaks its contract at the next opportunity; `nil`: it keeps it.
  package var breach: ViewBreach? {
    get { diffServer.breach ?? dataLayer.breach }
    set {
      let isDelta = newValue == .wrongDelta
      diffServer.breach = isDelta ? newValue : nil
      dataLayer.breach = isDelta ? nil : newValue
    }
  }

  /// How often the server broke its contract.
  package var breachCount: Int64 { dataLayer.breachCount + diffServer.breachCount }
}

/// Permits a client to push to the data layer. The diff server, which others may run, never sees
/// it.
@usableFromInline
package struct PushCredential: Hashable, Sendable {
  @usableFromInline package var text: String

  @inlinable
  package init(_ text: String) { self.text = text }
}

/// Permits a client to pull from the diff server.
@usableFromInline
package struct PullCredential: Hashable, Sendable {
  @usableFromInline package var text: String

  @inlinable
  package init(_ text: String) { self.text = text }
}

// Credentials never appear in a description or mirror, nor in that of their owner.

extension PushCredential: CustomStringConvertible {
  @usableFromInline package var description: String { "a push credential" }
}

extension PullCredential: CustomStringConvertible {
  @usableFromInline package var description: String { "a pull credential" }
}

#if !hasFeature(Embedded)
  extension PushCredential: CustomReflectable {
    @usableFromInline package var customMirror: Mirror { Mirror(self, children: []) }
  }

  extension PullCredential: CustomReflectable {
    @usableFromInline package var customMirror: Mirror { Mirror(self, children: []) }
  }
#endif

/// The reason why a push or a pull was not answered.
@usableFromInline
package enum ClientViewFailure: Error, Hashable, Sendable {
  /// The credential is wrong, or belongs to the other endpoint. Only the app can go on.
  case unauthorized
  /// Too many pushes wait to run. Try again later.
  case busy
  /// The view is larger than allowed. Pushes go on, and pulls succeed again once it is smaller. The
  /// client keeps its state.
  case viewTooLarge(byteCount: Int64, maximum: Int64)
}

extension ClientViewFailure {
  /// The failure that the machine is told.
  package var failure: SyncFailure {
    switch self {
    case .unauthorized: .unauthorized
    case .busy: .serverFault
    case .viewTooLarge: .rejected(RejectionCode("VIEW_TOO_LARGE"))
    }
  }
}

extension ServerTerms {
  /// The terms of a diff server: pulls are answered at once, and due again after `period`. A state
  /// ID never expires, since an unknown one only costs a full view. A year stands for that.
  @inlinable
  public static func clientView(pullingEvery period: TimeSpan = .seconds(60)) -> ServerTerms {
    ServerTerms(
      longDeadline: .seconds(100), lifetime: .seconds(365 * 86_400), cadence: .every(period))
  }
}
