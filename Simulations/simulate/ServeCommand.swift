import Foundation
import LoopbackServer
import Synchronization
import ZulipServer

extension Simulate {
  static let serveCommand = Command(
    name: "serve",
    summary: "a server on this computer that speaks a part of Zulip's API, and fails as told",
    help: """
      Usage: simulate serve [OPTIONS]

      Serves an organisation that is made up: users, channels, messages. Clients of Zulip register
      with it, poll, send, and lose their queues: swift run follow, the Python package zulip, curl.
      It prints how to begin, and then a line for each request, as simulate trace does. Its page
      shows the conversation and the queues, and has a switch for each fault.

      It listens on 127.0.0.1 alone, and forgets everything when it ends. Its users and their keys
      are the same each time.

      Options:
        --port N                 the port; 0 for any that is free (9991)
        --users N                1 to \(RealmUser.limit) users (4)
        --seconds N              end after so long; by default at Ctrl-C
        --quiet                  print no line for each request

      What goes wrong, to requests of the API:
        --lifetime SECONDS       how long a queue lives while no poll waits, whatever clients ask
                                 for (600, or what they ask for). The collector comes ten times in
                                 that time, and at least every minute
        --expire-every SECONDS   all queues expire, again and again
        --latency MS             each answer is late
        --lose-answers PERCENT   the request is done, and the connection ends without an answer
        --lose-requests PERCENT  the connection ends before the request is looked at
        --errors PERCENT         an error instead: half 500 of the server, half 502 of a proxy
        --rate-limit N/SECONDS   so many requests of a user in so long; polls are counted apart
        --seed S                 which requests these percentages hit (1)

      Exit codes:
        0    --seconds are over
        1    the port cannot be used
        2    bad usage
        130  interrupted
      """,
    run: { words, console in
      let arguments = try Arguments(
        words,
        options: [
          "--port", "--users", "--seconds", "--lifetime", "--expire-every", "--latency",
          "--lose-answers", "--lose-requests", "--errors", "--rate-limit", "--seed",
        ], flags: ["--quiet"])
      let options = try serveOptions(arguments)
      let seconds: Int64? = try arguments.number("--seconds", in: 1...604_800)
      return try serve(options, seconds, isQuiet: arguments.has("--quiet"), console)
    })

  private static func serveOptions(_ arguments: Arguments) throws(UsageError) -> ServeDriver.Options
  {
    var options = ServeDriver.Options()
    options.port = try arguments.number("--port", in: 0...65_535) ?? 9991
    options.users = try arguments.number("--users", in: 1...RealmUser.limit) ?? 4
    options.seed = try arguments.number("--seed", in: 0...UInt64.max) ?? 1
    var faults = FaultSwitches()
    faults.latency = try arguments.number("--latency", in: 0...60_000) ?? 0
    faults.lostAnswers = try arguments.number("--lose-answers", in: 0...100) ?? 0
    faults.lostRequests = try arguments.number("--lose-requests", in: 0...100) ?? 0
    faults.errors = try arguments.number("--errors", in: 0...100) ?? 0
    faults.lifetime = try arguments.number("--lifetime", in: 1...604_800) ?? 0
    faults.expireEvery = try arguments.number("--expire-every", in: 1...86_400) ?? 0
    if let text = arguments.values["--rate-limit"] {
      let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { Int64($0) }
      guard parts.count == 2, let requests = parts[0], let window = parts[1],
        (1...1_000_000).contains(requests), (1...86_400).contains(window)
      else {
        throw UsageError(
          message: "--rate-limit needs two numbers, such as 200/60 for 200 requests in 60 s, "
            + "found \"\(text)\"")
      }
      (faults.rateRequests, faults.rateSeconds) = (requests, window)
    }
    options.faults = faults
    return options
  }

  /// Serves until the time is over, or Ctrl-C.
  private static func serve(
    _ options: ServeDriver.Options, _ seconds: Int64?, isQuiet: Bool, _ console: Console
  ) throws -> ExitCode {
    let driver = ServeDriver(options) { line in
      if !isQuiet { console.out(line) }
    }
    let server: LoopbackServer
    do throws(LoopbackServerError) {
      server = try driver.listen(on: options.port)
    } catch {
      console.error("simulate serve: \(error)\nTry: --port 0")
      return .failure
    }
    let ended = DispatchSemaphore(value: 0)
    let task = Task.detached {
      console.out(greeting(server.address, await driver.users))
      await driver.run()
      await server.stop()
      ended.signal()
    }
    let start = ContinuousClock.now
    while !Interrupt.wasAsked {
      if let seconds, ContinuousClock.now - start >= .seconds(seconds) { break }
      _ = ended.wait(timeout: .now() + .milliseconds(50))
    }
    task.cancel()
    ended.wait()
    return Interrupt.wasAsked ? .interrupted : .success
  }

  /// What to do first.
  private static func greeting(_ address: String, _ users: [RealmUser]) -> String {
    let width = users.map(\.email.count).max() ?? 0
    let name = users.map(\.name.count).max() ?? 0
    let lines = users.map { user in
      "  " + user.name.padding(toLength: name + 2, withPad: " ", startingAt: 0)
        + user.email.padding(toLength: width + 2, withPad: " ", startingAt: 0) + user.key + "  "
        + user.password
    }
    let (one, other) = (users[0], users[users.count - 1])
    let login = "\(other.email):\(other.key)"
    return """
      Serving \(address)/ until Ctrl-C. That address shows the conversation, with a switch for each
      fault. Users, with e-mail, API key and password, all made up:
      \(lines.joined(separator: "\n"))
      Follow an account, send as another, or write a program:
        ZULIP_API_KEY=\(one.key) swift run follow --site \(address) --email \(one.email)
        curl -sS \(address)/api/v1/messages -u \(login) -d type=stream -d to=general -d topic=hello -d content=Hi
        python3 -c "import zulip; c = zulip.Client(site='\(address)', email='\(one.email)', api_key='\(one.key)'); c.call_on_each_event(print)"
      """
  }
}
