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

  @Test func `a member that is told to stop is passed over`() {
    let stopped = EtcdRefusal(code: 1, message: "grpc: the client connection is closing")
    #expect(stopped == .unavailable)
    #expect(
      EtcdRefusal(cancelReason: "rpc error: code = Canceled desc = grpc: closing") == .unavailable)
  }

  @Test func `what etcd refuses it has not done`() {
    for refusal in [EtcdRefusal.compacted, .future, .noToken, .denied, .busy, .tooLarge] {
      #expect(EtcdFailure(refusal).isUndone)
    }
    for refusal in [EtcdRefusal.unavailable, .other(5)] { #expect(!EtcdFailure(refusal).isUndone) }
    #expect(!EtcdFailure(.unreachable, .broken).isUndone)
  }

  // MARK: Requests

  /// An exchange that keeps its connection would keep it, and all that was sent, for ever.
  @Test(arguments: ["whole", "timed out", "cancelled before", "refused"])
  func `the end of a request lets go of its connection`(end: String) async {
    final class Connection: Sendable {}
    let exchange = EtcdExchange(limit: 100)
    weak var connection: Connection?
    do {
      let opened = Connection()
      connection = opened
      if end == "cancelled before" { exchange.end(.cancelled) }
      exchange.begin { _ = opened }
    }
    switch end {
    case "whole":
      exchange.received(Data("{}".utf8))
      exchange.completed(nil, hasLeft: true)
      #expect(await exchange.whole(within: .seconds(5)).body == Data("{}".utf8))
      #expect(exchange.rest.isEmpty)
    case "timed out": _ = await exchange.whole(within: .milliseconds(1))
    case "refused": exchange.completed(.cannotConnectToHost, hasLeft: false)
    default: break
    }
    #expect(connection == nil)
  }

  /// Otherwise it would never end.
  @Test(.timeLimit(.minutes(2)))
  func `an empty line is no message, and does not begin the wait anew`() async throws {
    let exchange = EtcdExchange(limit: 10_000)
    exchange.began(EtcdExchange.Head(status: 200, type: "application/json"))
    let clock = SystemClock()
    let lines = Task {
      while !Task.isCancelled {
        exchange.received(Data("\n".utf8))
        try await clock.sleep(until: clock.now + .milliseconds(20))
      }
    }
    #expect(try await exchange.messageIfAny(within: .milliseconds(200)) == nil)
    lines.cancel()
  }

  @Test func `lines are read one by one, from what has come and from what comes`() async {
    let exchange = EtcdExchange(limit: 100_000)
    var expected: [String] = []
    var found: [String] = []
    for round in 0..<50 {
      for number in 0..<20 {
        expected.append("line \(round) \(number)")
        exchange.received(Data("line \(round) \(number)\n".utf8))
      }
      exchange.received(Data("half".utf8))
      for _ in 0..<(round == 49 ? 20 : 15) {
        if case .line(let line) = await exchange.line(within: .seconds(5)) {
          found.append(String(decoding: line, as: UTF8.self))
        }
      }
      exchange.received(Data(" of it\n".utf8))
      expected.append("half of it")
    }
    exchange.completed(nil, hasLeft: true)
    while case .line(let line) = await exchange.line(within: .seconds(5)) {
      found.append(String(decoding: line, as: UTF8.self))
    }
    #expect(found == expected)
    #expect(exchange.isOver && exchange.rest.isEmpty)
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
