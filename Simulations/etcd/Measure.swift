import Foundation

/// Figures for the documentation.
struct Measure {
  let members: Int
  let processes: Processes
  init(_ members: Int, _ processes: Processes) {
    self.members = members
    self.processes = processes
  }
  func run() async -> Int32 { 0 }
}
