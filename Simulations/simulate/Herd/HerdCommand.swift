import Foundation
import Simulator

extension Simulate {
  static let herdCommand = Command(
    name: "herd",
    summary: "a million clients against one server: restarts, outages, deploys",
    help: """
      Usage: simulate herd [OPTIONS]

      Plays what happens when all clients return to a server at once. Each client is the machine that
      apps run. The server is a model: it has so much time in a second, a backlog, and a way to refuse
      what it has no time for. Virtual time; the same options give the same figures.

      Stories (--story NAME, or all, the default):
        restart        the server starts anew, in 2 s, and all logs are gone
        outage         the server cannot be reached for an hour, and all logs are gone
        deploys        three times, every five minutes, the server starts anew
        bad-release    for five minutes the server runs a release whose snapshots fail
        popular-clock  after a night, all apps are opened within a second

      Clients and server:
        --clients N        how many, 100 to 10000000 (100000)
        --capacity C       registers that the server can answer in a second (a hundredth of clients)
        --snapshot-cost N  polls that it can answer in the time of one register (20)
        --backlog S        seconds that a request may wait for the server; others are shed (5)
        --shedding NAME    how it sheds: refuse (503, at once), fixed (429, the same retry-after for
                           all), slots (429, each its own retry-after; default), hang (no answer)
        --retry-after S    the retry-after of fixed, in seconds (30)
        --lifetime S       seconds that it keeps the log of a client which does not wait (600)

      What to compare:
        --settings LIST    the machine's settings, such as spread=120,slowCap=2min, or a file with one
                           in each line; compared with the defaults
        --against LIST     compares --settings with these
        --policy NAME      replaces the machine's waits: none, exponential, equal, full, decorrelated,
                           ours, or all of them
        --knobs            what a quarter and four times of each setting change, with up to 10000
                           clients

      What to print:
        --json             one JSON object on the last line
        --svg FILE         draw requests and live clients, second by second
        --seed N           the seed of all chance (1)
        --whole            leave out nothing of an outage: slow

      The columns:
        load        the most work that came in a second, in multiples of C, the server's capacity
        requests    the most requests that came in a second
        each        requests of a client until it was live: the mean, and the most of one client
        50, 99, 100 %  seconds after the cause was over until so many were live; the worst time
        shed        requests that the server had no time for
        missed      the goals that are missed. peak: a load of at most 1.2 C, from one second after the
                    trouble began, without the first second after it was over. requests: at most 3 each,
                    on average. time: all live within 1.5 clients ÷ C. recovery: all live in the end

      Exit codes:
        0    played, whatever goals are missed
        2    bad usage, or a file cannot be read or written
        130  interrupted
      """,
    run: { words, console in
      let arguments = try Arguments(words, options: HerdOptions.names, flags: HerdOptions.flags)
      return try herd(try HerdOptions(arguments), console)
    })

  /// How long the processor has worked for this process.
  private static var processorSeconds: Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  private static func herd(_ options: HerdOptions, _ console: Console) throws -> ExitCode {
    let progress = Progress(console)
    defer { console.progress(nil) }
    guard !options.knobs else { return HerdKnobs(options).print(progress, console) }
    console.out(HerdTable.head(options))
    var rows: [HerdRow] = []
    for story in options.stories {
      for variant in options.variants {
        let (start, worked) = (progress.seconds, Simulate.processorSeconds)
        let run = HerdRun(HerdStory(story), options.settings(variant), whole: options.whole) {
          second in
          progress.show("herd: \(story.rawValue), \(variant.label), second \(second)")
          return !Interrupt.wasAsked
        }
        guard let run else {
          console.progress(nil)
          if !rows.isEmpty { console.out(HerdTable(rows).text) }
          console.out("Interrupted.")
          return .interrupted
        }
        rows.append(
          HerdRow(
            run: run, label: variant.label, seconds: progress.seconds - start,
            processorSeconds: Simulate.processorSeconds - worked))
      }
    }
    console.progress(nil)
    let table = HerdTable(rows)
    console.out(table.text)
    for line in HerdAdvice.lines(rows) { console.out(line) }
    console.out(table.speed)
    if let file = options.svg {
      try PictureOptions.write(HerdPicture(rows).svg, to: file)
      console.out("Wrote \(file).")
    }
    if options.json { console.out(try table.json) }
    return .success
  }
}
