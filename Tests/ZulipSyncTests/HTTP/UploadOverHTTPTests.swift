import Foundation
import LoopbackServer
import Testing
import UpdateMachine

@testable import ZulipSync

/// Tests uploads as the server gets them, and what the app hears of them.
@Suite(.timeLimit(.minutes(2))) struct UploadOverHTTPTests {
  private static let path = "/user_uploads/2/ab/x.txt"
  private static let answer = Response.success(#""url":"\#(path)","uri":"old","filename":"x.txt""#)

  /// Limits for large bodies.
  private static var limits: LoopbackServer.Settings {
    var settings = LoopbackServer.Settings()
    settings.bodyLimit = 64 << 20
    return settings
  }

  private func uploaded(
    _ data: Data, named name: String, _ answer: Response = answer
  ) async throws -> (LoopbackServer.Request, String) {
    let request = Shared<LoopbackServer.Request?>(nil)
    var path = ""
    try await Ada.serve(server: Self.limits) { asked in
      request.change { $0 = asked }
      return answer
    } while: { _, connection in
      path = try await connection.upload(data, named: name)
    }
    return (try #require(request.value), path)
  }

  /// The only part of a body: its headers, and what is in it.
  private func part(_ request: LoopbackServer.Request) throws -> (head: String, content: Data) {
    let type = try #require(request.headers["Content-Type"])
    let match = try #require(type.wholeMatch(of: #/multipart\/form-data; boundary=([\w-]+)/#))
    let body = Data(request.body)
    let start = Data("--\(match.1)\r\n".utf8)
    let end = Data("\r\n--\(match.1)--\r\n".utf8)
    #expect(body.starts(with: start) && body.suffix(end.count) == end)
    let inside = body.dropFirst(start.count).dropLast(end.count)
    #expect(inside.range(of: Data("--\(match.1)".utf8)) == nil, "there is only one part")
    let gap = try #require(inside.range(of: Data("\r\n\r\n".utf8)))
    return (
      String(decoding: inside[..<gap.lowerBound], as: UTF8.self),
      Data(inside[gap.upperBound...])
    )
  }

  @Test func `a file is sent as it is, and its path comes back`() async throws {
    let data = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    let (request, path) = try await uploaded(data, named: "x.bin")
    #expect(request.description == "POST /api/v1/user_uploads")
    #expect(request.target == "/api/v1/user_uploads")
    #expect(path == Self.path)
    let part = try part(request)
    #expect(part.head == #"Content-Disposition: form-data; name="file"; filename="x.bin""#)
    #expect(part.content == data)
    let login = Data("\(Ada.email):\(Ada.key)".utf8).base64EncodedString()
    #expect(request.headers["Authorization"] == "Basic \(login)")
  }

  @Test(arguments: [
    ("a \"b\".txt", "a %22b%22.txt"),
    ("a\r\nX-Evil: 1\r\n\r\n.txt", "a%0D%0AX-Evil: 1%0D%0A%0D%0A.txt"),
    ("déjà 👋🏽.png", "déjà 👋🏽.png"), ("a\\", "a%5C"), ("..\\..\\a", "..%5C..%5Ca"),
    ("a\u{0}\t\u{7F}", "a%00%09%7F"), ("a\u{80}\u{85}\u{9F}\u{A0}", "a%C2%80%C2%85%C2%9F\u{A0}"),
    ("50%22.txt", "50%22.txt"), ("a;b=c.txt", "a;b=c.txt"),
    ("日本語/x", "日本語/x"), ("e\u{301}", "e\u{301}"),
  ])
  func `no file name breaks the header`(name: String, sent: String) async throws {
    let part = try part(try await uploaded(Data("hi".utf8), named: name).0)
    let head = #"Content-Disposition: form-data; name="file"; filename="\#(sent)""#
    #expect(Array(part.head.unicodeScalars) == Array(head.unicodeScalars))
    #expect(part.content == Data("hi".utf8))
  }

  @Test(arguments: [
    "", "\r\n", "--ZulipSync-boundary-0-", "\r\n--ZulipSync-boundary-0---\r\n",
    "ZulipSync-boundary-1-ZulipSync-boundary-0-ZulipSync-boundary-2-",
  ])
  func `no content ends its own part`(text: String) async throws {
    let part = try part(try await uploaded(Data(text.utf8), named: "x").0)
    #expect(part.content == Data(text.utf8))
  }

  @Test func `what tries to guess the boundary arrives whole and at once`() async throws {
    // A search for each of these texts would take longer than this suite may.
    let text = (0..<200_000).map { "--ZulipSync-boundary-\($0)-" }.joined(separator: "\r\n")
    let name = (0..<100).map { "--ZulipSync-boundary-\($0)-" }.joined()
    var types: Set<String> = []
    for _ in 0..<2 {
      let (request, _) = try await uploaded(Data(text.utf8), named: name)
      types.insert(try #require(request.headers["Content-Type"]))
      let part = try part(request)
      #expect(part.head == #"Content-Disposition: form-data; name="file"; filename="\#(name)""#)
      #expect(part.content == Data(text.utf8))
    }
    #expect(types.count == 2, "each body has a boundary of its own")
  }

  @Test func `an older server's path comes back, and a missing one is malformed`() async throws {
    let (_, path) = try await uploaded(Data([1]), named: "x", .success(#""uri":"/user_uploads/1""#))
    #expect(path == "/user_uploads/1")
    try await Ada.serve { _ in
      .success()
    } while: { _, connection in
      let failure = await Ada.failure { () throws(ZulipFailure) in
        try await connection.upload(Data([1]), named: "x")
      }
      #expect(failure?.reason == .malformed(.malformed(path: "uri")))
    }
  }

  @Test(arguments: [0, 1, 5_000_000])
  func `progress rises to 1 and ends before the upload returns`(count: Int) async throws {
    let heard = Shared<[Double]>([])
    try await Ada.serve(server: Self.limits) { _ in
      Self.answer
    } while: { _, connection in
      _ = try await connection.upload(Data(count: count), named: "x") { share in
        heard.change { $0.append(share) }
      }
      let shares = heard.value
      #expect(shares.last == 1)
      #expect(shares == shares.sorted() && Set(shares).count == shares.count)
      #expect((shares.first ?? 0) > 0)
      for _ in 0..<20 { try await connection.ask(.get, "users/me") }
      #expect(heard.value == shares)
    }
  }

  @Test func `progress that begins anew is not told, and none after the end`() {
    let heard = Shared<[Double]>([])
    let progress = ZulipProgress { share in heard.change { $0.append(share) } }
    for count: Int64 in [0, 1, 2, 1, 0, 2, 3, 9] { progress.sent(count, of: 4) }
    progress.sent(1, of: 0)
    progress.sent(5, of: -1)
    #expect(heard.value == [0.25, 0.5, 0.75, 1])
    let closed = ZulipProgress { share in heard.change { $0.append(share) } }
    closed.close()
    closed.sent(1, of: 2)
    #expect(heard.value.count == 4)
  }

  @Test func `an upload that is cancelled closes its connection`() async throws {
    try await Ada.serve(server: Self.limits) { _ in
      Self.answer
    } while: { server, connection in
      // The connection is accepted so late that most of the file is still to be sent.
      server.welcome(.after(.seconds(20)))
      let (signal, begun) = AsyncStream<Double>.makeStream()
      let uploading = Task {
        await Ada.failure { () throws(ZulipFailure) in
          try await connection.upload(Data(count: 32 << 20), named: "x") { begun.yield($0) }
        }
      }
      var shares: [Double] = []
      for await share in signal {
        shares.append(share)
        break
      }
      uploading.cancel()
      #expect(await uploading.value == ZulipFailure(.unreachable, .cancelled))
      begun.finish()
      for await share in signal { shares.append(share) }
      #expect((shares.last ?? 1) < 0.9, "\(shares)")
      #expect(server.counters.requests == 0)
      // Only the connection's own session stays.
      let sessions = connection.transport.sessions
      for _ in 0..<400 where sessions.value > 1 {
        _ = await server.counters(within: .milliseconds(50)) { _ in sessions.value == 1 }
      }
      #expect(sessions.value == 1)
    }
  }

  @Test func `progress may cancel its own upload`() async throws {
    try await Ada.serve(server: Self.limits) { _ in
      Self.answer
    } while: { server, connection in
      let uploading = Shared<Task<ZulipFailure?, Never>?>(nil)
      let (signal, ready) = AsyncStream<Void>.makeStream()
      let task = Task {
        for await _ in signal { break }
        return await Ada.failure { () throws(ZulipFailure) in
          try await connection.upload(Data(count: 8 << 20), named: "x") { _ in
            uploading.value?.cancel()
          }
        }
      }
      uploading.change { $0 = task }
      ready.yield()
      #expect(await task.value?.reason == .cancelled)
      withExtendedLifetime(ready) {}
      await server.reaches { $0.open == 0 && $0.answering == 0 }
    }
  }

  @Test func `an upload is over at its deadline`() async throws {
    try await Ada.serve(server: Self.limits) { _ in
      await untilCancelled()
      return Self.answer
    } while: { server, connection in
      let failure = await Ada.failure { () throws(ZulipFailure) in
        try await connection.upload(Data([1]), named: "x", within: .milliseconds(300))
      }
      #expect(failure == ZulipFailure(.timedOut, .timedOut))
      await server.reaches { $0.open == 0 && $0.answering == 0 }
      #expect(server.counters.requests == 1)
    }
  }

  @Test(arguments: [
    (0, 30), (100 << 10, 31), (10 << 20, 190), (25 << 20, 430), (100 << 20, 1630),
    (200 << 20, 3230), (300 << 20, 4830),
  ])
  func `without a deadline a large file has more time`(count: Int, seconds: Int64) {
    #expect(ZulipConnection.time(toUpload: count, ZulipSettings()) == .seconds(seconds))
  }

  @Test func `a file that is too large for the server or its proxy is refused`() async throws {
    for (response, expected) in [
      (Response.error(400, "BAD_REQUEST"), SyncFailure.rejected(RejectionCode("BAD_REQUEST"))),
      (.text("<html>413</html>", status: 413, type: "text/html"), .serverFault),
      (.error(400, "REALM_UPLOAD_QUOTA"), .rejected(RejectionCode("REALM_UPLOAD_QUOTA"))),
    ] {
      try await Ada.serve(server: Self.limits) { _ in
        response
      } while: { _, connection in
        let failure = await Ada.failure { () throws(ZulipFailure) in
          try await connection.upload(Data(count: 1000), named: "x")
        }
        #expect(failure?.failure == expected)
      }
    }
    // A server that does not even read the body.
    var small = LoopbackServer.Settings()
    small.bodyLimit = 1000
    try await Ada.serve(server: small) { _ in
      Self.answer
    } while: { server, connection in
      let failure = await Ada.failure { () throws(ZulipFailure) in
        try await connection.upload(Data(count: 4 << 20), named: "x")
      }
      #expect(failure?.failure == .serverFault || failure?.failure == .unreachable)
      #expect(server.counters.requests == 0)
    }
  }
}
