import Foundation

/// Finds what ships with the project, from any folder.
enum Shipped {
  /// The path of a file in `Simulations/Recordings`.
  static func recording(_ name: String) -> String {
    Bundle.module.resourceURL?.appendingPathComponent("Recordings/\(name)").path ?? name
  }
}
