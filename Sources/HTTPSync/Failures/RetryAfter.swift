import Foundation
package import UpdateMachine

/// Reads the header `Retry-After`.
package enum RetryAfter {
  /// The wait that the header asks for: seconds, whole or not, or a date. A date in the past means
  /// no wait. `nil`: it is neither, or a date and the present is not known.
  ///
  /// - Parameters:
  ///   - text: the header.
  ///   - date: the `Date` header, which is the present by the clock of the server.
  ///   - wallTime: the present, if there is no `Date`.
  package static func wait(
    _ text: String?, answeredAt date: String?, or wallTime: WallTime? = nil
  ) -> TimeSpan? {
    guard let text = text?.trimmingCharacters(in: .whitespaces), let first = text.utf8.first
    else { return nil }
    if first >= UInt8(ascii: "A") {
      guard let then = seconds(ofDate: text),
        let now = date.flatMap({ seconds(ofDate: $0) }) ?? wallTime.map({ $0.milliseconds / 1000 })
      else { return nil }
      return max(.zero, .seconds(then - now))
    }
    return Double(text).flatMap { TimeSpan(wholeOrNotSeconds: $0) }
  }

  /// Parses "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, 5.6.7) to seconds since the epoch. The two
  /// older formats are no longer in use.
  package static func seconds(ofDate text: String) -> Int64? {
    let words = text.split(separator: " ")
    guard words.count == 6, words[5] == "GMT", let day = number(words[1], in: 1...31),
      let month = months.firstIndex(of: String(words[2])),
      let year = number(words[3], in: 1970...9999)
    else { return nil }
    let time = words[4].split(separator: ":")
    guard time.count == 3, let hour = number(time[0], in: 0...23),
      let minute = number(time[1], in: 0...59), let second = number(time[2], in: 0...60)
    else { return nil }
    // Counts days in a calendar whose years begin in March: a leap day is then the year's last day.
    let shifted = month < 2 ? year - 1 : year
    let months = Int64((month + 10) % 12)
    let days =
      shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + (months * 153 + 2) / 5 + day
    return (days - 719_469) * 86_400 + hour * 3600 + minute * 60 + second
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  private static func number(_ text: Substring, in range: ClosedRange<Int64>) -> Int64? {
    guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
      return nil
    }
    return Int64(text).flatMap { range.contains($0) ? $0 : nil }
  }
}

extension TimeSpan {
  /// Converts seconds with a fraction, rounded up to the millisecond: a server that says 54.3147 s
  /// refuses requests after 54.314 s. Returns `nil` for a negative or non-finite number.
  package init?(wholeOrNotSeconds seconds: Double) {
    guard seconds.isFinite, seconds >= 0 else { return nil }
    let milliseconds = (seconds * 1000).rounded(.up)
    self = milliseconds < 9e18 ? .milliseconds(Int64(milliseconds)) : .forever
  }
}
