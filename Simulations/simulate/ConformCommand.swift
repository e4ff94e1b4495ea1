import RecordingCheck

extension Simulate {
  static let conformCommand = Command(
    name: "conform",
    summary: "replay recorded conversations with the machine",
    help: """
      Usage: simulate conform [FILE…]

      Replays recorded conversations with the machine, one JSON object a line. After each input,
      the machine's status, effects and freshness must be exactly as recorded. Without a file,
      simulate conform replays the conversations that ship with the project.

      It prints one line for each file, and before it the first difference in that file.

      Exit codes:
        0    all conversations agree
        1    a conversation differs
        2    a file cannot be read
        130  interrupted
      """,
    run: { words, console in
      let arguments = try Arguments(words, takesFiles: true)
      return try conform(
        arguments.files.isEmpty ? [shippedConversations] : arguments.files, console)
    })

  static var shippedConversations: String { Shipped.recording("machine.jsonl") }

  static func conform(_ files: [String], _ console: Console) throws(RecordingError) -> ExitCode {
    let progress = Progress(console)
    var name = ""
    var conformance = Conformance(isInterrupted: {
      progress.show("conform: \(name)")
      return Interrupt.wasAsked
    })
    defer { console.progress(nil) }
    for file in files {
      name = Shipped.name(of: file)
      let texts = try conformance.add(file: file, name: name)
      console.progress(nil)
      for text in texts { console.out(text) }
      if Interrupt.wasAsked { break }
    }
    if Interrupt.wasAsked {
      console.out("Interrupted. These are the results so far.")
      return .interrupted
    }
    return conformance.agrees ? .success : .failure
  }
}
