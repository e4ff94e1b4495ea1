import Testing

@testable import UpdateMachine

/// Tests what an app's developer reads of errors and reports in a log: what happened, and what can
/// be done.
@Suite struct DescriptionTests {
  static let failures: [SyncFailure] = [
    .unreachable, .timedOut, .serverFault, .rateLimited(after: .seconds(5)), .unauthorized,
    .unsupported, .expired, .rejected(RejectionCode("TOO_OLD")), .malformed, .modelRefused,
  ]

  private typealias Reason = MutationSetAside<BoardChange>.Reason
  private typealias Refused = MutationError<BoardChange.Refusal>
  private typealias Undone = UndoOutcome<BoardChange.Refusal>

  static let stored: [StoreError] = [
    .failed("Disk full."), .unreadable("Row 3."), .unwritable("A date."), .taken("Since 9:00."),
  ]
  static let codes: [RejectionCode] = [
    RejectionCode("NO"), .none, .nameLost, .unreadable, .tooLarge,
  ]
  private static let errors: [Refused] = [
    .refused(.full), .full, .nothingHeld, .notConnected,
    .unstorable(.damaged(expected: "a date")),
  ]
  private static let reasons = [Reason.threw(.missing)] + codes.map { .refused($0) }
  private static let undone: [Undone] = [
    .queued(MutationTicket(4)), .discarded(MutationTicket(4)), .outdated(.missing),
    .undecided(MutationTicket(4)), .nothing,
  ]
  private static let reports =
    failures.map { DriverReport.failure($0) } + stored.map { .store($0) }
    + [.nameShared(ClientID(7))]

  /// All texts.
  private static let texts: [String] =
    reports.map { "\($0)" } + stored.map { "\($0)" } + codes.map { "\($0)" }
    + failures.flatMap { ["\(PushFailure($0))", "\(PushFailure($0, hasLeft: false))"] }
    + errors.map { "\($0)" } + reasons.map { "\($0)" } + undone.map { "\($0)" }

  @Test func `every report and error is told in sentences on one line`() {
    for text in Self.texts {
      #expect(text.first?.isUppercase == true, "\(text)")
      #expect(text.last == ".", "\(text)")
      #expect(text.contains(" ") && !text.contains("\n"), "\(text)")
      // Not what Swift prints of a value that says nothing.
      #expect(!text.contains("(text:") && !text.contains("(failure:"), "\(text)")
    }
  }

  @Test func `a report of a failure keeps the failure's own word`() {
    for failure in Self.failures where failure != .rejected(RejectionCode("TOO_OLD")) {
      #expect("\(DriverReport.failure(failure))".contains("(\(failure))"))
    }
    let refused = "\(DriverReport.failure(.rejected(RejectionCode("TOO_OLD"))))"
    #expect(refused.contains("The server's code is TOO_OLD."))
  }

  @Test func `a store's report keeps the store's reason`() {
    #expect("\(StoreError.failed("Free some space."))".hasSuffix(" Free some space."))
    #expect("\(DriverReport.store(.unreadable("Row 3.")))".hasSuffix(" Row 3."))
  }

  @Test func `what the user's change met is told, with what the user can do`() {
    #expect("\(Refused.refused(.full))".contains("cannot be made in this state (full)"))
    #expect("\(Refused.notConnected)".contains("Try again when there is."))
    #expect("\(Reason.threw(.missing))".contains("has become impossible (missing)"))
    #expect(
      "\(Reason.refused(RejectionCode("NO")))"
        == "The server refused the change (NO). Retry, edit or discard it.")
    #expect("\(Reason.refused(.nameLost))".contains("under a client ID that was lost (NAME_LOST)"))
  }

  // MARK: What to do

  // A new case does not compile without its advice.

  private func advice(_ error: StoreError) -> String {
    switch error {
    case .failed: "look at the disk"
    case .unreadable: "the server is asked for what it has"
    case .unwritable: "The app's own code threw"
    case .taken: "Give each machine a store of its own"
    }
  }

  private func advice(_ report: DriverReport) -> String {
    switch report {
    case .failure(.unreachable), .failure(.timedOut), .failure(.serverFault), .failure(.expired),
      .failure(.rateLimited):
      "It is tried again by itself"
    case .failure(.unauthorized): "call credentialsChanged()"
    case .failure(.unsupported): "call retryNow()"
    case .failure(.rejected): "Its documentation says what helps"
    case .failure(.malformed): "Compare what the server sends"
    case .failure(.modelRefused): "Look at why it throws"
    case .store(let error): advice(error)
    case .nameShared: "Give each store a name of its own"
    }
  }

  private func advice(_ error: Refused) -> String {
    switch error {
    case .refused: "let the user choose another"
    case .full: "Try again when some of them are confirmed"
    case .nothingHeld: "Try again when the first one has come"
    case .notConnected: "Try again when there is"
    case .unstorable: "Look at how it is encoded"
    }
  }

  private func advice(_ reason: Reason) -> String {
    switch reason {
    case .threw: "if that will not help, discard it"
    case .refused(.nameLost), .refused(.unreadable): "Retry or discard it"
    case .refused(.tooLarge): "Discard it, and make smaller ones"
    case .refused: "Retry, edit or discard it"
    }
  }

  private func advice(_ outcome: Undone) -> String {
    switch outcome {
    case .queued: "It waits for the server"
    case .discarded: "It has had no effect at the server"
    case .outdated: "the change before it is next"
    case .undecided: "decide about it first, or wait"
    case .nothing: "There is nothing to undo"
    }
  }

  @Test func `each case says what to do, or that nothing need be done`() {
    let told =
      Self.stored.map { ("\($0)", advice($0)) } + Self.reports.map { ("\($0)", advice($0)) }
      + Self.errors.map { ("\($0)", advice($0)) } + Self.reasons.map { ("\($0)", advice($0)) }
      + Self.undone.map { ("\($0)", advice($0)) }
    for (text, advice) in told { #expect(text.contains(advice), "\(text)") }
    // Each list above has every case.
    #expect(Set(Self.stored.map { advice($0) }).count == 4)
    #expect(Set(Self.reports.map { advice($0) }).count == 11)
    #expect(Set(Self.errors.map { advice($0) }).count == 5)
    #expect(Set(Self.reasons.map { advice($0) }).count == 4)
    #expect(Set(Self.undone.map { advice($0) }).count == 5)
    #expect(Set(Self.failures.map { "\(DriverReport.failure($0))" }).count == 10)
  }

  @Test func `what came of an undo names the change, or what stands in its way`() {
    #expect("\(Undone.queued(MutationTicket(4)))".contains("(#4)"))
    #expect("\(Undone.discarded(MutationTicket(4)))".contains("(#4)"))
    #expect("\(Undone.undecided(MutationTicket(4)))".contains("(#4)"))
    #expect("\(Undone.outdated(.missing))".contains("changed the same thing since (missing)"))
  }

  // MARK: The app's own codes

  /// What a view does with a change that is set aside.
  private func words(_ reason: Reason) -> String {
    switch reason {
    case .refused(.hourIsTaken): "Somebody else was faster. Choose another hour."
    case .refused(.isTooLong): "Make the title shorter."
    case .refused, .threw: "\(reason)"
    }
  }

  @Test func `an app names its server's codes, and matches them as its own cases`() throws {
    let (bench, _) = MutationBench.following()
    bench.server.refuses = ["reserve"]
    bench.server.code = RejectionCode("HOUR_TAKEN")
    _ = bench.ticket(.reserve(9, by: "me"))
    bench.advance(.milliseconds(10))
    bench.answerPush()
    let reason = try #require(bench.state.setAside.first).reason
    #expect(words(reason) == "Somebody else was faster. Choose another hour.")
    #expect(words(.refused(RejectionCode("TOO_LONG"))) == "Make the title shorter.")
    #expect(words(.refused(RejectionCode("LOCKED"))).contains("(LOCKED)"))
  }

  @Test func `a failure's description, which scenarios compare, is still one word`() {
    #expect(
      Self.failures.map { "\($0)" } == [
        "unreachable", "timedOut", "serverFault", "rateLimited(after 5 s)", "unauthorized",
        "unsupported", "expired", "rejected(TOO_OLD)", "malformed", "modelRefused",
      ])
  }
}

extension RejectionCode {
  fileprivate static let hourIsTaken = RejectionCode("HOUR_TAKEN")
  fileprivate static let isTooLong = RejectionCode("TOO_LONG")
}
