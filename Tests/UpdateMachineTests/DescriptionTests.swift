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

  /// All texts.
  private static let texts: [String] =
    failures.map { "\(DriverReport.failure($0))" }
    + failures.flatMap { ["\(PushFailure($0))", "\(PushFailure($0, hasLeft: false))"] }
    + [StoreError.failed("Disk full."), .unreadable("Row 3."), .unwritable("A date.")].flatMap {
      ["\($0)", "\(DriverReport.store($0))"]
    }
    + [Refused.refused(.full), .full, .nothingHeld, .notConnected].map { "\($0)" }
    + ["\(Refused.unstorable(.damaged(expected: "a date")))"]
    + [Reason.threw(.missing), .refused(RejectionCode("NO")), .refused(.none)].map { "\($0)" }
    + [RejectionCode("NO"), .none, .nameLost].map { "\($0)" }

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

  @Test func `a failure's description, which scenarios compare, is still one word`() {
    #expect(
      Self.failures.map { "\($0)" } == [
        "unreachable", "timedOut", "serverFault", "rateLimited(after 5 s)", "unauthorized",
        "unsupported", "expired", "rejected(TOO_OLD)", "malformed", "modelRefused",
      ])
  }
}
