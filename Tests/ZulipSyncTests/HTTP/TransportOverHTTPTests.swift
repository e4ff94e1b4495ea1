import Foundation
import LoopbackServer
import MessageSync
import SyncProtocols
import Testing
import UpdateMachine

@testable import ZulipSync

/// Tests of time, size and sockets.
@Suite(.timeLimit(.minutes(3))) struct TransportOverHTTPTests {
  private func poll(
    _ connection: ZulipConnection, within deadline: TimeSpan? = nil
  ) async -> ZulipFailure? {
    await Ada.failure { () throws(ZulipFailure) in
      try await connection.events(after: aFinger, waits: true, within: deadline)
    }
  }

  @Test func `a request is over at its deadline, and its connection closed`() async throws {
    for response in [
      Response.events().with(.halfOpen(after: 0)), .events().with(.halfOpen(after: 100)),
      .events().with(.drip(bytes: 1, every: .milliseconds(50))),
      .events().delayed(by: .seconds(30)),
    ] {
      try await Ada.serve { _ in
        response
      } while: { server, connection in
        var failure: ZulipFailure?
        let time = await ContinuousClock().measure {
          failure = await poll(connection, within: .milliseconds(300))
        }
        #expect(failure == ZulipFailure(.timedOut, .timedOut))
        #expect(time >= .milliseconds(290))
        #expect(time < .seconds(10), "URLSession's own timeout is longer: \(time)")
        let after = await server.reaches { $0.open == 0 }
        #expect(after.requests == 1)
      }
    }
  }

  @Test func `what the head of a refusal says is not lost if its body never ends`() async throws {
    var answer = Response.text(
      String(repeating: "x", count: 1000), status: 429, type: "text/html")
    answer.headers["Retry-After"] = "70"
    let hanging = answer
    for fault in [LoopbackServer.Fault.halfOpen(after: 800), .reset(after: 800)] {
      try await Ada.serve { _ in
        hanging.with(fault)
      } while: { server, connection in
        let failure = await poll(connection, within: .seconds(3))
        #expect(failure?.failure == .rateLimited(after: .seconds(70)), "\(fault)")
        #expect(failure?.status == 429)
        await server.reaches { $0.open == 0 }
      }
    }
  }

  @Test func `a deadline cancels what the server does`() async throws {
    try await Ada.serve { _ in
      await untilCancelled()
      return .events()
    } while: { server, connection in
      #expect(await poll(connection, within: .milliseconds(200))?.failure == .timedOut)
      let after = await server.reaches { $0.open == 0 && $0.answering == 0 }
      #expect(after.cancelled == 1)
    }
  }

  @Test(arguments: ["GET", "POST"])
  func `a task that is cancelled closes the connection`(method: String) async throws {
    try await Ada.serve { _ in
      await untilCancelled()
      return .events()
    } while: { server, connection in
      let asking = Task {
        await Ada.failure { () throws(ZulipFailure) in
          if method == "POST" { return try await connection.delete(MessageID(1)) }
          _ = try await connection.events(after: aFinger, waits: true)
        }
      }
      await server.reaches { $0.answering == 1 }
      asking.cancel()
      #expect(await asking.value == ZulipFailure(.unreachable, .cancelled))
      let after = await server.reaches { $0.answering == 0 && $0.open == 0 }
      #expect(after.cancelled == 1)
    }
  }

  @Test func `a task that was cancelled before sends nothing`() async throws {
    try await Ada.serve { _ in
      .events()
    } while: { server, connection in
      let asking = Task {
        await untilCancelled()
        return await poll(connection)
      }
      asking.cancel()
      #expect(await asking.value == ZulipFailure(.unreachable, .cancelled, hasLeft: false))
      #expect(server.counters.requests == 0)
    }
  }

  @Test func `an unreferenced connection closes its sockets`() async throws {
    try await LoopbackServer.serving { _ in
      .events()
    } while: { server in
      do {
        let connection = try Ada.connection(to: server)
        #expect(await poll(connection) == nil)
        #expect(await poll(connection) == nil)
        #expect(server.counters.accepted == 1, "the socket stays while the connection is held")
        #expect(server.counters.open == 1)
      }
      await server.reaches { $0.open == 0 }
    }
  }

  @Test func `a too large answer is given up while it arrives`() async throws {
    var settings = ZulipSettings()
    settings.answerLimit = 100_000
    settings.registerLimit = 200_000
    let large = String(repeating: "x", count: 50_000_000)
    let body = Array(#"{"result":"success","events":[],"x":"\#(large)"}"#.utf8)
    for chunk in [nil, 10_000] {
      try await Ada.serve(settings) { _ in
        // The whole body would take minutes at this speed.
        Response(headers: ["Content-Type": "application/json"], body: body, chunk: chunk)
          .with(.drip(bytes: 40_000, every: .milliseconds(50)))
      } while: { server, connection in
        let failure = await poll(connection)
        #expect(failure == ZulipFailure(.malformed, .tooLarge, status: 200))
        let registered = await Ada.failure { () throws(ZulipFailure) in
          try await connection.register()
        }
        #expect(registered?.reason == .tooLarge)
        await server.reaches { $0.open == 0 }
      }
    }
  }

  @Test func `an answer with a too large Content-Length is not awaited`() async throws {
    var settings = ZulipSettings()
    settings.answerLimit = 1000
    try await Ada.serve(settings) { _ in
      Response(
        headers: ["Content-Type": "application/json"], body: Array(repeating: 32, count: 1001)
      )
      .with(.halfOpen(after: 100))
    } while: { server, connection in
      let failure = await poll(connection, within: .seconds(20))
      #expect(failure == ZulipFailure(.malformed, .tooLarge, status: 200))
      await server.reaches { $0.open == 0 }
    }
  }

  @Test func `an answer of the greatest allowed size is taken`() async throws {
    let body = #"{"result":"success","events":[]}"#
    for (limit, isTaken) in [(body.utf8.count, true), (body.utf8.count - 1, false)] {
      var settings = ZulipSettings()
      settings.answerLimit = limit
      for chunk in [nil, 7] {
        try await Ada.serve(settings) { _ in
          Response(
            headers: ["Content-Type": "application/json"], body: Array(body.utf8), chunk: chunk)
        } while: { _, connection in
          #expect(await poll(connection)?.reason == (isTaken ? nil : .tooLarge))
        }
      }
    }
  }

  @Test func `no request is sent twice, even where a kept connection turns out to be closed`()
    async throws
  {
    let count = Shared(0)
    try await Ada.serve { request in
      guard request.method == "POST" else { return .events() }
      count.change { $0 += 1 }
      return .success(#""id":1"#).with(.cut(after: 0))
    } while: { server, connection in
      #expect(await poll(connection) == nil)
      for sent in 1...3 {
        let failure = await Ada.failure { () throws(ZulipFailure) in
          try await connection.send(.direct([UserID(1)]), "once")
        }
        #expect(failure == ZulipFailure(.unreachable, .broken))
        #expect(count.value == sent)
        #expect(await poll(connection) == nil)
      }
      await server.reaches { $0.open == 1 }
    }
  }

  /// How a request with a body may end: after some bytes of the answer, or before any.
  private static let endings: [Response] = [
    .success(#""id":1"#), .success().with(.halfOpen(after: 0)),
    .success().with(.halfOpen(after: 20)),
    .success().with(.halfOpen(after: 100)), .success().with(.cut(after: 0)),
    .success().with(.reset(after: 60)), .success().with(.garbage([22, 3, 1])),
    Response(status: 302, headers: ["Location": "/login"]),
    Response(status: 401, headers: ["WWW-Authenticate": #"Basic realm="zulip""#]), .badGateway,
    .success().with(.drip(bytes: 1, every: .milliseconds(50))),
  ]

  @Test func `failed, timed out and cancelled requests leave no session`() async throws {
    let count = Shared(0)
    try await Ada.serve { _ in
      let index = count.change { count in
        count += 1
        return count
      }
      return Self.endings[index % Self.endings.count]
    } while: { server, connection in
      let sessions = connection.transport.sessions
      #expect(sessions.value == 1)
      for index in 0..<240 {
        let heard = count.value
        var form = ZulipForm()
        if index % 2 == 0 { form.add("content", "x") }
        let milliseconds: Int64 = [0, 2, 20, 20_000][index % 4]
        let asking = Task { [form] in
          await Ada.failure { () throws(ZulipFailure) in
            try await connection.ask(.post, "messages", form, within: .milliseconds(milliseconds)) {
              _ throws(ZulipError) in
            }
          }
        }
        if index % 3 == 0 { asking.cancel() }
        if milliseconds == 20_000, index % 3 > 0 {
          await server.reaches { _ in count.value > heard }
          asking.cancel()
        }
        _ = await asking.value
      }
      await server.reaches { $0.open == 0 && $0.answering == 0 }
      // The last sessions go some time after their sockets.
      for _ in 0..<400 where sessions.value > 1 {
        _ = await server.counters(within: .milliseconds(50)) { _ in sessions.value == 1 }
      }
      #expect(sessions.value == 1)
    }
  }

  @Test func `answers are read off the actor that asks`() async throws {
    try await Ada.serve { _ in
      .success()
    } while: { _, connection in
      let asker = Asker()
      let readsElsewhere = try await asker.readsElsewhere(by: connection)
      #expect(readsElsewhere)
    }
  }

  @Test func `many requests at once are each answered with their own`() async throws {
    try await Ada.serve { request in
      .success(#""id":\#(request.form?["content"] ?? "0")"#)
    } while: { server, connection in
      let right = await withTaskGroup(of: Bool.self) { group in
        for index in 0..<60 {
          group.addTask {
            let id = try? await connection.send(.direct([UserID(1)]), "\(index)")
            return id == MessageID(Int64(index))
          }
        }
        return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
      }
      #expect(right == 60)
      #expect(server.counters.requests == 60)
    }
  }
}

/// An actor on a queue of its own. It can tell where code runs.
private actor Asker {
  private final class Queue: SerialExecutor {
    let queue = DispatchQueue(label: "asker")

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
  }

  private static let mark = DispatchSpecificKey<Bool>()
  private let queue = Queue()

  init() { queue.queue.setSpecific(key: Asker.mark, value: true) }

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }

  private static var isHere: Bool { DispatchQueue.getSpecific(key: mark) ?? false }

  func readsElsewhere(by connection: ZulipConnection) async throws -> Bool {
    guard Asker.isHere else { return false }
    let wasHere = try await connection.ask(.get, "x") { _ throws(ZulipError) in Asker.isHere }
    return Asker.isHere && !wasHere
  }
}
