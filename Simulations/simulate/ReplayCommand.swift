import Foundation
import Simulator

extension Simulate {
  static let replayCommand = Command(
    name: "replay",
    summary: "repeat one run from the token that a failure was told with",
    help: """
      Usage: simulate replay TOKEN

      Repeats the run that a token stands for: what was simulated, and every choice that mattered.
      Prints its conversation, one line an event, and what an oracle found.

      Exit codes: 0 nothing was found, 1 the oracle objects still, 2 that is no token.
      """,
    run: { words, console in
      let arguments = try Arguments(words, takesFiles: true)
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
      let (result, trace) = Simulation<Chat>.traceReplay(token)
      for line in trace.lines { console.out(line) }
      if let finding = result.finding { console.out(RunReport.tell(finding)) }
      console.out("hash \(result.hash)")
      return result.finding == nil ? .success : .failure
    })
}
