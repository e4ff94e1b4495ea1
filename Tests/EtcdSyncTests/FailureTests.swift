import Foundation
import Testing
import UpdateMachine

@testable import EtcdSync

@Suite struct FailureTests {
  // MARK: Several members

  static let broken = EtcdFailure(.unreachable, .broken, hasLeft: false)
  static let slow = EtcdFailure(.timedOut, .timedOut)

  @Test(
    arguments: [
      ([broken], broken), ([broken, slow], slow),
      ([slow, EtcdFailure(.unavailable)], EtcdFailure(.unavailable)),
      ([.foreign, .foreign], .foreign), ([EtcdFailure(.future), .foreign], EtcdFailure(.future)),
      ([.foreign, slow], slow), ([slow, EtcdFailure(.future)], slow),
      ([EtcdFailure(.noToken), broken], EtcdFailure(.noToken)),
    ] as [([EtcdFailure], EtcdFailure)])
  func `another history is believed only if all members say so`(
    failures: [EtcdFailure], together: EtcdFailure
  ) {
    #expect(EtcdFailure.of(failures).reason == together.reason)
    #expect(EtcdFailure.of(failures.reversed()).failure == together.failure)
    #expect(EtcdFailure.of(failures).hasLeft == failures.contains { $0.hasLeft })
  }

  @Test func `what is the cluster's is not asked of the next member`() {
    for refusal in [EtcdRefusal.compacted, .denied, .busy, .tooLarge, .wrongPassword, .other(3)] {
      #expect(!EtcdFailure(refusal).isOfMember)
    }
    for refusal in [EtcdRefusal.unavailable, .future, .noToken, .unimplemented] {
      #expect(EtcdFailure(refusal).isOfMember)
    }
  }

  // MARK: Addresses

  @Test(
    arguments: [
      ("https://etcd-1.example.org:2379", "https://etcd-1.example.org:2379", 2379),
      ("HTTPS://Etcd.example.org/", "https://etcd.example.org", 443),
      ("http://127.0.0.1:22379", "http://127.0.0.1:22379", 22379),
      ("http://localhost", "http://localhost", 80),
      ("http://[::1]:2379/", "http://[::1]:2379", 2379),
    ] as [(String, String, UInt16)])
  func `an address is a scheme, a host and a port`(text: String, kept: String, port: UInt16) throws
  {
    let address = try EtcdAddress(text)
    #expect(address.text == kept)
    #expect(address.port == port)
  }

  @Test(arguments: [
    "", "etcd", "ftp://etcd", "https://", "https://user:pw@etcd", "https://etcd/path",
    "https://etcd?x", "https://etcd#x", "https://etcd:0", "https://etcd:70000", "https://e tcd",
    "https://et%63d", "https://etcd\r\nX: y",
  ])
  func `anything else is refused`(text: String) {
    #expect(throws: EtcdConnectionError.malformedAddress) { try EtcdAddress(text) }
  }

  @Test(arguments: ["http://etcd.example.org", "http://10.0.0.1:2379", "http://127.0.0.2"])
  func `without encryption nothing leaves this computer`(text: String) {
    #expect(throws: EtcdConnectionError.insecureAddress) { try EtcdAddress(text) }
  }

  @Test func `a connection needs an address, and a source a prefix`() throws {
    #expect(throws: EtcdConnectionError.noAddress) { try EtcdConnection(to: []) }
    let connection = try EtcdConnection(to: ["http://127.0.0.1:2379"])
    for prefix in ["", "\u{0}x"] {
      #expect(throws: EtcdConnectionError.malformedPrefix) {
        try EtcdSource(connection, prefix: prefix, for: EtcdMap.self)
      }
    }
    #if os(Linux)
      #expect(throws: EtcdConnectionError.unsupportedAddress) {
        try EtcdConnection(to: ["http://127.0.0.1:2379", "https://etcd.example.org"])
      }
    #endif
  }

  // MARK: Secrets

  @Test func `user and password appear in no text`() throws {
    let login = EtcdLogin(user: "ada-who", password: "s3cret")
    let connection = try EtcdConnection(to: ["http://127.0.0.1:2379"], login: login)
    let source = try EtcdSource(connection, prefix: "app/", for: EtcdMap.self)
    var texts: [String] = []
    for value in [login, connection, source] as [Any] {
      var dumped = ""
      dump(value, to: &dumped)
      texts += [dumped, String(describing: value), String(reflecting: value)]
    }
    #expect(texts.filter { $0.contains("ada-who") || $0.contains("s3cret") } == [])
  }

  @Test func `a failure shows nothing of what was sent or answered`() {
    let failures = [
      EtcdFailure(EtcdRefusal(code: 5, message: "user ada-who has no s3cret")),
      EtcdFailure(EtcdRefusal(cancelReason: "rpc error: code = NotFound desc = s3cret")),
      EtcdFailure(EtcdWireError(field: "token")),
    ]
    for failure in failures {
      var dumped = ""
      dump(failure, to: &dumped)
      let texts = [dumped, "\(failure)", "\(failure.failure)", String(reflecting: failure)]
      #expect(texts.filter { $0.contains("ada-who") || $0.contains("s3cret") } == [])
    }
  }
}
