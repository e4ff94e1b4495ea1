import Foundation
import Observation
import SyncProtocols
import Testing
import UpdateMachine

/// Tests the part of the article's screen that needs no SwiftUI.
@Suite @MainActor struct ScreenTests {
  @Test(.timeLimit(.minutes(5)))
  func `the screen shows what the user ticks off at once, and then without it`() async throws {
    let server = LocalEventQueue(truth: ToDoTruth())
    await server.commit(SentChange(.add(ToDo(id: 1, title: "milk"))))
    let network = Network()
    let session = ToDoSession(UpdateMachine(source: ToDoSource(server: server, network: network)))
    #expect(session.replica.claim == .unknown && session.replica.view == nil)
    let running = Task { await session.run() }
    while session.replica.view?.open.count != 1 { await change { _ = session.replica.view } }

    await network.set(up: false)
    try await session.tick(1)
    while session.replica.view?.ticked.count != 1 { await change { _ = session.replica.view } }
    #expect(session.replica.model?.open.count == 1 && session.replica.pending.count == 1)

    await network.set(up: true)
    await session.machine.networkChanged()
    while !session.replica.pending.isEmpty { await change { _ = session.replica.pending } }
    #expect(session.replica.view == ToDos())
    running.cancel()
    await running.value
  }

  /// Returns when what is read is about to change. It has changed once the main actor is free
  /// again.
  private func change(_ read: () -> Void) async {
    await withCheckedContinuation { continuation in
      withObservationTracking(read) { continuation.resume() }
    }
  }

  @Test func `the preview shows a change that waits, and the banner`() {
    let replica = ObservableReplica<ToDoModel>.offline
    #expect(replica.view?.open.map(\.value) == ["milk"])
    #expect(replica.view?.ticked.map(\.value) == ["bread"])
    #expect(
      replica.freshness.sentence(locale: Locale(identifier: "en"))
        == "No connection. Last up to date 3 minutes ago.")
  }
}
