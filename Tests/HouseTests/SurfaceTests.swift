import Foundation
import Testing

/// Checks that each product promises no more than is written here. `public` is a promise for years.
@Suite struct SurfaceTests {
  /// The most public declarations of each product: lines that begin with `public`, whatever
  /// attributes stand before it. Cases of enums and requirements of protocols are not counted.
  static let most = [
    ("UpdateMachine", 524), ("MessageSync", 199), ("SyncProtocols", 602), ("HTTPSync", 5),
    ("ZulipSync", 315), ("EtcdSync", 119),
    ("Simulator", 268), ("SQLiteStore", 35), ("LoopbackServer", 92),
  ]

  @Test(arguments: most)
  func `a product promises no more than an app or its tests need`(
    product: String, most: Int
  ) {
    let files = Repository.shared.swift.filter { $0.path.hasPrefix("Sources/\(product)/") }
    #expect(!files.isEmpty)
    let count = files.map(\.publicDeclarations.count).reduce(0, +)
    #expect(
      count <= most,
      """
      \(product) has \(count) public declarations. What only this package needs is `package`. If an
      app needs the new ones, raise the number in this test.
      """)
    #expect(count > most - 20, "\(product) has \(count) public declarations: lower the number")
  }

  /// The module and its actor have the same name. So if an app has a type with the name of one of
  /// ours, it cannot write `UpdateMachine.ChatMessage` to tell the two apart.
  @Test func `no type that an app gets by importing UpdateMachine has a name that apps use`() {
    let general = [
      "Advance", "Backoff", "Bits", "Change", "Chance", "Client", "Clock", "Conflict", "Digest",
      "Event", "Interval", "Item", "Life", "List", "Message", "Page", "Place", "Reaction",
      "Request", "Row", "Settings", "Source", "State", "Store", "Terms", "Topic", "User", "View",
      "Violation", "Window",
    ]
    let types = Repository.shared.swift.filter { $0.path.hasPrefix("Sources/UpdateMachine/") }
      .flatMap(\.publicTypes)
    #expect(types.count > 30)
    #expect(types.filter(general.contains) == [])
  }

  /// What is built for our own checks is no product: an app would see it.
  @Test func `the manifest's programs are those that a user runs`() throws {
    let manifest = try #require(Repository.shared.contents(of: "Package.swift"))
    let lines = String(decoding: manifest, as: UTF8.self).split(separator: "\n")
    let programs = lines.compactMap { $0.firstMatch(of: #/\.executable\(name: "(\w+)"/#)?.1 }
    #expect(programs == ["simulate", "follow"])
  }

  /// An app's developer reads these. The names of the machine's inputs and of settings that are
  /// only this package's lead nowhere there.
  @Test(arguments: [
    "Sources/UpdateMachine/Machine/Status.swift",
    "Sources/UpdateMachine/Driver/SyncSource.swift",
    "Sources/UpdateMachine/Driver/UpdateMachine.swift",
    "Sources/UpdateMachine/UpdateMachine.docc/OfflineChanges.md",
    "Sources/UpdateMachine/UpdateMachine.docc/Guarantees.md",
  ])
  func `what an app's developer reads names what an app has`(path: String) throws {
    let bytes = try #require(Repository.shared.contents(of: path))
    let words = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
      .filter { path.hasSuffix(".md") || $0.contains("///") }
      .flatMap { $0.matches(of: #/`([\w.]+)`/#).map { $0.1.split(separator: ".").last ?? "" } }
    let ours = [
      "started", "stopped", "loggedOut", "retryRequested", "releaseTime", "resendFirst",
      "resendCap", "deadlineCap",
    ]
    #expect(words.filter { ours.contains(String($0)) } == [])
  }

  /// Whoever reads about what is public looks for what it names.
  @Test func `no public comment names an app of our own worlds`() {
    let files = Repository.shared.swift.filter { $0.path.hasPrefix("Sources/") }
    let ours = files.flatMap(\.lines).filter { $0.has("enum ") }.compactMap { line in
      line.firstMatch(of: #/^ *package enum (\w+App)\b/#).map { String($0.1) }
    }
    #expect(ours.contains("DirectoryApp") && ours.count > 5)
    let named = files.filter { file in
      file.publicComments.contains { comment in
        comment.has("App") && comment.matches(of: #/\w+/#).contains { ours.contains(String($0.0)) }
      }
    }
    #expect(named.map(\.path) == [])
  }

  @Test func `a public comment is found over what it is about`() {
    let file = SourceFile(
      path: "x.swift",
      text: """
        /// Of one.
        ///
        /// More.
        @frozen public struct One {
          /// Of two.
          var two = 2
          /// Of three.
          @inlinable
          public var three: Int { 3 }
        }
        """)
    #expect(file.publicComments == ["/// Of one.", "///", "/// More.", "  /// Of three."])
  }

  /// An app has a `Board` or a `Post` of its own. It imports the simulator in its tests only, but
  /// there its own types and ours would meet.
  @Test func `no public type has a name of our example worlds`() {
    let nouns = [
      "Account", "Board", "Booking", "Chat", "Counter", "Directory", "Entry", "Inbox", "Ledger",
      "Mailbox", "Message", "Note", "Notebook", "Person", "Post", "Record", "Shop", "Stock",
      "Stream", "Table", "Task", "ToDo", "Wish",
    ]
    // These have types of protocols, `RecordChange` for one, which apps want.
    let protocols = ["Message", "Record", "Stream", "Table"]
    var names: Set<String> = []
    for noun in nouns {
      var roles = ["", "App", "Law", "Server", "User"]
      if !protocols.contains(noun) { roles += ["Action", "Change", "Event", "Model", "State"] }
      for role in roles { names.formUnion([noun + role, noun + "s" + role]) }
    }
    let types = Repository.shared.swift.filter { file in
      Self.most.contains { file.path.hasPrefix("Sources/\($0.0)/") }
    }.flatMap(\.publicTypes)
    #expect(types.count > 200)
    #expect(types.filter(names.contains) == [])
  }

  /// So an app can write `some Mutation<Board>` and `any ServerTruth<Event, Snapshot>`.
  @Test func `a public protocol with associated types names the primary ones`() {
    let protocols = Repository.shared.swift.filter { file in
      Self.most.contains { file.path.hasPrefix("Sources/\($0.0)/") }
    }.flatMap(\.publicProtocols)
    let primary = protocols.filter { !$0.primary.isEmpty }.map(\.name)
    #expect(primary.count > 20)
    let without = protocols.filter { one in
      one.primary.isEmpty && (one.hasAssociated || one.refined.contains { primary.contains($0) })
    }
    #expect(without.map(\.name) == [])
  }

  @Test func `a public protocol is read with what it refines and associates`() {
    let file = SourceFile(
      path: "x.swift",
      text: """
        public protocol Bare: Sendable, Other {
          var hidden: Int { get }
        }
        #if os(Linux)
          public protocol Full<A, B>: Bare {
            associatedtype A
          }
        #endif
        public protocol Empty: Bare where Text == Int {}
        package protocol Ours {
          associatedtype C
        }
        """)
    let read = file.publicProtocols
    #expect(read.map(\.name) == ["Bare", "Full", "Empty"])
    #expect(read.map(\.primary) == ["", "A, B", ""])
    #expect(read.map(\.hasAssociated) == [false, true, false])
    #expect(read.map(\.refined) == [["Sendable", "Other"], ["Bare"], ["Bare"]])
  }

  @Test func `a public declaration is recognised behind attributes`() {
    let file = SourceFile(
      path: "x.swift",
      text: """
        @frozen public struct Shown {
          @inlinable public init() {}
          package var hidden = 0
          // public in a comment
          public struct Inner {}
        }
        #if os(Linux)
          public final class Indented {}
        #endif
        @usableFromInline package struct Ours {}
        """)
    #expect(file.publicDeclarations.count == 4)
    #expect(file.publicTypes == ["Shown", "Indented"])
  }
}

extension SourceFile {
  var publicDeclarations: [Substring] {
    lines.filter {
      $0.has("public ")
        && $0.prefixMatch(of: #/ *(?:@\w+(?:\([^)]*\))? )*public (?!import )/#) != nil
    }
  }

  /// The lines of comments on public declarations.
  var publicComments: [String] {
    var comments: [String] = []
    var comment: [String] = []
    for line in lines {
      let first = line.utf8.drop { $0 == UInt8(ascii: " ") }
      if first.starts(with: "///".utf8) {
        comment.append(String(line))
      } else if line.has("public "), line.contains(#/^ *(?:@\w+(?:\([^)]*\))? )*public /#) {
        comments += comment
        comment = []
      } else if !first.starts(with: "@".utf8) || !line.contains(#/^ *@\w+(?:\([^)]*\))?$/#) {
        comment = []
      }
    }
    return comments
  }

  struct PublicProtocol {
    var name: String
    /// What stands between the angle brackets.
    var primary: String
    var refined: [String]
    var hasAssociated = false
  }

  var publicProtocols: [PublicProtocol] {
    let begins = #/ *public protocol (\w+)(?:<([\w, ]+)>)?(?:: ([\w, &]+))?.*/#
    var protocols: [PublicProtocol] = []
    var isInside = false
    for line in lines where line.has("protocol ") || line.has("associatedtype ") {
      if let found = line.wholeMatch(of: begins) {
        let refined = (found.3 ?? "").split { !$0.isLetter }.map(String.init)
        protocols.append(
          PublicProtocol(
            name: String(found.1), primary: String(found.2 ?? ""),
            refined: Array(refined.prefix { $0 != "where" })))
        isInside = true
      } else if line.contains(#/^ *\w+ protocol /#) {
        isInside = false
      } else if isInside, line.contains(#/^ *associatedtype /#) {
        protocols[protocols.count - 1].hasAssociated = true
      }
    }
    return protocols
  }

  /// Names of public types that no other type surrounds.
  var publicTypes: [String] {
    let type =
      #/(?:@\w+(?:\([^)]*\))? )*public (?:final |indirect )?(?:struct|enum|class|actor|protocol|typealias) (\w+)/#
    var names: [String] = []
    var isConditional = false
    for line in lines {
      if line.hasPrefix("#if") { isConditional = true }
      if line.hasPrefix("#endif") { isConditional = false }
      let outer = isConditional && line.hasPrefix("  ") ? line.dropFirst(2) : line[...]
      if line.has("public "), let found = outer.prefixMatch(of: type) {
        names.append(String(found.1))
      }
    }
    return names
  }
}
