import Foundation

extension Schemata {
  /// Puts every mutant into its files. The error gives the reason for each one that does not apply.
  static func weave(_ mutants: [Mutant], into files: inout [String: Data]) throws(FileError) {
    var complaints: [String] = []
    for file in Set(mutants.flatMap(\.hunks).map(\.file)).sorted() {
      let concerned = mutants.filter { $0.hunks.contains { $0.file == file } }
      guard let data = files[file] else {
        let names = concerned.map(\.name).joined(separator: ", ")
        complaints.append("\(names): there is no file \(file)")
        continue
      }
      var schemata: Schemata
      do throws(SwiftTokens.Malformed) {
        schemata = try Schemata(file: file, text: String(decoding: data, as: UTF8.self))
      } catch {
        throw FileError(message: "\(file):\(error.line): found \(error.found)")
      }
      for mutant in concerned {
        do throws(Schemata.Inapplicable) {
          try schemata.add(mutant)
        } catch {
          complaints.append("\(error.mutant): \(error.message)")
        }
      }
      files[file] = Data(schemata.woven().utf8)
    }
    guard complaints.isEmpty else {
      throw FileError(message: "these do not apply:\n" + complaints.joined(separator: "\n"))
    }
    files[selector.path] = Data(selector.text.utf8)
  }
}
