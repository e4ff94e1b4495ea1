import Foundation
import SQLiteStore
import SyncProtocols
import Testing
import UpdateMachine

/// Runs what the course shows, and checks that the course says what it prints.
@Suite struct CourseTests {
  /// A path for a file of one test, and the lines that the test prints.
  final class Desk {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "course-\(UUID().uuidString)")
    var path: String { folder.appending(path: "to-dos.db").path }
    private(set) var lines: [String] = []

    init() throws {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func note(_ line: String) { lines.append(line) }

    /// Checks that the course shows these lines.
    func compare() throws {
      let block = "```text\n" + lines.map { $0 + "\n" }.joined() + "```\n"
      #expect(try Course.text().contains(block), "the course does not show\n\(block)")
    }
  }

  @Test(.timeLimit(.minutes(5))) func `part 3: a window over a long list`() async throws {
    let desk = try Desk()
    let path = desk.path
    func print(_ line: String) { desk.note(line) }

    // Article example begins: course window
    let server = LocalEventQueue(truth: ToDoTruth())
    for id in 1...120 as ClosedRange<Int64> {
      await server.commit(SentChange(.add(ToDo(id: id, title: "thing \(id)"))))
      await server.commit(SentChange(.tick(id)))
    }
    let network = Network()
    let source = ToDoSource(server: server, network: network)
    let file = try await SQLiteFile.open(at: path)
    let machine = UpdateMachine(source: source, store: file.store(named: "to-dos"))
    async let following: Void = machine.run()

    let window = await machine.openWindow(on: ToDo.done, showing: .newest(50))
    for await view in window where view.isComplete {
      print(summary(view))
      break
    }

    // The user scrolls up, in a lift.
    await network.set(up: false)
    await machine.moveWindow(window.id, to: .newest(100))
    for await view in window where view.window == .newest(100) {
      print("in the lift: " + summary(view))
      break
    }

    // The lift opens.
    await network.set(up: true)
    await machine.networkChanged()
    for await view in window where view.isComplete {
      print(summary(view))
      break
    }
    await machine.stop()
    await following
    // Article example ends

    try desk.compare()
  }

  @Test(.timeLimit(.minutes(5))) func `part 4: a change made offline`() async throws {
    let desk = try Desk()
    let path = desk.path
    func print(_ line: String) { desk.note(line) }

    // Article example begins: course offline
    let server = LocalEventQueue(truth: ToDoTruth())
    await server.commit(SentChange(.add(ToDo(id: 1, title: "milk"))))
    let network = Network()
    let source = ToDoSource(server: server, network: network)
    let file = try await SQLiteFile.open(at: path)
    let first = UpdateMachine(source: source, store: file.store(named: "to-dos"))
    async let following: Void = first.run()
    _ = await state(of: first) { $0.view != nil }

    await network.set(up: false)
    _ = try await first.mutate(.tick(1))
    let added = try await first.mutate(.add(ToDo(id: 2, title: "bread")))
    if let shown = await first.state.view {
      print("open \(shown.open.map(\.value)), waiting \(shown.ticked.map(\.value))")
    }
    print("on disk: \(await first.stored(added.ticket))")
    print("at the server: \(await server.truth)")
    await first.stop()
    await following

    // The next start, with a network.
    await network.set(up: true)
    let second = UpdateMachine(source: source, store: file.store(named: "to-dos"))
    async let again: Void = second.run()
    _ = await state(of: second) { $0.view != nil }
    print(await second.acknowledged(added.ticket)?.description ?? "unknown")
    print("at the server: \(await server.truth)")
    await second.stop()
    await again
    // Article example ends

    try desk.compare()
  }
}

extension FirstApp {
  @Suite struct FirstAppTests {
    @Test(.timeLimit(.minutes(5))) func `part 1: the app follows the server`() async throws {
      let desk = try CourseTests.Desk()
      func print(_ line: String) { desk.note(line) }

      // Article example begins: course follow
      let server = LocalEventQueue(truth: ToDoTruth())
      await server.commit(SentChange(.add(ToDo(id: 1, title: "milk"))))
      let source = ToDoSource(server: server, network: Network())
      let machine = UpdateMachine(source: source)
      async let following: Void = machine.run()

      let one = await state(of: machine) { $0.model?.open.count == 1 }
      print("\(one.model?.open.map(\.value) ?? []), \(one.freshness.claim)")

      // Somebody else adds something.
      await server.commit(SentChange(.add(ToDo(id: 2, title: "bread"))))
      let two = await state(of: machine) { $0.model?.open.count == 2 }
      print("\(two.model?.open.map(\.value) ?? []), \(two.freshness.claim)")
      await machine.stop()
      await following
      // Article example ends

      try desk.compare()
    }

    @Test(.timeLimit(.minutes(5))) func `part 2: the next start has it`() async throws {
      let desk = try CourseTests.Desk()
      let path = desk.path
      func print(_ line: String) { desk.note(line) }

      // Article example begins: course store
      let server = LocalEventQueue(truth: ToDoTruth())
      await server.commit(SentChange(.add(ToDo(id: 1, title: "milk"))))
      let network = Network()
      let source = ToDoSource(server: server, network: network)
      let file = try await SQLiteFile.open(at: path)

      let first = UpdateMachine(source: source, store: file.store(named: "to-dos"))
      async let following: Void = first.run()
      _ = await state(of: first) { $0.model != nil }
      await first.stop()
      await following

      // The next start. There is no network, and meanwhile something happens at the server.
      await network.set(up: false)
      await server.commit(SentChange(.add(ToDo(id: 2, title: "bread"))))
      let second = UpdateMachine(source: source, store: file.store(named: "to-dos"))
      async let again: Void = second.run()
      let saved = await state(of: second) { $0.model != nil }
      print("from the file: \(saved.model?.open.map(\.value) ?? [])")

      await network.set(up: true)
      await second.networkChanged()
      let fresh = await state(of: second) { $0.model?.open.count == 2 }
      print("from the server: \(fresh.model?.open.map(\.value) ?? [])")
      await second.stop()
      await again
      // Article example ends

      try desk.compare()
    }
  }
}
