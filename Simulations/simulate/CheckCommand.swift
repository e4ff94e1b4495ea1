import Foundation
import RecordingCheck
import ZulipSync

extension Simulate {
  static let checkCommand = Command(
    name: "check",
    summary: "hold sessions recorded from a real server against the machine",
    help: """
      Usage: simulate check [--json] [--orders N] [FILE…]

      Reads sessions recorded from a real Zulip server, one exchange a line. Every answer must be
      classified as the protocol says. For each queue, a machine is given the recorded answers: each
      poll that it wants must be the one that the recording client sent next (queue, last event
      ID), and it must end where the last answer leads. Without a file: the recordings that ship
      with the project.

      Some recordings break the protocol on purpose. Where a recording client does what no honest
      client would do, the line is printed as a departure, with what an honest client would have
      sent; from there on the machine does not follow that queue.

      Where a recording has pages of messages, a message store is given them with the events of the
      queue. The pages of one list, up to the answer to one poll or to the end, are a race, and so
      are all pages. Each race is run in every order that the recorded times leave open, or if
      there are more than the bound, in so many; more than a few races of the same pages share the
      bound of those few. Then each list, and each field of each message in it, must be what the
      last pages show and later events make of it. Pages in another form (HTML, or as it was typed)
      than the events of a queue are compared with them in all but contents. What a list leaves
      open is asked for again, and so is a flag that the server's merging of events leaves in
      doubt: if no later page of the recording answers, it is counted as open, or in doubt; if one
      does and the doubt stays, that is a difference.

      Where a recording has a realm's state, a replica of the whole account, the state and
      messages, is given what each client registered, every event, and every page that its user
      asked for: what pages mend of messages, they mend of the state. If that client registered
      again to compare, and nothing happened meanwhile, every row of the state must be equal. Where
      the server itself keeps a client from being right, the difference is recognised by a rule,
      printed as explained, and counted. One that a later page lets the client mend is not
      explained: it held the message, and the page shows it otherwise. A client that loses or gives
      up its queue and registers again is followed on. Not compared are the fields that no two
      registers have in common, or that are no part of the state:
      \(leftOut)

        --json      print one JSON object as the last line
        --orders N  the bound, at most 10000 (default \(Check.defaultOrders))

      Exit codes: 0 all agree, 1 something differs, 2 a file cannot be read or a line makes no
      sense.
      """,
    run: { words, console in
      let arguments = try Arguments(
        words, options: ["--orders"], flags: ["--json"], takesFiles: true)
      let orders = try arguments.number("--orders", in: 1...10_000)
      return try check(
        arguments.files.isEmpty ? shippedSessions : arguments.files,
        asJSON: arguments.has("--json"), orders: orders ?? Check.defaultOrders, console)
    })

  /// As lines of the help.
  private static var leftOut: String {
    ZulipState.leftOut.sorted { $0.key < $1.key }
      .map { "  \($0.key): \($0.value)" }.joined(separator: "\n")
  }

  /// The recordings that ship with the project, cut down.
  static var shippedSessions: [String] {
    [
      "session.jsonl", "errors.jsonl", "queue-lifecycle.jsonl", "tornado-restart.jsonl",
      "pages-and-races.jsonl", "observers.jsonl",
    ].map(Shipped.recording)
  }

  static func check(
    _ files: [String], asJSON: Bool, _ interpretation: Interpretation = .own, orders: Int,
    _ console: Console
  ) throws(RecordingError) -> ExitCode {
    let start = ProcessInfo.processInfo.systemUptime
    func elapsed() -> Double { ProcessInfo.processInfo.systemUptime - start }
    var check = Check(interpretation, orders: orders, isInterrupted: { Interrupt.wasAsked })
    defer { console.progress(nil) }
    for (index, file) in files.enumerated() {
      let recording = try Recording(file: file) { read, count in
        guard elapsed() > 1 else { return }
        console.progress(
          "check: file \(index + 1) of \(files.count), line \(read) of \(count)")
      }
      check.add(recording)
      console.progress(nil)
      if Interrupt.wasAsked { break }
      for text in check.files[index].texts { console.out(text) }
    }
    let seconds = (elapsed() * 1000).rounded() / 1000
    console.out(check.summary(of: files.count, seconds: seconds))
    if asJSON { console.out(check.json(of: files.count, seconds: seconds)) }
    if Interrupt.wasAsked {
      console.out("Interrupted: this is what was done so far.")
      return .interrupted
    }
    return check.agrees ? .success : .failure
  }
}
