import Foundation
import Simulator

extension Simulate {
  static let replayCommand = Command(
    name: "replay",
    summary: "repeat a failed run from its token",
    help: """
      Usage: simulate replay TOKEN [--curve] [--save FILE] [--picture FILE]

      Repeats a run. A failed run prints the token, which holds the configuration and all random
      choices that the failure needs. Like simulate trace, it prints one line for each event; then
      what failed, if it fails still.

        --curve      print how likely the failure was after each step; it rises at the cause
        --save FILE  save what the failing client did since its last start, as a scenario
        --picture FILE
                     save the run as a diagram: .svg, .html, .mmd, .json or .txt

      Exit codes:
        0    the run does not fail any more
        1    the run fails
        2    the token is not one of this version, or FILE exists already
      """,
    run: { words, console in
      let arguments = try Arguments(
        words, options: FailureOptions.names, flags: ["--curve"], takesFiles: true)
      guard let text = arguments.files.first, arguments.files.count == 1 else {
        throw UsageError(message: "give it one token, as a failed run prints it")
      }
      let token: RunToken
      do throws(RunToken.Malformed) {
        token = try RunToken(text)
      } catch {
        throw UsageError(
          message: "\"\(text)\" is not a token of this version. A failed run prints one")
      }
      let failure = try FailureOptions(arguments)
      let (result, trace) = console.showing("replay: simulating") {
        EveryWorld.traceReplay(token)
      }
      for line in trace.lines { console.out(line) }
      if let finding = result.finding { console.out(RunReport.tell(finding)) }
      console.out("hash \(result.hash)")
      try failure.tell(token, console)
      return result.finding == nil ? .success : .failure
    })
}
