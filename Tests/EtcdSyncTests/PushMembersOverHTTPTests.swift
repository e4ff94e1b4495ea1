import LoopbackServer
import SyncProtocols
import Testing
import UpdateMachine

@testable import EtcdSync

/// What becomes of a push at members that answer what a real etcd has answered.
@Suite(.timeLimit(.minutes(2))) struct PushMembersOverHTTPTests {
  typealias Response = LoopbackServer.Response

  /// What a member was asked, in order.
  actor Questions {
    private(set) var asked: [String] = []

    func note(_ request: LoopbackServer.Request) -> String {
      let isPush = String(decoding: request.body, as: UTF8.self).contains("put")
      asked.append(request.path == "/v3/watch" ? "watch" : isPush ? "push" : "check")
      return asked.last ?? ""
    }
  }

  /// Sends one change to members.
  static func push(
    _ source: EtcdSource<Chores>
  ) async throws -> Result<PushAnswer, PushFailure> {
    let finger = try CheckTests.finger()
    do throws(PushFailure) {
      return .success(
        try await source.push(.of(.count("n"), client: 1), at: finger, over: EtcdView()))
    } catch {
      return .failure(error)
    }
  }

  static func members(
    _ answers: [LoopbackServer.Answer], _ body: (EtcdSource<Chores>) async throws -> Void
  ) async throws {
    try await MembersOverHTTPTests.members(answers) { reader, _ in
      try await body(try EtcdSource(reader.connection, prefix: "app/", for: Chores.self))
    }
  }

  /// What the second member says is certain, but the first may yet run the push.
  @Test func `a refusal does not undo what another member may have`() async throws {
    let denied = try MembersOverHTTPTests.recorded("token: not permitted")
    let first: LoopbackServer.Answer = { request in
      await Questions().note(request) == "push"
        ? await MembersOverHTTPTests.silent(request) : MembersOverHTTPTests.check()
    }
    let second: LoopbackServer.Answer = { request in
      await Questions().note(request) == "push" ? denied : MembersOverHTTPTests.check()
    }
    let failure = SyncFailure.rejected(RejectionCode("PERMISSION_DENIED"))
    try await PushMembersOverHTTPTests.members([first, second]) { source in
      let answer = try await PushMembersOverHTTPTests.push(source)
      #expect(answer == .failure(PushFailure(failure, hasLeft: true)))
    }
    try await PushMembersOverHTTPTests.members([second]) { source in
      let answer = try await PushMembersOverHTTPTests.push(source)
      #expect(answer == .failure(PushFailure(failure, hasLeft: false)))
    }
  }

  /// It may have been restarted, with another history.
  @Test func `a member whose watch has ended is checked before anything is written to it`()
    async throws
  {
    let watch = try Recording.named("quorum lost: watch that wants a leader").body.replacing(
      "14050359209041629581", with: "10144879847569953045")
    let written = Response.json(
      "{\"header\":\(MembersOverHTTPTests.header),\"succeeded\":true,\"responses\":[{}]}")
    let questions = Questions()
    let member: LoopbackServer.Answer = { request in
      switch await questions.note(request) {
      case "watch": MembersOverHTTPTests.watching(watch)
      case "push": written
      default: MembersOverHTTPTests.check()
      }
    }
    try await PushMembersOverHTTPTests.members([member]) { source in
      let finger = try CheckTests.finger()
      await #expect(throws: SyncFailure.serverFault) {
        try await source.poll(after: finger, waits: true)
      }
      for _ in 1...2 {
        let answer = try await PushMembersOverHTTPTests.push(source)
        #expect(answer == .success(.accepted))
      }
      #expect(await questions.asked == ["watch", "check", "check", "push", "push"])
    }
  }
}
