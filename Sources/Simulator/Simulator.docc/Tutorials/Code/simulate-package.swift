// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "party",
  platforms: [.macOS(.v15)],
  dependencies: [.package(path: "../UpdateMachine")],
  targets: [
    .testTarget(
      name: "PartyTests",
      dependencies: [
        .product(name: "UpdateMachine", package: "UpdateMachine"),
        .product(name: "SyncProtocols", package: "UpdateMachine"),
        .product(name: "Simulator", package: "UpdateMachine"),
      ])
  ]
)
