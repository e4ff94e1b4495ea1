public import UpdateMachine

/// Data layer and diff server of one user, with what stands before them: who may push, and who may
/// pull.
public struct ClientViewServer<Mutators: ViewMutators>: Sendable {
  public typealias Value = Mutators.Value

  public var dataLayer: DataLayer<Mutators>
  public var diffServer: DiffServer<Value>
  /// May be changed at any time, and holds from then on.
  public var pushCredential: PushCredential
  /// May be changed at any time, and holds from then on.
  public var pullCredential: PullCredential
  /// Whether a push is run before it is answered; otherwise ``DataLayer/runNext()`` runs it.
  public var runsAtOnce = true

  public init(
    _ dataLayer: DataLayer<Mutators>, _ diffServer: DiffServer<Value>,
    pushCredential: PushCredential, pullCredential: PullCredential
  ) {
    self.dataLayer = dataLayer
    self.diffServer = diffServer
    self.pushCredential = pushCredential
    self.pullCredential = pullCredential
  }

  /// A client pushes to the data layer. Throws `unauthorized` or `busy`, and then nothing was run.
  public mutating func push(
    _ push: MutationPush, with credential: PushCredential
  ) throws(ClientViewFailure) -> PushAnswer {
    guard credential == pushCredential else { throw .unauthorized }
    if runsAtOnce, dataLayer.accepted.isEmpty { return dataLayer.run(push) }
    guard dataLayer.accept(push) else { throw .busy }
    return .accepted
  }

  /// A client pulls from the diff server, which fetches the client view as of a commit that there is;
  /// `nil`: of the newest. Throws `unauthorized` or `viewTooLarge`.
  public mutating func pull(
    _ pull: PullRequest, with credential: PullCredential, asOf commit: CommitNumber? = nil
  ) throws(ClientViewFailure) -> PulledView<Value> {
    guard credential == pullCredential else { throw .unauthorized }
    return try diffServer.pull(pull.state, dataLayer.view(for: pull.client, asOf: commit))
  }

  /// How it breaks its contract at the next occasion; `nil`: it does not.
  public var breach: ViewBreach? {
    get { diffServer.breach ?? dataLayer.breach }
    set {
      let isDelta = newValue == .wrongDelta
      diffServer.breach = isDelta ? newValue : nil
      dataLayer.breach = isDelta ? nil : newValue
    }
  }

  /// How often it did.
  public var breachCount: Int64 { dataLayer.breachCount + diffServer.breachCount }
}

/// Lets a client push to the data layer. The diff server, which others may run, never sees it.
public struct PushCredential: Hashable, Sendable {
  public var text: String

  @inlinable
  public init(_ text: String) { self.text = text }
}

/// Lets a client pull from the diff server.
public struct PullCredential: Hashable, Sendable {
  public var text: String

  @inlinable
  public init(_ text: String) { self.text = text }
}

// A credential is in no text that is made of it, or of what holds it.

extension PushCredential: CustomStringConvertible {
  public var description: String { "a push credential" }
}

extension PullCredential: CustomStringConvertible {
  public var description: String { "a pull credential" }
}

#if !hasFeature(Embedded)
  extension PushCredential: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: []) }
  }

  extension PullCredential: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: []) }
  }
#endif

/// Why a push or a pull was not answered.
public enum ClientViewFailure: Error, Hashable, Sendable {
  /// The credential is not good, or is one for the other endpoint. Only the app can go on.
  case unauthorized
  /// Too many pushes wait to be run: try again later.
  case busy
  /// The view is larger than it may be. Pushes go on; pulls will succeed again once it is smaller. The
  /// client keeps the state that it has.
  case viewTooLarge(byteCount: Int64, maximum: Int64)
}

extension ClientViewFailure {
  /// What the machine is told.
  public var failure: SyncFailure {
    switch self {
    case .unauthorized: .unauthorized
    case .busy: .serverFault
    case .viewTooLarge: .rejected(RejectionCode("VIEW_TOO_LARGE"))
    }
  }
}

extension Terms {
  /// What a diff server promises: pulls are answered at once, and due again after a while. A state ID
  /// never expires, for one that is not known any more costs a full view and no more; a year stands for
  /// that.
  @inlinable
  public static func clientView(pullingEvery period: TimeSpan = .seconds(60)) -> Terms {
    Terms(longDeadline: .seconds(100), lifetime: .seconds(365 * 86_400), cadence: .every(period))
  }
}
