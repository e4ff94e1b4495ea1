import Foundation
import HTTPSync
import LoopbackServer
import SyncProtocols
import Testing
import UpdateMachine

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Runs the program of *Getting started* against a server with a log of changes.
@Suite(.timeLimit(.minutes(5))) struct ChangeLogOverHTTPTests {
  private typealias Driver = UpdateMachine<ShoppingSource>

  /// Follows the server while `body` runs; returns how many snapshots the client took.
  private func following(
    _ server: ShoppingServer, _ body: (Driver) async throws -> Void
  ) async throws -> Int {
    try await server.serving { site, session in
      var settings = MachineSettings()
      for name in ["slowFirst", "spread", "healthy"] {
        let isKnown = settings.set(name, to: .milliseconds(1))
        #expect(isKnown)
      }
      let source = ShoppingSource(site: site, session: session)
      let machine = UpdateMachine(source: source, settings: settings)
      async let following: Void = machine.run()
      try await body(machine)
      await server.pollWaits()
      await machine.stop()
      await following
      return await server.registers
    }
  }

  private func wait(
    for machine: Driver, until isRight: (ReplicaState<ShoppingList>) -> Bool
  ) async {
    for await state in await machine.states() where isRight(state) { return }
    Issue.record("the machine went away")
  }

  private func wait(for machine: Driver, until items: [String]) async {
    await wait(for: machine) { $0.model?.items == items && $0.freshness.claim == .connected }
  }

  // MARK: The program

  @Test func `the program's client takes a snapshot, and then each change`() async throws {
    let server = ShoppingServer()
    let registers = try await following(server) { machine in
      await wait(for: machine, until: ["milk"])
      await server.log.commit("tea")
      await wait(for: machine, until: ["milk", "tea"])
      await server.log.commit("soap")
      await wait(for: machine, until: ["milk", "tea", "soap"])
    }
    #expect(registers == 1)
  }

  @Test func `the program itself follows until its task is cancelled`() async throws {
    let server = ShoppingServer()
    try await server.serving { site, session in
      let program = Task { await follow(ShoppingSource(site: site, session: session)) }
      await server.pollWaits()
      program.cancel()
      await program.value
    }
  }

  @Test func `it keeps its place over a proxy's pages, and registers when its place is expired`()
    async throws
  {
    let server = ShoppingServer()
    let registers = try await following(server) { machine in
      await wait(for: machine, until: ["milk"])
      await server.setDown(true)
      await server.log.commit("tea")  // Ends the poll that waits.
      await wait(for: machine) { if case .unreachable = $0.freshness.claim { true } else { false } }
      await server.log.commit("soap")
      await server.setDown(false)
      await wait(for: machine, until: ["milk", "tea", "soap"])
      #expect(await server.registers == 1)

      await server.setDown(true)
      await server.log.commit("rice")
      await wait(for: machine) { if case .unreachable = $0.freshness.claim { true } else { false } }
      await server.log.commit("oil")
      await server.log.forgetChanges()
      await server.setDown(false)
      await wait(for: machine, until: ["milk", "tea", "soap", "rice", "oil"])
    }
    #expect(registers == 2)
  }

  @Test func `it starts over when the server has begun a new epoch`() async throws {
    let server = ShoppingServer()
    let registers = try await following(server) { machine in
      await wait(for: machine, until: ["milk"])
      await server.log.commit("tea")
      await wait(for: machine, until: ["milk", "tea"])
      await server.log.restore(ListTruth(items: ["bread"]))
      await wait(for: machine, until: ["bread"])
    }
    #expect(registers == 2)
  }

  // MARK: What comes back

  /// What one poll of the program's source throws, if the server answers with this.
  private func failure(_ response: LoopbackServer.Response) async throws -> SyncFailure? {
    let server = ShoppingServer()
    return try await server.serving { site, session in
      let source = ShoppingSource(site: site, session: session)
      let place = try await source.register(as: ClientID(1)).finger
      await server.fail("/changes", with: response)
      do throws(SyncFailure) {
        _ = try await source.poll(after: place, waits: false)
        return nil
      } catch {
        return error
      }
    }
  }

  @Test func `each answer is classified`() async throws {
    func json(_ status: Int, _ headers: [String: String] = [:]) -> LoopbackServer.Response {
      var response = LoopbackServer.Response.json("{}", status: status)
      for (name, value) in headers { response.headers.add(name, value) }
      return response
    }
    #expect(try await failure(json(429, ["Retry-After": "7"])) == .rateLimited(after: .seconds(7)))
    #expect(try await failure(json(429)) == .rateLimited(after: nil))
    let dated = json(
      503,
      [
        "Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT", "Date": "Sun, 06 Nov 1994 08:49:07 GMT",
      ])
    #expect(try await failure(dated) == .rateLimited(after: .seconds(30)))
    #expect(try await failure(ShoppingServer.proxyPage) == .serverFault)
    #expect(try await failure(.text("<html>", type: "text/html")) == .serverFault)
    #expect(try await failure(.text("<html>", status: 410, type: "text/html")) == .serverFault)
    #expect(try await failure(json(410)) == .expired)
    #expect(try await failure(json(401)) == .unauthorized)
    #expect(try await failure(json(403)) == .rejected(RejectionCode("403")))
    #expect(try await failure(json(200)) == .malformed)
    // On Linux, URLSession traps if a connection ends within an answer's first line, and repeats a
    // request by itself if a connection that was used before ends without an answer.
    let long = LoopbackServer.Response.json("{\"a\": \"\(String(repeating: "a", count: 500))\"}")
    #expect(try await failure(long.with(.cut(after: 400))) == .unreachable)
    #expect(try await failure(long.with(.reset(after: 400))) == .unreachable)
  }
}
