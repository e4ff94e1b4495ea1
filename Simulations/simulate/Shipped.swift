import Foundation

/// Finds files that ship with the project, from any working folder.
enum Shipped {
  /// The path of a file in `Simulations/Recordings`.
  static func recording(_ name: String) -> String {
    Bundle.module.resourceURL?.appendingPathComponent("Recordings/\(name)").path ?? name
  }

  /// A file's name in reports. A file that ships with the project is named without its folder.
  static func name(of file: String) -> String {
    let name = URL(fileURLWithPath: file).lastPathComponent
    return file == recording(name) ? name : file
  }
}
