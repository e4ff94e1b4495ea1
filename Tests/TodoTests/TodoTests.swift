import Foundation
import TestSupport
import Testing
import UpdateMachine

@testable import todo

/// Tests `todo` with a real etcd. Where there is none, these are said to be skipped.
@Suite(
  .enabled(if: EtcdProcess.isThere, "etcd is not installed (Debian: etcd-server)"),
  .timeLimit(.minutes(2)), .serialized)
struct TodoTests {
  @Test func `two users share a list, and undo takes back one's own`() async throws {
    try await User.two { _, ada, bo in
      #expect(try ada.todo("list").lines == ["the list is empty"])
      #expect(try ada.todo("add", "milk").lines == ["added: milk"])
      #expect(try bo.todo("add", "bread", "and", "jam").lines == ["added: bread and jam"])
      let done = try bo.todo("done", "1")
      #expect(done.code == 0 && done.lines == ["done: milk"])
      let list = try ada.todo("list")
      #expect(list.lines == ["1 [x] milk", "2 [ ] bread and jam"])
      #expect(list.errors == "todo: Up to date.\n")
      #expect(try bo.todo("undo").lines == ["undone: done milk"])
      #expect(try bo.todo("redo").lines == ["redone: done milk"])
      #expect(try ada.todo("remove", "bre").lines == ["removed: bread and jam"])
      #expect(try bo.todo("list").lines == ["1 [x] milk"])
      let missing = try bo.todo("done", "2")
      #expect(missing.code == 1 && missing.errors.contains("there is no item 2"))
    }
  }

  @Test func `without a connection changes are kept, shown, undone, and sent later`() async throws {
    try await User.two { etcd, ada, bo in
      _ = try ada.todo("add", "milk")
      _ = try bo.todo("list")
      etcd.kill()
      let kept = try ada.todo("add", "tea", wait: 1)
      #expect(kept.code == 0 && kept.lines == ["added: tea"])
      #expect(kept.errors.contains("kept on this computer. No connection."), "\(kept.errors)")
      #expect(kept.errors.contains("1 change is not sent yet."), "\(kept.errors)")
      let list = try ada.todo("list", wait: 1)
      #expect(list.lines == ["1 [ ] milk", "2 [ ] tea  (not sent yet)"])
      #expect(list.errors.contains("No connection. Last up to date"), "\(list.errors)")
      for command in ["done", "remove"] {
        _ = try ada.todo(command, "milk", wait: 1)
        let line = try ada.todo("undo", wait: 1).lines.first
        #expect(line?.hasPrefix("undone: \(command) milk") == true)
      }
      try await etcd.start()
      #expect(try ada.todo("list").lines == ["1 [ ] milk", "2 [ ] tea"])
      #expect(try bo.todo("list").lines == ["1 [ ] milk", "2 [ ] tea"])
    }
  }

  @Test func `a list that was never read needs the cluster`() async throws {
    try await User.two { etcd, ada, _ in
      etcd.kill()
      let run = try ada.todo("add", "milk", wait: 1)
      #expect(run.code == 1 && run.output == "")
      #expect(run.errors.contains("the list was never read: No connection."), "\(run.errors)")
      let typed = try ada.todo(wait: 1, typing: ["add milk", ""])
      #expect(typed.code == 1 && typed.output == "", "\(typed.errors)")
    }
  }

  @Test func `commands can be typed, and the list is shown as it changes`() async throws {
    try await User.two { _, ada, bo in
      let run = try ada.todo(typing: ["add milk", "frob", "done milk", "", "done 7", "undo"])
      #expect(run.code == 0, "\(run.errors)")
      #expect(run.lines.first == "the list is empty")
      #expect(run.lines.contains("added: milk") && run.lines.contains("done: milk"))
      #expect(run.errors.contains("there is no command 'frob'"))
      #expect(run.errors.contains("there is no item 7"))
      #expect(try bo.todo("list").lines == ["1 [ ] milk"])
    }
  }

  @Test func `a second one with the same file is told to take another`() async throws {
    try await User.two { _, ada, _ in
      let watching = try ada.begin(["watch"])
      try await shows("the list is empty", watching)
      let second = try ada.todo("list")
      #expect(second.code == 1 && second.errors.contains("by another todo"), "\(second.errors)")
      #expect(second.errors.contains("--state"))
      watching.process.interrupt()
      #expect(watching.end().code == 130)
    }
  }

  @Test func `watch shows what others do, until it is interrupted`() async throws {
    try await User.two { _, ada, bo in
      let watching = try ada.begin(["watch"])
      try await shows("the list is empty", watching)
      _ = try bo.todo("add", "milk")
      try await shows("1 [ ] milk", watching)
      watching.process.interrupt()
      #expect(watching.end().code == 130)
    }
  }

  @Test func `those who give a name see each other come, go, and die`() async throws {
    try await User.two { etcd, ada, bo in
      let first = try ada.begin(["--name", "Ada", "watch"])
      try await shows("here: Ada", first)
      let second = try bo.begin(["--name", "B\u{1B}o", "watch"])
      try await shows("here: Ada, Bo", first)
      try await shows("here: Ada, Bo", second)
      // One that watches without a name sees the others, and is not seen.
      let third = try bo.begin(["--state", bo.folder.path + "/other.db", "watch"])
      try await shows("here: Ada, Bo", third)
      second.process.interrupt()
      #expect(second.end().code == 130)
      try await shows("here: Ada", third)
      // The member comes again: so does who is here, by herself.
      etcd.kill()
      try await etcd.start()
      let fourth = try bo.begin(["--name", "Bo", "watch"])
      try await shows("here: Ada, Bo", fourth)
      kill(first.process.processIdentifier, SIGKILL)
      try await shows("here: Bo", fourth, within: 30)
      fourth.process.interrupt()
      #expect(fourth.end().code == 130)
      try await shows("here: nobody", third)
      third.process.interrupt()
      #expect(third.end().code == 130)
    }
  }

  private func shows(
    _ line: String, _ running: Running, within seconds: Int64 = 20
  ) async throws {
    let clock = SystemClock()
    let end = clock.now + .seconds(seconds)
    while !running.output.split(separator: "\n").contains(Substring(line)) {
      guard clock.now < end else {
        Issue.record("'\(line)' is not in \(running.output)")
        return
      }
      try await clock.sleep(until: clock.now + .milliseconds(20))
    }
  }
}
