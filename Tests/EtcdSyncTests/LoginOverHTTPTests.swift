import SyncProtocols
import TestSupport
import Testing
import UpdateMachine

@testable import EtcdSync

/// Users and their tokens at a real etcd. Where there is none, these are said to be skipped.
@Suite(
  .enabled(if: EtcdProcess.isThere, "etcd is not installed (Debian: etcd-server)"),
  .timeLimit(.minutes(2)))
struct LoginOverHTTPTests {
  static let client = ClientID(7)
  static let ada = EtcdLogin(user: "ada", password: "pw")

  /// Runs `body` with a member that knows Ada, who may do anything under `app/`, and whose tokens
  /// live for two seconds.
  static func serving(_ body: (EtcdProcess) async throws -> Void) async throws {
    try await EtcdProcess.serving(["--auth-token-ttl", "2"]) { etcd in
      let anybody = try EtcdConnection(to: [etcd.address], settings: EtcdConnection.quick())
      try await anybody.put("app/a", "1")
      let span = EtcdSpan(prefix: Array("app/".utf8))
      let permission: JSONValue = [
        "permType": "READWRITE", "key": .base64(span.start), "range_end": .base64(span.end),
      ]
      try await anybody.administer("user/add", ["name": "root", "password": "pw"])
      try await anybody.administer("role/add", ["name": "root"])
      try await anybody.administer("user/grant", ["user": "root", "role": "root"])
      try await anybody.administer("user/add", ["name": "ada", "password": "pw"])
      try await anybody.administer("role/add", ["name": "app"])
      try await anybody.administer("role/grant", ["name": "app", "perm": permission])
      try await anybody.administer("user/grant", ["user": "ada", "role": "app"])
      try await anybody.administer("enable", [:])
      try await body(etcd)
    }
  }

  static func source(
    _ etcd: EtcdProcess, _ login: EtcdLogin?, prefix: String = "app/"
  ) throws -> EtcdSource<EtcdMap> {
    let connection = try EtcdConnection(
      to: [etcd.address], login: login, settings: EtcdConnection.quick())
    return try EtcdSource(connection, prefix: prefix, for: EtcdMap.self)
  }

  @Test func `a token that expires, or ends with its member, is replaced`() async throws {
    try await LoginOverHTTPTests.serving { etcd in
      let source = try LoginOverHTTPTests.source(etcd, LoginOverHTTPTests.ada)
      let finger = try await source.register(as: LoginOverHTTPTests.client).finger
      let clock = SystemClock()
      try await clock.sleep(until: clock.now + .milliseconds(3500))
      #expect(try await source.poll(after: finger, waits: true).events.isEmpty)
      etcd.kill()
      try await etcd.start(asking: false)
      for _ in 1...100 where (try? await source.poll(after: finger, waits: false)) == nil {
        try await clock.sleep(until: clock.now + .milliseconds(50))
      }
      #expect(try await source.poll(after: finger, waits: true).events.isEmpty)
    }
  }

  @Test func `a wrong password, no log-in, and a forbidden prefix are told apart`() async throws {
    try await LoginOverHTTPTests.serving { etcd in
      let wrong = EtcdLogin(user: "ada", password: "no")
      for (login, prefix, failure) in [
        (wrong, "app/", SyncFailure.unauthorized), (nil, "app/", .unauthorized),
        (LoginOverHTTPTests.ada, "other/", .rejected(RejectionCode("PERMISSION_DENIED"))),
      ] as [(EtcdLogin?, String, SyncFailure)] {
        let source = try LoginOverHTTPTests.source(etcd, login, prefix: prefix)
        await #expect(throws: failure) {
          try await source.register(as: LoginOverHTTPTests.client)
        }
      }
      // Another log-in may come too late for a watch that is open.
      let good = try LoginOverHTTPTests.source(etcd, LoginOverHTTPTests.ada)
      let finger = try await good.register(as: LoginOverHTTPTests.client).finger
      let bad = try LoginOverHTTPTests.source(etcd, nil)
      await #expect(throws: SyncFailure.unauthorized) {
        try await bad.poll(after: finger, waits: true)
      }
    }
  }

  @Test func `where nobody logs in, a log-in does no harm`() async throws {
    try await EtcdProcess.serving { etcd in
      let source = try LoginOverHTTPTests.source(etcd, LoginOverHTTPTests.ada)
      let finger = try await source.register(as: LoginOverHTTPTests.client).finger
      #expect(try await source.poll(after: finger, waits: false).events.isEmpty)
    }
  }
}
