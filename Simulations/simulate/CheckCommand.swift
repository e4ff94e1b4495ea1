import RecordingCheck
import ZulipSync

extension Simulate {
  static let checkCommand = Command(
    name: "check",
    summary: "compare recorded sessions with a real server to what the library does",
    help: """
      Usage: simulate check [--verbose] [--json] [--orders N] [FILE…]

      Compares recorded sessions with a real Zulip server to what this library does. Without a
      file, simulate check reads the recordings that ship with the project.

      It prints one line for each file:
        answers      Each recorded answer must be classified as the protocol says.
        polls        The requests for events in the file.
        agreed       The polls that the library would have sent, too: to the same queue and
                     with the same last event ID.
        departures   Requests that no correct client sends. Most of these recordings break the
                     protocol on purpose, to see what the server answers. After a departure the
                     library no longer follows that queue.
        differences  Errors in the library, or in the recording. Each is printed in full.

      If a recording has pages of messages, a message store receives the pages and the queue's
      events. Pages and events may have arrived in several orders: the recorded times say in which.
      The check tries all these orders, or as many as --orders allows. After each, every list
      and every message must be what the last pages and the later events say. A flag stays in
      doubt if the server has merged its events and no later page settles it; --verbose lists
      these flags. It also lists what an old cache of the server showed of messages that the
      store did not hold: copies older than an event that came before the page was asked for.

      If a recording has the state of an account, a replica receives the state, every event and
      every page. When the recorded client registers again and nothing has happened meanwhile,
      each row of the replica must equal the new state. Some differences are the server's own:
      rules recognise them, and --verbose lists them as explained. Secrets are dropped. These
      fields are not compared either:
      \(leftOut)

        --verbose   also print each departure, each explained difference, and each queue's figures
        --json      print one JSON object as the last line
        --orders N  try N orders of each set of pages at most, 1 to 10000 (\(Check.defaultOrders))

      Exit codes:
        0    there is no difference
        1    there is a difference
        2    a file cannot be read, or a line makes no sense
        130  interrupted
      """,
    run: { words, console in
      let arguments = try Arguments(
        words, options: ["--orders"], flags: ["--json", "--verbose"], takesFiles: true)
      let orders = try arguments.number("--orders", in: 1...10_000)
      return try check(
        arguments.files.isEmpty ? shippedSessions : arguments.files,
        asJSON: arguments.has("--json"), orders: orders ?? Check.defaultOrders,
        arguments.has("--verbose") ? .verbose : .usual, console)
    })

  /// The fields that a state leaves out, as lines of the help.
  private static var leftOut: String {
    ZulipState.leftOut.sorted { $0.key < $1.key }
      .map { "  \($0.key): \($0.value)" }.joined(separator: "\n")
  }

  /// The shortened recordings that ship with the project.
  static var shippedSessions: [String] {
    [
      "session.jsonl", "errors.jsonl", "queue-lifecycle.jsonl", "tornado-restart.jsonl",
      "pages-and-races.jsonl", "observers.jsonl",
    ].map(Shipped.recording)
  }

  static func check(
    _ files: [String], asJSON: Bool, _ interpretation: Interpretation = .own, orders: Int,
    _ detail: Detail = .usual, _ console: Console
  ) throws(RecordingError) -> ExitCode {
    let progress = Progress(console)
    var place = ""
    var check = Check(
      interpretation, orders: orders,
      isInterrupted: {
        progress.show("check: \(place)")
        return Interrupt.wasAsked
      })
    defer { console.progress(nil) }
    let names = files.map(Shipped.name)
    let table = CheckTable(names: names)
    if detail != .verbose { console.out(table.head) }
    for (index, file) in files.enumerated() {
      place = "file \(index + 1) of \(files.count), \(names[index])"
      let recording = try Recording(file: file) { read, count in
        progress.show("check: \(place), line \(read) of \(count)")
      }
      check.add(recording)
      console.progress(nil)
      if Interrupt.wasAsked { break }
      let report = check.files[index]
      if detail == .verbose {
        for text in report.texts { console.out(text) }
      } else {
        console.out(table.row(names[index], report))
        for text in report.differences { console.out(text) }
      }
    }
    let seconds = progress.seconds
    if detail == .verbose {
      console.out(check.summary(of: files.count, seconds: seconds))
    } else {
      if files.count > 1 { console.out(table.row("all files", check.total)) }
      if detail == .usual { console.out(check.totals(seconds: seconds)) }
    }
    if Interrupt.wasAsked { console.out("Interrupted. These are the results so far.") }
    if asJSON { console.out(check.json(of: files.count, seconds: seconds)) }
    if Interrupt.wasAsked { return .interrupted }
    return check.agrees ? .success : .failure
  }
}
