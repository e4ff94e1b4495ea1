import Foundation

/// Finds what ships with the project, from any folder.
enum Shipped {
  /// The path of a file in `Simulations/Recordings`.
  static func recording(_ name: String) -> String {
    Bundle.module.resourceURL?.appendingPathComponent("Recordings/\(name)").path ?? name
  }

  /// A file as reports name it: one that ships with the project without its folder.
  static func name(of file: String) -> String {
    let name = URL(fileURLWithPath: file).lastPathComponent
    return file == recording(name) ? name : file
  }
}
