import SyncProtocols
import Testing
import UpdateMachine

/// Tests ZulipServer's table of errors, row by row.
struct ServerAnswerTests {
  private static func error(_ status: Int, _ code: String? = nil) -> ServerAnswer {
    ServerAnswer(status: status, result: .error, code: code)
  }

  @Test(arguments: [200, 201, 204, 299])
  func `a success with the envelope is a success`(status: Int) {
    #expect(ServerAnswer(status: status, result: .success).failure() == nil)
  }

  @Test(arguments: [200, 400, 404, 410])
  func `row 1: a bad queue is expired`(status: Int) {
    #expect(
      ServerAnswerTests.error(status, "BAD_EVENT_QUEUE_ID").failure() == .expired)
  }

  @Test(arguments: ["BAD_REQUEST", "REQUEST_VARIABLE_MISSING", "UNAUTHORIZED_PRINCIPAL", "NEW"])
  func `row 2: any other refusal is rejected, with its code`(code: String) {
    for status in [200, 400, 403, 404, 409, 422, 499] {
      let failure = ServerAnswerTests.error(status, code).failure()
      #expect(failure == .rejected(RejectionCode(code)))
    }
  }

  @Test(arguments: [200, 400, 405, 418])
  func `row 2: a refusal without a code is rejected`(status: Int) {
    #expect(ServerAnswerTests.error(status).failure() == .rejected(.none))
  }

  @Test(arguments: ["UNAUTHORIZED", "AUTHENTICATION_FAILED", "BAD_EVENT_QUEUE_ID", nil])
  func `row 3: every 401 with the envelope is unauthorized`(code: String?) {
    #expect(ServerAnswerTests.error(401, code).failure() == .unauthorized)
  }

  @Test func `row 3: 401 without the envelope is a proxy's, and does not halt the client`() {
    #expect(ServerAnswer(status: 401, result: nil).failure() == .serverFault)
  }

  @Test func `row 4: any 429 is rateLimited, HTML too`() {
    let wait = TimeSpan.milliseconds(54_370)
    #expect(ServerAnswer.rateLimited(after: wait).failure() == .rateLimited(after: wait))
    #expect(ServerAnswer(status: 429, result: nil).failure() == .rateLimited(after: nil))
    #expect(
      ServerAnswer(status: 429, result: nil, retryAfter: wait).failure()
        == .rateLimited(after: wait))
    #expect(
      ServerAnswerTests.error(429, "BAD_EVENT_QUEUE_ID").failure() == .rateLimited(after: nil))
  }

  /// A gateway may answer with a status of its own and leave the body as it was.
  @Test(arguments: [200, 400, 403, 500, 503])
  func `row 4: the code of a rate limit counts, whatever the status`(status: Int) {
    let wait = TimeSpan.seconds(9)
    var answer = ServerAnswerTests.error(status, "RATE_LIMIT_HIT")
    #expect(answer.failure() == .rateLimited(after: nil))
    answer.retryAfter = wait
    #expect(answer.failure() == .rateLimited(after: wait))
    answer.result = .success
    #expect(answer.failure() != .rateLimited(after: wait) || status == 503)
  }

  @Test func `row 4: a server that says until when it is away asks for patience`() {
    let wait = TimeSpan.seconds(9)
    let answer = ServerAnswer(status: 503, result: nil, retryAfter: wait)
    #expect(answer.failure() == .rateLimited(after: wait))
    #expect(ServerAnswer(status: 502, result: nil, retryAfter: wait).failure() == .serverFault)
  }

  @Test(arguments: [500, 502, 503, 504, 599])
  func `row 5: every 5xx is a server's fault, HTML or not`(status: Int) {
    #expect(ServerAnswer(status: status, result: nil).failure() == .serverFault)
    #expect(ServerAnswerTests.error(status).failure() == .serverFault)
    #expect(ServerAnswerTests.error(status, "BAD_EVENT_QUEUE_ID").failure() == .serverFault)
    #expect(ServerAnswer(status: status, result: .success).failure() == .serverFault)
  }

  @Test(arguments: [200, 204, 302, 304, 400, 403, 404, 405])
  func `row 5: an answer without the envelope is a server's fault`(status: Int) {
    #expect(ServerAnswer(status: status, result: nil).failure() == .serverFault)
    let code = ServerAnswer(status: status, result: nil, code: "BAD_EVENT_QUEUE_ID")
    #expect(code.failure() == .serverFault)
  }

  @Test(arguments: [100, 302, 304])
  func `row 5: a status that is neither success nor refusal is a server's fault`(status: Int) {
    #expect(ServerAnswer(status: status, result: .success).failure() == .serverFault)
    #expect(ServerAnswerTests.error(status, "BAD_EVENT_QUEUE_ID").failure() == .serverFault)
  }

  @Test func `a refusal whose body says success is a refusal`() {
    #expect(ServerAnswer(status: 400, result: .success).failure() == .rejected(.none))
  }

  @Test func `the server's ready-made answers have the meaning of their names`() {
    #expect(ServerAnswer.badQueue.failure() == .expired)
    #expect(ServerAnswer.badRequest.failure() == .rejected(RejectionCode("BAD_REQUEST")))
    #expect(ServerAnswer.badGateway.failure() == .serverFault)
    #expect(ServerAnswer.serverError.failure() == .serverFault)
    #expect(ServerAnswer.portal.failure() == .serverFault)
    #expect(ServerAnswer.unauthorized.failure() == .unauthorized)
    #expect(ServerAnswer.rateLimited(after: nil).failure() == .rateLimited(after: nil))
  }

  @Test func `a reply fails only if it was refused`() {
    typealias Reply = ServerReply<Int, EventQueue<Int>>
    let finger = QueueFinger(queue: QueueID("q"), lastEventID: -1)
    #expect(Reply.registered(1, finger, .unspoken).failure() == nil)
    #expect(Reply.batch(QueueBatch(events: [])).failure() == nil)
    #expect(Reply.released.failure() == nil)
    #expect(Reply.refused(.badQueue).failure() == .expired)
  }
}
