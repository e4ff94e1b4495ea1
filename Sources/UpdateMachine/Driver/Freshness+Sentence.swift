#if !hasFeature(Embedded)

  public import Foundation

  extension DriverClock {
    /// The date of a moment of this clock, by the wall clock as it is now set. To show a moment to
    /// the user: "not connected since 10:42".
    public func date(of moment: Moment) -> Date {
      let age = now - moment
      let milliseconds = Double(wallTime.milliseconds) - Double(age.milliseconds)
      return Date(timeIntervalSince1970: milliseconds / 1000)
    }
  }

  extension Freshness {
    /// What to tell the user, such as "No connection. Last up to date 3 minutes ago."; `nil`:
    /// nothing, because the state is up to date, or the app is in the background or has stopped, or
    /// the saved form is being read.
    ///
    /// It is in German, English, French, Japanese or Spanish, and in English for users of any other
    /// language. It changes as time passes, so show it anew every minute. An app with words of its
    /// own makes them from ``claim``, ``upToDateAsOf`` and ``nextAttempt``, whose dates
    /// ``DriverClock/date(of:)`` tells.
    ///
    /// - Parameters:
    ///   - now: the present moment, by the clock of the machine.
    ///   - locale: the user's language and region.
    public func sentence(
      at now: Moment = SystemClock().now, locale: Locale = .current
    ) -> String? {
      let words = FreshnessWords.all.first { locale.language.languageCode == $0.language }
      guard let words else { return sentence(at: now, locale: Locale(identifier: "en")) }
      switch claim {
      case .unknown, .connected, .resting, .halted(.stopped): return nil
      case .connecting: return words.connecting + age(at: now, words, locale)
      case .unreachable: return words.unreachable + age(at: now, words, locale)
      case .halted(.credentials): return words.credentials
      case .halted(.unsupported): return words.unsupported
      }
    }

    /// " Last up to date 3 minutes ago."; empty if that is unknown.
    private func age(at now: Moment, _ words: FreshnessWords, _ locale: Locale) -> String {
      guard let upToDateAsOf else { return "" }
      // "1 second ago" at least: the moment may be the present one, which would be "in 0 seconds".
      let seconds = max(Double((now - upToDateAsOf).milliseconds) / 1000, 1)
      // The style counts midnights, not spans of 24 hours, so both dates are on days of our choice:
      // from a noon, half a day counts as in other units. By the user's clock, 55 hours would be
      // "3 days ago" in the morning and "2 days ago" in the evening.
      var calendar = Calendar(identifier: .gregorian)
      calendar.timeZone = .gmt
      let noon = Date(timeIntervalSince1970: 12 * 3600)
      let style = Date.AnchoredRelativeFormatStyle(
        anchor: noon, presentation: .numeric, unitsStyle: .wide, locale: locale,
        calendar: calendar)
      return words.asOf.replacing("%", with: style.format(noon.addingTimeInterval(seconds)))
    }
  }

  /// The words of the sentences in one language.
  private struct FreshnessWords {
    var language: Locale.LanguageCode
    var connecting: String
    var unreachable: String
    var credentials: String
    var unsupported: String
    /// Added to one of the first two, with the age in the place of "%".
    var asOf: String

    static let all = [
      FreshnessWords(
        language: .english, connecting: "Connecting…", unreachable: "No connection.",
        credentials: "Please log in again.", unsupported: "Please update this app.",
        asOf: " Last up to date %."),
      FreshnessWords(
        language: .german, connecting: "Verbindung wird hergestellt …",
        unreachable: "Keine Verbindung.", credentials: "Bitte erneut anmelden.",
        unsupported: "Bitte diese App aktualisieren.", asOf: " Zuletzt abgeglichen %."),
      FreshnessWords(
        language: .french, connecting: "Connexion…", unreachable: "Pas de connexion.",
        credentials: "Veuillez vous reconnecter.",
        unsupported: "Veuillez mettre à jour cette app.", asOf: " Dernière synchronisation %."),
      FreshnessWords(
        language: .japanese, connecting: "接続中…", unreachable: "接続できません。",
        credentials: "もう一度ログインしてください。",
        unsupported: "アプリをアップデートしてください。", asOf: "最終同期：%。"),
      FreshnessWords(
        language: .spanish, connecting: "Conectando…", unreachable: "Sin conexión.",
        credentials: "Vuelve a iniciar sesión.", unsupported: "Actualiza esta app.",
        asOf: " Última sincronización %."),
    ]
  }

#endif
