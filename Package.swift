// swift-tools-version: 6.2
import PackageDescription

/// Warnings are errors in `Tests/run`, not here: an app that depends on us may have a newer
/// compiler.
let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableUpcomingFeature("InferIsolatedConformances"),
  .strictMemorySafety(),
]

/// Apple's SDKs bring SQLite along; pkg-config might find Homebrew's there.
#if canImport(Darwin)
  let sqlite: String? = nil
#else
  let sqlite: String? = "sqlite3"
#endif

let package = Package(
  name: "UpdateMachine",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .visionOS(.v2), .watchOS(.v11)],
  products: [
    .library(name: "UpdateMachine", targets: ["UpdateMachine"]),
    .library(name: "MessageSync", targets: ["MessageSync"]),
    .library(name: "SyncProtocols", targets: ["SyncProtocols"]),
    .library(name: "HTTPSync", targets: ["HTTPSync"]),
    .library(name: "ZulipSync", targets: ["ZulipSync"]),
    .library(name: "EtcdSync", targets: ["EtcdSync"]),
    .library(name: "SQLiteStore", targets: ["SQLiteStore"]),
    .library(name: "LoopbackServer", targets: ["LoopbackServer"]),
    .library(name: "Simulator", targets: ["Simulator"]),
    .executable(name: "simulate", targets: ["simulate"]),
    .executable(name: "follow", targets: ["follow"]),
  ],
  targets: [
    .target(name: "UpdateMachine", swiftSettings: strict),
    .target(name: "MessageSync", dependencies: ["UpdateMachine"], swiftSettings: strict),
    .target(name: "SyncProtocols", dependencies: ["UpdateMachine"], swiftSettings: strict),
    .target(name: "HTTPSync", dependencies: ["UpdateMachine"], swiftSettings: strict),
    .target(
      name: "ZulipSync",
      dependencies: ["UpdateMachine", "MessageSync", "SyncProtocols", "HTTPSync"],
      swiftSettings: strict),
    .target(
      name: "EtcdSync", dependencies: ["UpdateMachine", "SyncProtocols", "HTTPSync"],
      swiftSettings: strict),
    .systemLibrary(
      name: "CSQLite", pkgConfig: sqlite,
      providers: [.apt(["libsqlite3-dev"]), .yum(["sqlite-devel"]), .brew(["sqlite"])]),
    .target(
      name: "SQLiteStore", dependencies: ["UpdateMachine", "CSQLite"], swiftSettings: strict),
    .target(name: "LoopbackServer", swiftSettings: strict),
    .executableTarget(
      name: "follow",
      dependencies: ["UpdateMachine", "MessageSync", "SyncProtocols", "ZulipSync", "SQLiteStore"],
      swiftSettings: strict),
    .executableTarget(
      name: "counter", dependencies: ["UpdateMachine", "SyncProtocols"], swiftSettings: strict),
    .executableTarget(
      name: "todo", dependencies: ["UpdateMachine", "SyncProtocols", "EtcdSync", "SQLiteStore"],
      swiftSettings: strict),
    .target(name: "CDiskFaults", dependencies: ["CSQLite"]),
    .target(
      name: "Simulator", dependencies: ["UpdateMachine", "MessageSync", "SyncProtocols"],
      swiftSettings: strict),
    .target(
      name: "RecordingCheck",
      dependencies: ["UpdateMachine", "MessageSync", "SyncProtocols", "HTTPSync", "ZulipSync"],
      path: "Simulations/check", swiftSettings: strict),
    .target(
      name: "ZulipServer", dependencies: ["UpdateMachine", "SyncProtocols", "LoopbackServer"],
      path: "Simulations/serve", resources: [.embedInCode("page.html")], swiftSettings: strict),
    .target(
      name: "ZulipWorld",
      dependencies: [
        "UpdateMachine", "MessageSync", "SyncProtocols", "ZulipSync", "Simulator", "ZulipServer",
      ],
      path: "Simulations/zulip", swiftSettings: strict),
    .target(
      name: "EtcdWorld", dependencies: ["UpdateMachine", "SyncProtocols", "EtcdSync", "Simulator"],
      path: "Simulations/etcd", swiftSettings: strict),
    .executableTarget(
      name: "simulate",
      dependencies: [
        "LoopbackServer", "UpdateMachine", "ZulipSync", "Simulator", "RecordingCheck",
        "ZulipServer", "ZulipWorld", "EtcdWorld",
      ],
      path: "Simulations",
      exclude: [
        "Benchmarks", "Playground", "Scenarios", "Zoo", "campaign", "check", "crash", "etcd",
        "serve", "soak", "zulip",
      ],
      sources: ["simulate"],
      resources: [.copy("Recordings")], swiftSettings: strict),
    .executableTarget(
      name: "crash", dependencies: ["UpdateMachine", "SyncProtocols", "SQLiteStore"],
      path: "Simulations/crash", swiftSettings: strict),
    .executableTarget(
      name: "soak",
      dependencies: [
        "CAllocations", "UpdateMachine", "SyncProtocols", "EtcdSync", "SQLiteStore", "Simulator",
      ],
      path: "Simulations/soak", swiftSettings: strict),
    .target(name: "CAllocations", path: "Simulations/Benchmarks/CAllocations"),
    .executableTarget(
      name: "Benchmarks",
      dependencies: [
        "CAllocations", "UpdateMachine", "MessageSync", "SyncProtocols", "SQLiteStore", "ZulipSync",
        "Simulator",
      ],
      path: "Simulations/Benchmarks",
      exclude: ["CAllocations", "Limits.txt", "PeerModels", "README.md", "peers"],
      swiftSettings: strict),
    .target(
      name: "TestSupport", dependencies: ["UpdateMachine"], path: "Tests/TestSupport",
      swiftSettings: strict),
    .testTarget(
      name: "UpdateMachineTests", dependencies: ["UpdateMachine", "MessageSync", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "CollectionTests", dependencies: ["UpdateMachine", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "MessageSyncTests", dependencies: ["MessageSync", "TestSupport", "UpdateMachine"],
      swiftSettings: strict),
    .testTarget(
      name: "SyncProtocolsTests", dependencies: ["SyncProtocols", "MessageSync", "UpdateMachine"],
      swiftSettings: strict),
    .testTarget(
      name: "ZulipSyncTests",
      dependencies: [
        "ZulipSync", "LoopbackServer", "MessageSync", "SyncProtocols", "TestSupport",
        "UpdateMachine",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "HTTPSyncTests",
      dependencies: ["HTTPSync", "LoopbackServer", "SyncProtocols", "UpdateMachine"],
      swiftSettings: strict),
    .testTarget(
      name: "EtcdSyncTests",
      dependencies: [
        "EtcdSync", "HTTPSync", "LoopbackServer", "SyncProtocols", "TestSupport", "UpdateMachine",
      ],
      exclude: ["Recorded.jsonl", "record.py"], swiftSettings: strict),
    .testTarget(
      name: "SQLiteStoreTests",
      dependencies: [
        "SQLiteStore", "CDiskFaults", "CSQLite", "SyncProtocols", "TestSupport", "UpdateMachine",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "LoopbackServerTests",
      dependencies: ["LoopbackServer", "TestSupport", "UpdateMachine"],
      swiftSettings: strict),
    .testTarget(
      name: "FollowTests",
      dependencies: ["follow", "LoopbackServer", "MessageSync", "UpdateMachine", "ZulipSync"],
      swiftSettings: strict),
    .testTarget(
      name: "TodoTests",
      dependencies: ["todo", "EtcdSync", "SyncProtocols", "TestSupport", "UpdateMachine"],
      swiftSettings: strict),
    .testTarget(
      name: "SimulatorTests",
      dependencies: [
        "Simulator", "MessageSync", "SyncProtocols", "TestSupport", "UpdateMachine",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "CourseTests",
      dependencies: [
        "MessageSync", "SQLiteStore", "Simulator", "SyncProtocols", "UpdateMachine",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "CourseMistakeTests",
      dependencies: ["MessageSync", "Simulator", "SyncProtocols", "UpdateMachine"],
      swiftSettings: strict),
    .testTarget(
      name: "WorldTests",
      dependencies: [
        "Simulator", "MessageSync", "SyncProtocols", "TestSupport", "UpdateMachine",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "ServeTests",
      dependencies: [
        "ZulipServer", "LoopbackServer", "SyncProtocols", "UpdateMachine", "ZulipSync", "follow",
        "simulate",
      ],
      swiftSettings: strict),
    .testTarget(name: "HouseTests", swiftSettings: strict),
    .testTarget(
      name: "CommandTests",
      dependencies: [
        "counter", "simulate", "RecordingCheck", "Simulator", "MessageSync", "SyncProtocols",
        "TestSupport", "UpdateMachine", "ZulipSync", "ZulipWorld", "EtcdWorld",
      ],
      swiftSettings: strict),
  ],
  swiftLanguageModes: [.v6]
)

/// `Tests/run` builds some of the test targets only, where others could find nothing more: their
/// names, with spaces between them. Targets of any kind behind the word `-Onone` are not optimised,
/// also in release: they only call what is.
if let wanted = Context.environment["UPDATEMACHINE_TESTS"] {
  let words = wanted.split(whereSeparator: \.isWhitespace).map(String.init)
  package.targets.removeAll { $0.type == .test && !words.contains($0.name) }
  let plain = words.drop { $0 != "-Onone" }
  for target in package.targets where plain.contains(target.name) {
    target.swiftSettings = strict + [.unsafeFlags(["-Onone"])]
  }
}
