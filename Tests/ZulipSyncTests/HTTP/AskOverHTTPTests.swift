import Foundation
import LoopbackServer
import Testing
import UpdateMachine

@testable import ZulipSync

/// Tests requests that the library has no method for.
@Suite(.timeLimit(.minutes(2))) struct AskOverHTTPTests {
  private static let parameters: ZulipFields = [
    "text": "a&b \"é\"", "number": 7, "flag": true, "list": [1, "x"], "none": .null,
    "object": ["name": "value"],
  ]

  private static let sent = [
    "flag=true", #"list=[1,"x"]"#, "none=null", "number=7", #"object={"name":"value"}"#,
    #"text=a&b "é""#,
  ]

  @Test(arguments: [ZulipConnection.Method.post, .put, .patch, .delete])
  func `the parameters of a change are in its body`(method: ZulipConnection.Method) async throws {
    let (request, _) = try await Ada.asked { connection throws(ZulipFailure) in
      try await connection.ask(method, "users/me/status", Self.parameters)
    }
    #expect(request.method == method.rawValue)
    #expect(request.target == "/api/v1/users/me/status")
    #expect(request.form?.items.map { "\($0.name)=\($0.value)" } == Self.sent)
    let login = Data("\(Ada.email):\(Ada.key)".utf8).base64EncodedString()
    #expect(request.headers["Authorization"] == "Basic \(login)")
  }

  @Test func `the parameters of a get are in its query, and the answer has all fields`()
    async throws
  {
    let (request, fields) = try await Ada.asked(.success(#""users":[{"id":7}],"extra":null"#)) {
      connection throws(ZulipFailure) in
      try await connection.ask(.get, "users", Self.parameters)
    }
    #expect(request.description == "GET /api/v1/users")
    #expect(request.query.items.map { "\($0.name)=\($0.value)" } == Self.sent)
    #expect(request.body.isEmpty)
    #expect(fields == ["extra": .null, "msg": "", "result": "success", "users": [["id": 7]]])
  }

  @Test(arguments: [
    ("users/me", "/api/v1/users/me"),
    ("users/ada+z@example.org", "/api/v1/users/ada+z@example.org"),
    ("realm/emoji/déjà vu", "/api/v1/realm/emoji/déjà vu"), ("a/...", "/api/v1/a/..."),
    ("a/.b/c..", "/api/v1/a/.b/c.."), ("a:b&c=d;e", "/api/v1/a:b&c=d;e"), ("🚲", "/api/v1/🚲"),
    ("a/\u{301}b", "/api/v1/a/\u{301}b"), ("a\u{600}/b", "/api/v1/a\u{600}/b"),
  ])
  func `a path is percent-encoded`(path: String, asked: String) async throws {
    let (request, _) = try await Ada.asked { connection throws(ZulipFailure) in
      try await connection.ask(.get, path)
    }
    #expect(request.path == asked)
    #expect(request.segments.count == path.unicodeScalars.split(separator: "/").count + 2)
    #expect(!request.target.contains("%2F"))
    #expect(request.query.items.isEmpty)
  }

  @Test(arguments: [
    "", "/", "/users", "users/", "users//me", ".", "..", "../../login", "users/../../../login",
    "users/./me", "users/..", "users?a=b", "users#me", "users/%2e%2e/x", "users/%2F", "%", "a\\b",
    "..\\..", "a\r\nX-Evil: 1", "a\u{0}", "a\u{7F}", "a\u{85}", "a\t", "../\u{301}", "a\u{600}/..",
    "../\u{301}\u{600}/../../\u{301}\u{600}/../avatar/7",
  ])
  func `a path that could lead elsewhere is refused before anything is sent`(
    path: String
  ) async throws {
    try await Ada.serve { _ in
      .success()
    } while: { server, connection in
      let failure = await Ada.failure { () throws(ZulipFailure) in
        try await connection.ask(.get, path)
      }
      #expect(failure?.reason == .malformedPath)
      #expect(failure?.failure == .rejected(RejectionCode("BAD_REQUEST")))
      #expect(failure?.hasLeft == false)
      #expect(server.counters.accepted == 0)
    }
  }

  @Test func `a refusal, a deadline and a redirection fail as with any other request`()
    async throws
  {
    try await Ada.serve { request in
      switch request.path {
      case "/api/v1/refused": .error(400, "BAD_EVENT", "")
      case "/api/v1/moved": Response(status: 302, headers: ["Location": "/api/v1/refused"])
      default: .success().with(.halfOpen(after: 0))
      }
    } while: { server, connection in
      func reason(_ path: String, within deadline: TimeSpan? = nil) async -> ZulipFailure.Reason? {
        await Ada.failure { () throws(ZulipFailure) in
          try await connection.ask(.post, path, ["secret": "s"], within: deadline)
        }?.reason
      }
      #expect(await reason("refused") == .refused(RejectionCode("BAD_EVENT")))
      #expect(await reason("moved") == .redirected)
      #expect(connection.lastFailure?.reason == .redirected)
      #expect(await reason("silent", within: .milliseconds(300)) == .timedOut)
      #expect(server.counters.requests == 3)
    }
  }

  @Test func `the key goes to no other host`() async throws {
    let leaked = Shared(0)
    try await LoopbackServer.serving { _ in
      leaked.change { $0 += 1 }
      return .success()
    } while: { other in
      try await Ada.serve { [address = other.address] _ in
        Response(status: 307, headers: ["Location": "\(address)/api/v1/users"])
      } while: { _, connection in
        for path in ["users", "@\(other.address.dropFirst(7))/x", ":\(other.port)/x"] {
          _ = await Ada.failure { () throws(ZulipFailure) in
            try await connection.ask(.get, path)
          }
        }
      }
    }
    #expect(leaked.value == 0)
  }
}
