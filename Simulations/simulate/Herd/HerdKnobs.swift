import Simulator
import UpdateMachine

/// What each setting of the machine changes: each story is played with a quarter of it, and with
/// four times as much.
struct HerdKnobs {
  private let options: HerdOptions

  /// With at most 10,000 clients, and a server that is smaller in proportion.
  init(_ options: HerdOptions) {
    var options = options
    let clients = min(options.herd.clients, 10_000)
    let capacity = options.herd.server.capacity * Int64(clients) / Int64(options.herd.clients)
    options.herd.clients = clients
    options.herd.server.capacity = max(capacity, 1)
    self.options = options
  }

  func print(_ progress: Progress, _ console: Console) -> ExitCode {
    console.out(HerdTable.head(options))
    guard let base = options.variants.last else { return .usage }
    var usual: [HerdRow] = []
    for story in options.stories {
      guard let row = play(story, base.machine, base.label, progress) else { return stop(console) }
      usual.append(row)
    }
    console.progress(nil)
    console.out(HerdTable(usual).text)
    var idle: [String] = []
    var unset: [String] = []
    var changed: [HerdRow] = []
    for name in MachineSettings.spans {
      guard let span = base.machine.span(name) else {
        unset.append(name)
        continue
      }
      var matters = false
      for factor in ["÷ 4", "× 4"] {
        let milliseconds = factor == "÷ 4" ? span.milliseconds / 4 : span.milliseconds * 4
        let new = TimeSpan.milliseconds(
          min(max(milliseconds, HerdNumbers.allowed.lowerBound), HerdNumbers.allowed.upperBound))
        var machine = base.machine
        guard new != span, machine.set(name, to: new) else { continue }
        for row in usual {
          let label = "\(name) \(new)"
          guard let other = play(row.run.story.name, machine, label, progress) else {
            return stop(console)
          }
          guard HerdKnobs.differ(row.run, other.run) else { continue }
          matters = true
          changed.append(other)
        }
      }
      if !matters { idle.append("\(name) (\(span))") }
    }
    console.progress(nil)
    console.out("")
    console.out("What changes a figure by more than a tenth:")
    changed.sort { order($0) < order($1) }
    console.out(HerdTable(changed).text)
    console.out("What changes nothing here: \(idle.joined(separator: ", ")).")
    if !unset.isEmpty {
      console.out("Not tried, because it is not set: \(unset.joined(separator: ", ")).")
    }
    return .success
  }

  private func order(_ row: HerdRow) -> Int {
    HerdStory.Name.allCases.firstIndex(of: row.run.story.name) ?? 0
  }

  private func play(
    _ story: HerdStory.Name, _ machine: MachineSettings, _ label: String, _ progress: Progress
  ) -> HerdRow? {
    var settings = options.herd
    settings.machine = machine
    let run = HerdRun(HerdStory(story), settings, whole: options.whole) { second in
      progress.show("herd: \(label), \(story.rawValue), second \(second)")
      return !Interrupt.wasAsked
    }
    return run.map { HerdRow(run: $0, label: label, seconds: 0, processorSeconds: 0) }
  }

  private func stop(_ console: Console) -> ExitCode {
    console.progress(nil)
    console.out("Interrupted.")
    return .interrupted
  }

  /// Whether a figure of two runs differs by more than a tenth.
  private static func differ(_ one: HerdRun, _ other: HerdRun) -> Bool {
    let figures: [(HerdRun) -> Int64] = [
      \.peakLoad, \.peakRequests, \.tries, { $0.worst(\.live50) ?? .max },
      { $0.worst(\.live100) ?? .max },
    ]
    return figures.contains { figure in
      let (one, other) = (Double(figure(one)), Double(figure(other)))
      return abs(one - other) > max(one, other) / 10
    }
  }
}
