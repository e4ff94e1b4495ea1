#if !hasFeature(Embedded)

  public import UpdateMachine

  /// Connects one client to a server in this process: a ``LocalClientView``, ``LocalRecordSync``,
  /// ``LocalTableSync``, ``LocalEventStream`` or ``LocalChangeLog``, each of which makes its own.
  public struct LocalSource<Model: SyncModel, Sync: SyncProtocol>: SyncSource
  where Sync.Batch.Event == Model.Event, Model.Lists == NoLists {
    typealias Registration = Registered<Model.Snapshot, Sync.Place>

    let snapshot: @Sendable (ClientID) async throws(SyncFailure) -> Registration
    let news: @Sendable (Sync.Place, _ waits: Bool) async throws(SyncFailure) -> Sync.Batch
    let answer:
      @Sendable (PushRequest<Model.Change>, Sync.Place?) async throws(SyncFailure) -> PushAnswer

    public func register(
      as client: ClientID
    ) async throws(SyncFailure) -> Registered<Model.Snapshot, Sync.Place> {
      try await snapshot(client)
    }

    public func poll(
      after finger: Sync.Place, waits: Bool
    ) async throws(SyncFailure) -> Sync.Batch {
      try await news(finger, waits)
    }

    /// Does nothing: none of these servers keeps anything for a client, or it forgets it by itself.
    public func release(_ log: Sync.Place.Log) async {}

    public func push(
      _ push: PushRequest<Model.Change>, at finger: Sync.Place?
    ) async throws(PushFailure) -> PushAnswer {
      do throws(SyncFailure) {
        return try await answer(push, finger)
      } catch {
        throw PushFailure(error)
      }
    }
  }

#endif
