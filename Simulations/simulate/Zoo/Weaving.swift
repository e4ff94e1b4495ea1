import Foundation

extension Schemata {
  /// Puts every mutant into its files. The error gives the reason for each one that does not apply.
  ///
  /// - Parameters:
  ///   - mutants: the Zoo's.
  ///   - generated: those that nobody chose.
  ///   - files: the files by their paths in the package.
  ///   - selector: the text of the additional file that says which mutant is in force.
  ///   - reach: numbers the bodies with mutants; `nil`: it is not counted how often they run.
  static func weave(
    _ mutants: [Mutant], generated: [GeneratedMutant] = [], into files: inout [String: Data],
    selector text: String, reach: BodyNumbers? = nil
  ) throws(FileError) -> BodyNumbers? {
    var complaints: [String] = []
    var reach = reach
    let changed = mutants.flatMap(\.hunks).map(\.file) + generated.map(\.file)
    for file in Set(changed).sorted() {
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
      for mutant in generated where mutant.file == file {
        do throws(Schemata.Inapplicable) {
          try schemata.add(mutant)
        } catch {
          complaints.append("\(error.mutant): \(error.message)")
        }
      }
      schemata.reach = reach
      files[file] = Data(schemata.woven().utf8)
      reach = schemata.reach
    }
    guard complaints.isEmpty else {
      throw FileError(message: "these do not apply:\n" + complaints.joined(separator: "\n"))
    }
    files[selector] = Data(text.utf8)
    return reach
  }
}
