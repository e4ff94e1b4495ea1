import Foundation
import Testing

@testable import UpdateMachine

/// Tests what is told to the user about freshness, in the user's language.
@Suite struct FreshnessSentenceTests {
  /// Three minutes after the state was up to date.
  private func sentence(
    _ claim: Freshness.Claim, asOf: Int64? = 0, at now: Int64 = 180_000, _ language: String
  ) -> String? {
    Freshness(claim, upToDateAsOf: asOf.map { Moment(milliseconds: $0) })
      .sentence(at: Moment(milliseconds: now), locale: Locale(identifier: language))
  }

  private let since = Moment(milliseconds: 1)

  @Test(arguments: [
    ("en_GB", "No connection. Last up to date 3 minutes ago."),
    ("de_CH", "Keine Verbindung. Zuletzt abgeglichen vor 3 Minuten."),
    ("fr", "Pas de connexion. Dernière synchronisation il y a 3 minutes."),
    ("es_MX", "Sin conexión. Última sincronización hace 3 minutos."),
    ("ja_JP", "接続できません。最終同期：3 分前。"),
  ])
  func `a sentence is in the user's language`(locale: String, expected: String) {
    // Systems differ in the spaces beside a number.
    func letters(_ text: String?) -> String? { text?.filter { !$0.isWhitespace } }
    #expect(letters(sentence(.unreachable(since: since), locale)) == letters(expected))
  }

  @Test func `a language that we do not have gets one whole sentence in English`() {
    #expect(
      sentence(.unreachable(since: since), "fi_FI")
        == "No connection. Last up to date 3 minutes ago.")
  }

  @Test func `each claim has its sentence, or none`() {
    #expect(
      sentence(.connecting(since: since), "en") == "Connecting… Last up to date 3 minutes ago.")
    #expect(sentence(.connecting(since: since), asOf: nil, "en") == "Connecting…")
    #expect(sentence(.halted(.credentials), "en") == "Please log in again.")
    #expect(sentence(.halted(.unsupported), "en") == "Please update this app.")
    for claim: Freshness.Claim in [.unknown, .connected, .resting, .halted(.stopped)] {
      #expect(sentence(claim, "en") == nil)
    }
  }

  @Test(arguments: [
    (-1, "1 second ago"), (0, "1 second ago"), (20_400, "20 seconds ago"),
    (61_000, "1 minute ago"), (7_300_000, "2 hours ago"), (129_000_000, "1 day ago"),
    (130_000_000, "2 days ago"), (200_000_000, "2 days ago"), (260_000_000, "3 days ago"),
  ])
  func `the age has the unit that suits it, and is never in the future`(
    age: Int64, expected: String
  ) {
    #expect(
      sentence(.unreachable(since: since), at: age, "en")
        == "No connection. Last up to date \(expected).")
  }

  @Test func `by default the moments are the system clock's`() throws {
    let clock = SystemClock()
    let freshness = Freshness(
      .unreachable(since: clock.now), upToDateAsOf: clock.now + .seconds(-185))
    let text = try #require(freshness.sentence(locale: Locale(identifier: "en")))
    #expect(text.hasSuffix("3 minutes ago."))
  }

  @Test func `a moment has a date by the wall clock`() {
    let clock = HandClock()
    #expect(clock.date(of: Moment(milliseconds: 0)) == Date(timeIntervalSince1970: 1_000))
    _ = clock.advance(towards: Moment(milliseconds: 500))
    #expect(clock.date(of: Moment(milliseconds: 0)) == Date(timeIntervalSince1970: 1_000))
    #expect(clock.date(of: Moment(milliseconds: -2_000)) == Date(timeIntervalSince1970: 998))
    // The user sets the clock, and the date follows.
    clock.wallTime = WallTime(milliseconds: 2_000_500)
    #expect(clock.date(of: Moment(milliseconds: 0)) == Date(timeIntervalSince1970: 2_000))
  }
}
