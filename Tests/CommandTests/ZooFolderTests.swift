import Foundation
import Testing

@testable import simulate

/// Tests the Zoo's folder against the sources, in seconds: a hunt says the same after its build.
@Suite struct ZooFolderTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
  private static let package = ScratchPackage(
    original: root, copy: root.appending(path: ".build/no-such-copy"))

  @Test func `every mutant applies to the sources as they are`() throws {
    let words = ["--package-path", Self.root.path]
    let options = try ZooOptions(
      try Arguments(words, options: ZooOptions.names, flags: ZooOptions.flags))
    let mutants = try options.mutants()
    #expect(mutants.count > 200)
    #expect(Set(mutants.map { Schemata.number(of: $0.name) }).count == mutants.count)
    var files = try Self.package.read()
    _ = try Schemata.weave(mutants, into: &files, selector: "")
  }

  @Test func `the copy has every folder that a target of the manifest names`() throws {
    let files = try Self.package.read()
    let manifest = try #require(files["Package.swift"].map { String(decoding: $0, as: UTF8.self) })
    let folders = manifest.matches(of: /path: "(Simulations\/[A-Za-z\/]+)"/).map { $0.output.1 }
    #expect(folders.contains("Simulations/crash"))
    for folder in folders {
      #expect(files.keys.contains { $0.hasPrefix("\(folder)/") }, "\(folder)")
    }
  }
}
