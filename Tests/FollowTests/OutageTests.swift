import Foundation
import LoopbackServer
import Testing
import UpdateMachine

@testable import ZulipSync
@testable import follow

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Tests that each outage is said with its reason.
@Suite(.timeLimit(.minutes(2)), .serialized) struct OutageTests {
  private static func errors(
    of answer: LoopbackServer.Response
  ) async throws -> String {
    try await LoopbackServer.serving { _ in
      answer
    } while: { server in
      let user = try User(server)
      defer { user.clear() }
      let run = try await user.follow("--once", "--wait", "2")
      #expect(run.code == 1 && !run.all.contains(User.key) && !run.all.contains("Basic"))
      return run.errors
    }
  }

  @Test func `a server that is not Zulip, a fault and a rate limit are said`() async throws {
    let missing = try await OutageTests.errors(of: .init(status: 404))
    #expect(missing.contains("no Zulip server is at http://127.0.0.1:"), "\(missing)")
    #expect(missing.contains("404"), "\(missing)")
    let page = try await OutageTests.errors(of: .json("[]"))
    #expect(page.contains("no Zulip server is at"), "\(page)")
    let fault = try await OutageTests.errors(of: .init(status: 502))
    #expect(fault.contains("the server has a fault (HTTP status 502)"), "\(fault)")
    var limited = LoopbackServer.Response(status: 429)
    limited.headers["Retry-After"] = "60"
    let limit = try await OutageTests.errors(of: limited)
    #expect(limit.contains(#/too many requests: the server wants none until \d\d:\d\d:\d\d/#))
  }

  @Test func `a closed port and an unknown host are said`() async throws {
    try await User.on(FakeRealm([])) { user, _ in
      // The last --site counts. The system gives port 1 to nobody, and no host is called that.
      let closed = try await user.follow("--once", "--wait", "2", "--site", "http://127.0.0.1:1")
      #expect(closed.errors.contains("http://127.0.0.1:1 takes no connection"), "\(closed.errors)")
      let unknown = try await user.follow(
        "--once", "--wait", "10", "--site", "https://chat.invalid")
      #expect(unknown.errors.contains("no host is known for https://chat.invalid"))
    }
  }

  /// Each reason has words of its own, and the words of another request's failure do not count.
  @Test func `each reason is said in its own words`() {
    let details: [ZulipFailure] = [
      ZulipFailure(.unreachable, .unknownHost), ZulipFailure(.unreachable, .notConnected),
      ZulipFailure(.unreachable, .untrusted), ZulipFailure(.unreachable, .broken),
      ZulipFailure(.serverFault, .notHTTP), ZulipFailure(.serverFault, .redirected, status: 302),
      ZulipFailure(.serverFault, .noEnvelope, status: 200),
      ZulipFailure(.serverFault, .noEnvelope, status: 502),
    ]
    let words = details.map { Follower.words($0.failure, $0, at: "https://x", next: nil) }
    #expect(Set(words).count == details.count, "\(words)")
    #expect(words[2] == "the certificate of https://x cannot be trusted")
    #expect(Follower.words(.timedOut, details[0], at: "", next: nil) == Follower.words(.timedOut))
  }

  @Test func `a bad certificate is recognised by the words of libcurl`() {
    let words = [NSLocalizedDescriptionKey: "SSL certificate problem: self-signed certificate"]
    #expect(
      ZulipExchanges.code(of: URLError(.unknown, userInfo: words)) == .serverCertificateUntrusted)
    #expect(ZulipExchanges.code(of: URLError(.timedOut, userInfo: words)) == .timedOut)
    #expect(ZulipExchanges.code(of: URLError(.unknown)) == .unknown)
  }
}
