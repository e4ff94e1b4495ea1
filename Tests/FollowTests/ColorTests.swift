import Testing

@testable import follow

/// Tests when output has colours, and which.
@Suite(.serialized) struct ColorTests {
  @Test(
    arguments: [
      (.auto, true, [:], true), (.auto, false, [:], false), (.never, true, [:], false),
      (.auto, true, ["NO_COLOR": "1"], false), (.auto, true, ["NO_COLOR": ""], true),
      (.auto, true, ["TERM": "dumb"], false), (.auto, true, ["TERM": "xterm"], true),
      (.always, false, ["NO_COLOR": "1", "TERM": "dumb"], true),
    ] as [(Palette.Choice, Bool, [String: String], Bool)])
  func `colours are where a terminal is, unless somebody says otherwise`(
    _ choice: Palette.Choice, _ isTerminal: Bool, _ environment: [String: String], _ colors: Bool
  ) {
    let palette = Palette(choice, isTerminal: isTerminal, environment)
    #expect(palette == (colors ? .colored : .plain))
  }

  @Test func `--color always distinguishes sender and place; a pipe and JSON have no colours`()
    async throws
  {
    try await User.on(FakeRealm(["one"])) { user, _ in
      let plain = try await user.follow("unread", "--color", "never")
      #expect(plain.lines == ["0 unread"])
      let colored = try await user.follow("--once", "--color", "always")
      let escape = "\u{1B}"
      #expect(
        colored.lines == [
          "\(escape)[36m[general > lunch]\(escape)[0m \(escape)[1mBo\(escape)[0m: one"
        ], "\(colored.all)")
      let json = try await user.follow(
        "--once", "--color", "always", "--json", "--narrow", "channel:general")
      #expect(json.lines.count == 1 && !json.output.contains(escape))
      let piped = try await user.follow("--once", "--narrow", "channel:general/topic:lunch")
      #expect(piped.lines == ["[general > lunch] Bo: one"])
    }
  }

  @Test func `an unknown choice of colours is refused`() throws {
    #expect(throws: Misuse.self) { try Options(["--color", "red"]) }
    #expect(try Options(["--color", "never"]).color == .never)
  }
}
