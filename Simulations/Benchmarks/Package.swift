// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "UpdateMachine", path: "../..")],
  targets: [
    .target(name: "CAllocations"),
    .executableTarget(
      name: "Benchmarks",
      dependencies: [
        "CAllocations",
        .product(name: "UpdateMachine", package: "UpdateMachine"),
        .product(name: "MessageSync", package: "UpdateMachine"),
        .product(name: "SyncProtocols", package: "UpdateMachine"),
        .product(name: "SQLiteStore", package: "UpdateMachine"),
        .product(name: "ZulipSync", package: "UpdateMachine"),
        .product(name: "Simulator", package: "UpdateMachine"),
      ],
      swiftSettings: [.strictMemorySafety()]),
  ],
  swiftLanguageModes: [.v6]
)
