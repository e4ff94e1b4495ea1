// Scenario: the room of conversations as text. A text has what happens, a line each, and below each
// line what came of it. The room owns the language of machines, the player of all texts and the
// golden output. It reads no files.
//
// Scenario may use: Agenda, Choices, Pictures, Playground, Words.

/// A conversation with one machine or with many, as text that people read and tests compare.
///
///     # A quick poll that fails keeps the finger and waits briefly.
///     restored q1:7
///       idle finger q1:7 not started
///     started
///       0: live.polling · connecting since 0, as of none
///       poll 1 from q1:7, quick
///       arm 1 in 10 s
///     after 50ms failed serverFault
///       50: pollFailed · unreachable since 0, as of none
///       disarm 1
///       arm 2 in (0, 0.1 s]
///
/// A line that begins with `#` is a comment, one that begins with two spaces is output, and every
/// other line is a directive. Spans of time are whole numbers with a unit: `50ms`, `10s`, `10min`,
/// `1h`, `7d`. Moments in the output are milliseconds of the machine's clock.
///
/// Directives of a conversation (the first three come before the first input):
///
/// - `machine spread=30s durable=no`: settings by their names in TheMachine §1.
/// - `terms longDeadline=100s lifetime=600s every=30s`: the terms of the next snapshot, with
///   `pushed` in place of `every=…` for a subscription. May be repeated later.
/// - `restored q1:7 age 90s`: the machine begins with a saved form. Without an age, it is unknown.
/// - `started`, `started in background`, and every other input of TheMachine §2, by its name.
/// - `snapshotArrived q1:-1`, `polled to 7`, `polled nothing`, `failed serverFault`: answers to the
///   open request. Also `failed rateLimited 54s`, `failed rejected CODE`, and `failed html 401` for
///   a web page in place of an answer.
/// - `snapshotArrived q1:-1 incomplete`, `polled to 7 incomplete`, `polled nothing incomplete`: the
///   same, and the server has more.
/// - `fired`, `written`, `writeFailed`: for the armed timer and the open write.
/// - `polled 1 to 7`, `fired 3`, `failed 1 of incarnation 1 timedOut`: the same for any other timer
///   or request.
/// - `look`: asks for freshness, and when it will next change by itself.
/// - `restart`: a crash; a new process begins with what is durable. `backup` copies that, and
///   `restart from backup` begins with the copy.
/// - `after 50ms …`, `at 10s …`: does the rest that much later, or at that moment.
///
/// A *run* plays machines against rules for their environment, in virtual time:
///
/// - `server register after 50ms: snapshot`: the answer to registers, and its delay: `snapshot`,
///   `failed …` or `holds` (never).
/// - `server waiting after 50ms: event, failed expired`: the answers to waiting polls, to `quick`
///   ones, or to all (`poll`): `event`, `nothing`, `failed …` or `holds`, in turn; the list then
///   repeats. `incomplete` may follow `snapshot`, `event` and `nothing`.
/// - `server quick after 50ms: failed unreachable then nothing`: with `then`, only the last answer
///   repeats.
/// - `server gives 100 snapshots a second`: more are refused with `serverFault`.
/// - `writes after 3ms`, `writes fail after 3ms`: the duration and the result of writes.
/// - `every 200ms: networkChanged`: any input without an ID, or `toggled`: to the background and
///   back, in turn.
/// - `clients 3000`, `processes 2`: that many machines. `clients` have a log each. `processes`
///   share one saved finger, and there a new waiting poll ends the previous one with an empty
///   answer.
/// - `seed 7`: the seed of the run's draws; 1 by default.
/// - `run 10min`: runs, and prints a summary.
///
/// A run draws only when a timer fires: uniformly from the timer's range (``Choices``). So the same
/// text gives the same output everywhere. The format follows that of etcd's raft
/// (`interaction_test.go`).
///
/// A scenario whose first directive is a line such as `world event-queue clients=2` is about whole
/// clients with their server. Its directives are the steps of a playground, such as
/// `client 1 creates Milk`, and `see` before what is to be seen, such as
/// `see client 1 shows Milk`. What is not to be seen is an error. The article *Writing scenarios*
/// has them all.
package enum Scenario {
  /// Returns the same text with fresh output. A scenario passes if this text equals the old one.
  ///
  /// Comments, blank lines and directives stay as they are. Every directive's output stands below
  /// it, indented by two spaces. Every line ends with a line feed, including the last.
  /// - Throws: ``ScenarioError`` for the first invalid line.
  package static func rewritten(_ text: String) throws(ScenarioError) -> String {
    var player: Player?
    var result = ""
    var number = 0
    for line in lines(of: text) {
      number += 1
      if line.utf8.isEmpty || line.utf8.first == UInt8(ascii: "#") {
        result += line + "\n"
        continue
      }
      if line.utf8.starts(with: "  ".utf8) {  // Output, old or not.
        try requireOutput(line, number, player)
        continue
      }
      var words = Words(line, number: number)
      result += line + "\n"
      for output in try Player.perform(&words, in: &player) { result += "  " + output + "\n" }
    }
    return result
  }

  /// What is indented is replaced, so a step that is indented by mistake would be lost. Whole
  /// clients have a time before each line of output.
  private static func requireOutput(
    _ line: String, _ number: Int, _ player: Player?
  ) throws(ScenarioError) {
    guard case .session = player else { return }
    let text = line.utf8.drop { $0 == UInt8(ascii: " ") }
    let digits = text.prefix { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
    guard digits.isEmpty || text.dropFirst(digits.count).first != UInt8(ascii: ":") else { return }
    throw ScenarioError(
      line: number, expected: "output, which begins with a time; a step is not indented",
      found: "\"\(line)\"")
  }

  /// The lines without their line feeds. What follows the last line feed is a line only if it is
  /// not empty.
  static func lines(of text: String) -> [String] {
    var lines: [String] = []
    var line: [UInt8] = []
    for byte in text.utf8 {
      if byte == UInt8(ascii: "\n") {
        lines.append(String(decoding: line, as: UTF8.self))
        line = []
      } else {
        line.append(byte)
      }
    }
    if !line.isEmpty { lines.append(String(decoding: line, as: UTF8.self)) }
    return lines
  }
}
