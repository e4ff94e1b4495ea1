import Foundation
import LoopbackServer
import MessageSync
import Testing
import UpdateMachine

@testable import ZulipSync

/// Tests the requests that need no key, and who gets to see a password.
@Suite(.timeLimit(.minutes(2))) struct LoginOverHTTPTests {
  private static let password = "pässword & + % \"secret\""

  private static let settings = """
    "zulip_version":"10.0","zulip_feature_level":323,"realm_name":"Écoles",\
    "require_email_format_usernames":false,\
    "authentication_methods":{"password":true,"saml":false,"ldap":true,"google":true},\
    "external_authentication_methods":[{"name":"google","login_url":"/accounts/login/social/x"}]
    """

  private static let account =
    #""api_key":"\#(Ada.key)","email":"Ada@example.org","user_id":7"#

  /// Runs `body` with a server and a login to it.
  private func serve(
    _ answer: @escaping LoopbackServer.Answer,
    while body: (LoopbackServer, ZulipLogin) async throws -> Void
  ) async throws {
    try await LoopbackServer.serving(answer: answer) { server in
      try await body(server, try ZulipLogin(to: try ZulipSite(server.address)))
    }
  }

  @Test func `a server says who it is, and how users log in`() async throws {
    let request = Shared<LoopbackServer.Request?>(nil)
    try await serve { asked in
      request.change { $0 = asked }
      return .success(Self.settings)
    } while: { _, login in
      let server = try await login.server()
      #expect(server.realmName == "Écoles")
      #expect(server.takesPassword)
      #expect(!server.asksForEmail)
      let others = server.fields["external_authentication_methods"]?.list
      #expect(others?.first?.fields?["login_url"]?.text == "/accounts/login/social/x")
    }
    let asked = try #require(request.value)
    #expect(asked.description == "GET /api/v1/server_settings")
    #expect(asked.headers["Authorization"] == nil)
    #expect(asked.query.items.isEmpty)
  }

  @Test(arguments: ["{}", #"{"password":false,"saml":true}"#])
  func `a server's root may have no organization, and a server no passwords`(
    methods: String
  ) async throws {
    try await serve { _ in
      .success(#""zulip_feature_level":185,"authentication_methods":\#(methods)"#)
    } while: { _, login in
      let server = try await login.server()
      #expect(server.realmName == nil && !server.takesPassword && server.asksForEmail)
    }
  }

  @Test func `an address without an organization is rejected`() async throws {
    try await serve { request in
      request.method == "GET"
        ? .error(400, "BAD_REQUEST") : .error(404, "NONEXISTENT_SUBDOMAIN")
    } while: { _, login in
      let asking = await Ada.failure { () throws(ZulipFailure) in try await login.server() }
      #expect(asking?.failure == .rejected(RejectionCode("BAD_REQUEST")))
      let entering = await Ada.failure { () throws(ZulipFailure) in
        try await login.logIn(as: "ada", password: Self.password)
      }
      #expect(entering?.failure == .rejected(RejectionCode("NONEXISTENT_SUBDOMAIN")))
    }
  }

  @Test(arguments: [
    (#""zulip_feature_level":184"#, 184), (#""zulip_version":"1.8""#, 0),
  ])
  func `a server that is too old is unsupported, whatever else it says`(
    fields: String, level: Int64
  ) async throws {
    try await serve { _ in
      .success(fields)
    } while: { _, login in
      let failure = await Ada.failure { () throws(ZulipFailure) in try await login.server() }
      #expect(failure == ZulipFailure(.unsupported, .tooOld(level), status: 200))
    }
  }

  @Test func `a website that is no Zulip server has no envelope`() async throws {
    try await serve { _ in
      .text("<html></html>", status: 404, type: "text/html")
    } while: { _, login in
      let failure = await Ada.failure { () throws(ZulipFailure) in try await login.server() }
      #expect(failure?.reason == .noEnvelope)
    }
  }

  @Test func `a password brings the key, and the key a connection`() async throws {
    let requests = Shared<[LoopbackServer.Request]>([])
    try await serve { asked in
      requests.change { $0.append(asked) }
      return .success(Self.account)
    } while: { server, login in
      let account = try await login.logIn(as: "ada", password: Self.password)
      #expect(account.email == "Ada@example.org" && account.user == UserID(7))
      #expect(try account.key == ZulipAPIKey(Ada.key))
      let connection = try ZulipConnection(
        to: try ZulipSite(server.address), email: account.email, key: account.key)
      try await connection.ask(.get, "users/me")
    }
    let asked = try #require(requests.value.first)
    #expect(asked.description == "POST /api/v1/fetch_api_key")
    #expect(asked.target == "/api/v1/fetch_api_key", "nothing is in the URL, which servers log")
    #expect(asked.form?["username"] == "ada")
    #expect(asked.form?["password"] == Self.password)
    #expect(asked.headers["Authorization"] == nil)
    let login = Data("Ada@example.org:\(Ada.key)".utf8).base64EncodedString()
    #expect(requests.value.last?.headers["Authorization"] == "Basic \(login)")
  }

  @Test(arguments: [
    ("AUTHENTICATION_FAILED", RejectionCode.wrongPassword), ("USER_DEACTIVATED", .userDeactivated),
    ("REALM_DEACTIVATED", .realmDeactivated), ("PASSWORD_AUTH_DISABLED", .passwordLoginDisabled),
    ("PASSWORD_RESET_REQUIRED", .passwordResetRequired),
  ])
  func `each refusal of a login is told apart by its code`(
    code: String, found: RejectionCode
  ) async throws {
    for challenge in [nil, #"Basic realm="zulip""#] {
      try await serve { request in
        var answer = Response.json(
          """
          {"result":"error","msg":"no: \(request.form?["username"] ?? "")","code":"\(code)"}
          """, status: 401)
        if let challenge { answer.headers["WWW-Authenticate"] = challenge }
        return answer
      } while: { server, login in
        let failure = await Ada.failure { () throws(ZulipFailure) in
          try await login.logIn(as: "ada", password: Self.password)
        }
        #expect(failure?.failure == .unauthorized)
        #expect(failure?.reason == .refused(found))
        #expect(server.counters.requests == 1, "a wrong password is not sent again")
      }
    }
  }

  @Test func `too many attempts are told to wait`() async throws {
    try await serve { _ in
      .error(429, "RATE_LIMIT_HIT", #""retry-after":28.5"#)
    } while: { _, login in
      let failure = await Ada.failure { () throws(ZulipFailure) in
        try await login.logIn(as: "ada", password: Self.password)
      }
      #expect(failure?.failure == .rateLimited(after: .milliseconds(28_500)))
    }
  }

  @Test(arguments: [
    (#""api_key":"a b","email":"a","user_id":1"#, "api_key"),
    (#""email":"a","user_id":1"#, "api_key"),
    (#""api_key":"k","user_id":1"#, "email"), (#""api_key":"k","email":"a""#, "user_id"),
  ])
  func `a login without all of an account is malformed`(fields: String, path: String) async throws {
    try await serve { _ in
      .success(fields)
    } while: { _, login in
      let failure = await Ada.failure { () throws(ZulipFailure) in
        try await login.logIn(as: "ada", password: Self.password)
      }
      #expect(failure?.reason == .malformed(.malformed(path: path)))
    }
  }

  @Test(arguments: [301, 302, 303, 307, 308])
  func `a password goes only to the site, whatever a redirection says`(status: Int) async throws {
    try await LoopbackServer.serving { _ in
      .success(Self.account)
    } while: { stranger in
      try await serve { [address = stranger.address] _ in
        Response(status: status, headers: ["Location": "\(address)/api/v1/fetch_api_key"])
      } while: { server, login in
        let failure = await Ada.failure { () throws(ZulipFailure) in
          try await login.logIn(as: "ada", password: Self.password)
        }
        #expect(failure?.reason == .redirected)
        #expect(server.counters.requests == 1)
      }
      #expect(stranger.counters.accepted == 0)
    }
  }

  @Test func `no description or dump shows the password or the key`() async throws {
    let isRefused = Shared(false)
    try await serve { request in
      isRefused.value
        ? .error(401, "AUTHENTICATION_FAILED", #""password":"\#(Ada.key)""#)
        : .success(Self.account)
    } while: { _, login in
      let account = try await login.logIn(as: "ada", password: "Ada's password")
      isRefused.change { $0 = true }
      let failure = await Ada.failure { () throws(ZulipFailure) in
        try await login.logIn(as: "ada", password: "Ada's password")
      }
      for value in [login, account, failure as Any, [account]] as [Any] {
        var dumped = ""
        dump(value, to: &dumped)
        var shown: [Any] = [value]
        var texts = ["\(value)", String(reflecting: value), dumped]
        while let next = shown.popLast() {
          texts.append("\(next)")
          shown += Mirror(reflecting: next).children.map(\.value)
        }
        for text in texts { #expect(!text.contains(Ada.key) && !text.contains("password")) }
      }
    }
  }

  @Test(arguments: ["right", "wrong", "without an e-mail address", "without an organization"])
  func `the article's login leads to a key, or asks again`(password: String) async throws {
    var shown: [String] = []
    func show(_ text: String) { shown.append(text) }
    func keep(_ account: ZulipLogin.Account) { shown.append(account.email) }
    func askAgain() { shown.append("again") }
    let name = "ada"
    try await LoopbackServer.serving { request in
      if request.method == "GET" { return .success(Self.settings) }
      return switch request.form?["password"] {
      case "right": .success(Self.account)
      case "wrong": .error(401, "AUTHENTICATION_FAILED")
      case "without an organization": .error(404, "NONEXISTENT_SUBDOMAIN")
      default: .error(400, "BAD_REQUEST")
      }
    } while: { server in
      let address = server.address

      // Article example begins: login
      let login = try ZulipLogin(to: try ZulipSite(address))
      let server = try await login.server()
      show("Log in to \(server.realmName ?? address)")
      do throws(ZulipFailure) {
        let account = try await login.logIn(as: name, password: password)
        keep(account)  // The app keeps the e-mail address and the key. A keychain is made for that.
      } catch {
        switch error.failure {
        case .unauthorized, .rejected: askAgain()  // The code in `error.reason` says why.
        default: throw error
        }
      }
      // Article example ends
    }
    #expect(shown == ["Log in to Écoles", password == "right" ? "Ada@example.org" : "again"])
  }
}
