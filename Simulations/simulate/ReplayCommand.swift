import Foundation
import Simulator

extension Simulate {
  static let replayCommand = Command(
    name: "replay",
    summary: "repeat one run from the token that a failure was told with",
    help: """
      Usage: simulate replay TOKEN [--curve] [--save FILE]

      Repeats the run that a token stands for: what was simulated, and every choice that mattered.
      Prints its conversation, one line an event, and what an oracle found.

        --curve         how likely the failure was after each step: where it jumps, the cause is
        --save FILE     the life of the client that failed, as a scenario that can be checked in

      Exit codes: 0 nothing was found, 1 the oracle objects still, 2 that is no token, or
      FILE is there already.
      """,
    run: { words, console in
      let arguments = try Arguments(
        words, options: ["--save"], flags: ["--curve"], takesFiles: true)
      guard let text = arguments.files.first, arguments.files.count == 1 else {
        throw UsageError(message: "needs one token, as a failing run prints it")
      }
      let token: RunToken
      do throws(RunToken.Malformed) {
        token = try RunToken(text)
      } catch {
        throw UsageError(
          message: "\"\(text)\" is no token of this version. A failing run prints one")
      }
      let failure = try FailureOptions(arguments)
      let (result, trace) = LibraryWorld.traceReplay(token)
      for line in trace.lines { console.out(line) }
      if let finding = result.finding { console.out(RunReport.tell(finding)) }
      console.out("hash \(result.hash)")
      try failure.tell(token, console)
      return result.finding == nil ? .success : .failure
    })
}
