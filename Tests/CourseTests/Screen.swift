import UpdateMachine

#if canImport(SwiftUI)
  import SwiftUI
#endif

// The course's app on a screen, for the article about SwiftUI. What the views read is compiled and
// tested everywhere.

// Article example begins: screen app
/// What lives as long as the app: its machine, and what the views show of it.
@MainActor
final class ToDoSession {
  let machine: UpdateMachine<ToDoSource>
  let replica: ObservableReplica<ToDoModel>

  init(_ machine: UpdateMachine<ToDoSource>) {
    self.machine = machine
    replica = ObservableReplica(machine)
  }

  /// Follows the server, and tells the views what is new, until the task is cancelled.
  func run() async {
    async let following: Void = machine.run()
    await replica.follow()
    await following
  }

  /// Ticks something off. The views show it at once, also offline.
  func tick(_ id: Int64) async throws {
    _ = try await machine.mutate(.tick(id))
  }
}
// Article example ends

// Article example begins: screen preview
extension ObservableReplica<ToDoModel> {
  /// A replica for previews and tests: bread is ticked off, and there is no connection.
  static var offline: ObservableReplica {
    let items = [ToDo(id: 1, title: "milk"), ToDo(id: 2, title: "bread")]
    let clock = SystemClock()
    return ObservableReplica(
      showing: ReplicaState(
        holding: .model(ToDoModel(snapshot: ToDoSnapshot(open: items))), changes: [.tick(2)],
        freshness: Freshness(
          .unreachable(since: clock.now), upToDateAsOf: clock.now + .seconds(-180))))
  }
}
// Article example ends

#if canImport(SwiftUI)
  // Article example begins: screen views
  /// The list. It is not updated when only freshness changes, because it does not read it.
  struct ToDoScreen: View {
    let replica: ObservableReplica<ToDoModel>
    let tick: (Int64) -> Void

    var body: some View {
      VStack {
        FreshnessBanner(replica: replica)
        List {
          ForEach(replica.view.map { Array($0.open) } ?? [], id: \.key) { item in
            Button(item.value) { tick(item.key) }
          }
          ForEach(replica.view.map { Array($0.ticked) } ?? [], id: \.key) { item in
            Text(item.value).strikethrough()
          }
        }
      }
    }
  }

  /// How old the list is, if the user should know.
  struct FreshnessBanner: View {
    let replica: ObservableReplica<ToDoModel>
    @Environment(\.locale) private var locale

    var body: some View {
      let freshness = replica.freshness
      TimelineView(.everyMinute) { _ in
        if let sentence = freshness.sentence(locale: locale) { Text(sentence) }
      }
    }
  }

  #Preview("Offline") {
    ToDoScreen(replica: .offline) { _ in }
  }
  // Article example ends

  // Article example begins: screen scene
  /// All windows of the app. They show one machine.
  struct ToDoWindows: Scene {
    let session: ToDoSession
    @Environment(\.scenePhase) private var phase

    var body: some Scene {
      WindowGroup {
        ToDoScreen(replica: session.replica) { id in Task { try await session.tick(id) } }
      }
      .onChange(of: phase) { _, phase in
        Task {
          switch phase {
          case .active: await session.machine.enterForeground()
          case .background: await session.machine.enterBackground()
          default: break
          }
        }
      }
    }
  }
// Article example ends
#endif
