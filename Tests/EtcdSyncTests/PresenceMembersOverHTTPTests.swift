import LoopbackServer
import Testing
import UpdateMachine

@testable import EtcdSync

/// How a presence ends at members that answer what a real etcd has answered.
@Suite(.timeLimit(.minutes(2))) struct PresenceMembersOverHTTPTests {
  typealias Response = LoopbackServer.Response

  /// What the members were asked, in order: "1 range".
  actor Questions {
    private(set) var asked: [String] = []
    /// Whether the first member hangs, and the second is of another history.
    private(set) var isBroken = false

    func note(_ member: Int, _ request: LoopbackServer.Request) {
      asked.append("\(member) \(request.segments.last ?? "")")
    }

    func breakMembers() {
      isBroken = true
      asked = []
    }

    func wait(for question: String) async throws {
      let clock = SystemClock()
      let start = clock.now
      while !asked.contains(question) {
        try #require(clock.now < start + .seconds(20), "never asked: \(question)")
        try await clock.sleep(until: clock.now + .milliseconds(5))
      }
    }
  }

  /// A member that grants, renews and writes, as etcd does, and where nothing else happens.
  static func answer(_ request: LoopbackServer.Request) throws -> Response {
    let name: String
    switch request.path {
    case "/v3/lease/grant": name = "lease: granted"
    case "/v3/lease/keepalive": name = "lease: renewed"
    case "/v3/lease/revoke": name = "lease: revoked"
    case "/v3/kv/txn": name = "lease: written"
    default: return .json("{\"header\":\(MembersOverHTTPTests.header)}")
    }
    let recorded = try MembersOverHTTPTests.recorded(name)
    return .json(recorded.text.replacing("\"revision\":\"2\"", with: "\"revision\":\"4\""))
  }

  static func member(_ number: Int, _ questions: Questions) -> LoopbackServer.Answer {
    { request in
      await questions.note(number, request)
      var response: Response
      do {
        response = try answer(request)
      } catch {
        Issue.record(error)
        return .text("", status: 500)
      }
      guard await questions.isBroken else { return response }
      if number == 1 { return await MembersOverHTTPTests.silent(request) }
      if number == 2 {
        response = .json(response.text.replacing("10144879847569953045", with: "1"))
      }
      return response
    }
  }

  @Test func `a member that hangs has its share of the time, and a foreign one keeps its lease`()
    async throws
  {
    let questions = Questions()
    let members = (1...3).map { PresenceMembersOverHTTPTests.member($0, questions) }
    var settings = MembersOverHTTPTests.quick
    // Other tests run beside this one, so a share and the whole must be seconds apart.
    settings.memberDeadline = .seconds(9)
    try await MembersOverHTTPTests.members(members, settings: settings) { source, _ in
      let present = Task { try await source.present(as: "here", value: "Ann") }
      try await questions.wait(for: "1 txn")
      let clock = SystemClock()
      // The answer arrives, and the client rests.
      try await clock.sleep(until: clock.now + .seconds(1))
      await questions.breakMembers()
      let start = clock.now
      present.cancel()
      try await present.value
      let took = clock.now - start
      #expect(await questions.asked == ["1 range", "2 range", "3 range", "3 revoke"])
      #expect(took < settings.memberDeadline, "\(took.milliseconds) ms")
    }
  }
}
