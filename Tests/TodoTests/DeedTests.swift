import EtcdSync
import SyncProtocols
import Testing
import UpdateMachine

@testable import todo

/// Tests what deeds do, how a list is shown, and what the command line takes.
@Suite struct DeedTests {
  static let key = EtcdKey("item/1")

  static func view(_ items: [Item]) -> EtcdView {
    var entries = VersionedMap<EtcdKey, EtcdEntry>()
    for (index, item) in items.enumerated() {
      entries.updateValue(
        EtcdEntry(Array(item.text.utf8), revision: 2), forKey: EtcdKey("item/\(index + 1)"))
    }
    return EtcdView(entries)
  }

  @Test func `each deed has an inverse, which leaves alone what others have changed`() throws {
    for deed in [
      Deed.add(DeedTests.key, title: "tea"), .mark(DeedTests.key, isDone: true),
      .remove(DeedTests.key),
    ] {
      let before = deed.name == "add" ? EtcdView() : DeedTests.view([Item(title: "milk")])
      var after = before
      try deed.apply(to: &after)
      let inverse = try #require(deed.inverse(from: before, to: after))
      var undone = after
      try inverse.apply(to: &undone)
      #expect(Item(undone[DeedTests.key]) == Item(before[DeedTests.key]))
      let redo = try #require(inverse.inverse(from: after, to: undone))
      try redo.apply(to: &undone)
      #expect(Item(undone[DeedTests.key]) == Item(after[DeedTests.key]))
      var other = DeedTests.view([Item(title: "another")])
      #expect(throws: ChangeRefusal.changed) { try inverse.apply(to: &other) }
      #expect(try Deed(storedBytes: deed.storedBytes) == deed)
      #expect(try Deed(storedBytes: inverse.storedBytes) == inverse)
    }
    let done = DeedTests.view([Item(title: "milk", isDone: true)])
    #expect(Deed.mark(DeedTests.key, isDone: true).inverse(from: done, to: done) == nil)
  }

  @Test func `what was removed is not changed, and the removal wins`() {
    var empty = EtcdView()
    for deed in [Deed.mark(DeedTests.key, isDone: true), .remove(DeedTests.key)] {
      #expect(throws: ChangeRefusal.gone) { try deed.apply(to: &empty) }
      #expect(deed.isOverruled(by: .gone) && !deed.isOverruled(by: .changed))
    }
  }

  @Test func `an item is JSON, and any other text is a title`() {
    #expect(Item(title: "milk").text == #"{"title":"milk"}"#)
    let done = Item(title: "\"x\"", isDone: true)
    #expect(Item(EtcdEntry(Array(done.text.utf8))) == done)
    #expect(Item(EtcdEntry(Array("jam".utf8))) == Item(title: "jam"))
    #expect(Item(EtcdEntry([0xFF])) == nil && Item(nil) == nil)
  }

  @Test func `an item is named by its number or its first letters`() throws {
    let titles = ["milk", "Bread", "bran", "x\u{1B}[2J"] + (5...10).map { "item \($0)" }
    let rows = Rows(DeedTests.view(titles.map { Item(title: $0) }), pending: [])
    #expect(rows.lines.first == " 1 [ ] milk")
    #expect(!rows.lines.joined().contains("\u{1B}"))
    #expect(try rows.row("2").item.title == rows.all[1].item.title)
    #expect(try rows.row("bre").item.title == "Bread")
    #expect(throws: Misuse("2 items begin with 'br': use a number")) { try rows.row("br") }
    #expect(throws: Misuse("no item begins with 'tea'")) { try rows.row("tea") }
    #expect(throws: Misuse("there is no item 11")) { try rows.row("11") }
  }

  @Test func `the command line is read`() throws {
    let options = try Options(
      ["--cluster", "http://a,http://b", "--list", "home", "--wait", "0", "add", "--x", "y"])
    #expect(options.cluster == ["http://a", "http://b"] && options.wait == 0)
    #expect(options.list == "home" && options.command == .add("--x y"))
    #expect(try Options(["--cluster", "http://a"]).command == .prompt)
    #expect(try Options(["--help"]).wantsHelp)
    for words in [
      [], ["list"], ["--cluster", "x", "frob"], ["--cluster", "x", "add"], ["--cluster"],
      ["--cluster", "x", "undo", "it"], ["--cluster", "x", "--list", "a/b"],
      ["--cluster", "x", "--wait", "-1"], ["--cluster", "x", "--frob", "1"],
      ["--cluster", "x", "--name", " "],
      ["--cluster", "x", "--name", String(repeating: "a", count: 41)],
    ] {
      #expect(throws: Misuse.self, "\(words)") { try Options(words) }
    }
    for words in [["list", "--cluster", "x"], ["--cluster", "x", "add", "milk", "--name", "Ada"]] {
      let error = #expect(throws: Misuse.self) { try Options(words) }
      #expect(error?.words.hasPrefix("options come before the command: --") == true)
    }
    let literal = try Options(["--cluster", "x", "--", "add", "fix", "--list", "bug"])
    #expect(literal.command == .add("fix --list bug"))
    #expect(Options.help.split(separator: "\n").allSatisfy { $0.count <= 100 })
  }

  @Test func `who is here is told while connected, and only then`() {
    var entries = VersionedMap<EtcdKey, EtcdEntry>()
    #expect(Company.line(EtcdView(entries), isConnected: true) == "here: nobody")
    let long = String(repeating: "a", count: 41)
    for (key, name) in [
      ("here/1", "Bo\u{7}"), ("here/2", "Ada"), ("here/3", " "), ("here/4", long),
      ("item/1", "milk"),
    ] {
      entries.updateValue(EtcdEntry(Array(name.utf8), revision: 2), forKey: EtcdKey(key))
    }
    #expect(Company.line(EtcdView(entries), isConnected: true) == "here: Ada, Bo")
    #expect(Company.line(EtcdView(entries), isConnected: false) == nil)
    #expect(Company.newKey() != Company.newKey())
    #expect(Company.words(.refused(.unauthorized)).contains("user or the password"))
  }

  @Test func `what went wrong is said to a user, not to a developer`() {
    let other = Todo.words(.failure(.rejected(RejectionCode("OTHER_HISTORY"))))
    #expect(other.contains("restored from a backup"))
    let refused = Todo.words(.failure(.modelRefused))
    #expect(refused.contains("goes on when that key is deleted") && !refused.contains("threw"))
  }

  @Test func `a connection is refused before anything is sent`() throws {
    func connect(_ words: String..., password: String? = nil) throws {
      _ = try Options(words).connect(password.map { ["ETCD_PASSWORD": $0] } ?? [:])
    }
    try connect("--cluster", "http://127.0.0.1:2379")
    try connect("--cluster", "http://127.0.0.1:2379", "--user", "ada", password: "secret")
    #expect(throws: Misuse.self) { try connect("--cluster", "http://example.org:2379") }
    #expect(throws: Misuse.self) { try connect("--cluster", "frob") }
    #expect(throws: Misuse("no password given: set ETCD_PASSWORD")) {
      try connect("--cluster", "http://127.0.0.1:2379", "--user", "ada")
    }
  }
}
