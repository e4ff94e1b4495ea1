import RecordingCheck

extension Simulate {
  static let conformCommand = Command(
    name: "conform",
    summary: "replay conversations with the machine, to the letter",
    help: """
      Usage: simulate conform [FILE…]

      Replays conversations of the machine, a JSON object a line: after each input the status, the
      effects and the freshness must be exactly those in the file. Without a file: the copy that
      ships with the project.

      Prints how many conversations and steps agree, and the first difference.
      Exit codes: 0 all agree, 1 one differs, 2 a file cannot be read.
      """,
    run: { words, console in
      let arguments = try Arguments(words, takesFiles: true)
      let files =
        arguments.files.isEmpty ? [Shipped.recording("machine.jsonl")] : arguments.files
      return try conform(files, console)
    })

  static func conform(_ files: [String], _ console: Console) throws(RecordingError) -> ExitCode {
    var conformance = Conformance(isInterrupted: { Interrupt.wasAsked })
    for file in files { try conformance.add(file: file) }
    for text in conformance.texts { console.out(text) }
    if Interrupt.wasAsked {
      console.out("Interrupted: this is what was done so far.")
      return .interrupted
    }
    return conformance.agrees ? .success : .failure
  }
}
