// Reads a module's symbol graphs, and prints every public symbol that has no documentation. The
// exit code is 1 if there is one. A symbol that fulfils a protocol's documented requirement
// inherits its documentation, and a symbol that the compiler synthesizes needs none.
//
// Usage: Undocumented FOLDER-WITH-SYMBOL-GRAPHS

import Foundation

struct SymbolGraph: Decodable {
  struct Symbol: Decodable {
    struct Identifier: Decodable { var precise: String }
    struct DocComment: Decodable {}
    struct Location: Decodable {
      struct Position: Decodable { var line: Int }
      var uri: String
      var position: Position
    }
    var identifier: Identifier
    var pathComponents: [String]
    var docComment: DocComment?
    var location: Location?

    var isSynthesized: Bool { identifier.precise.contains("::SYNTHESIZED::") }

    /// The symbol's place and name, like `Sources/…/File.swift:3: Type.member`.
    var place: String {
      let file = location?.uri.components(separatedBy: "/Sources/").last ?? "?"
      let line = location.map { $0.position.line + 1 } ?? 0
      return "Sources/\(file):\(line): \(pathComponents.joined(separator: "."))"
    }
  }
  struct Relationship: Decodable {
    struct Origin: Decodable {}
    var source: String
    var sourceOrigin: Origin?
  }
  var symbols: [Symbol]
  var relationships: [Relationship]

  var undocumented: [String] {
    let inheriting = Set(relationships.filter { $0.sourceOrigin != nil }.map(\.source))
    return symbols.filter {
      !$0.isSynthesized && $0.docComment == nil && !inheriting.contains($0.identifier.precise)
    }.map(\.place)
  }
}

let folder = URL(filePath: CommandLine.arguments[1])
let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
  .filter { $0.lastPathComponent.hasSuffix(".symbols.json") }
guard !files.isEmpty else { fatalError("no symbol graph in \(folder.path)") }
let undocumented = try files.flatMap {
  try JSONDecoder().decode(SymbolGraph.self, from: Data(contentsOf: $0)).undocumented
}
for place in undocumented.sorted() { print("\(place) has no documentation") }
exit(undocumented.isEmpty ? 0 : 1)
