import Foundation
import Simulator

/// Where a picture goes, and in which format: `--format NAME` and `--output FILE`.
struct PictureOptions {
  let format: PictureFormat
  /// `nil`: standard output.
  let output: String?

  static let names = ["--format", "--output"]

  static let formats = PictureFormat.allCases.map(\.rawValue).joined(separator: ", ")

  init(_ arguments: Arguments) throws(UsageError) {
    output = arguments.values["--output"]
    if let output { try PictureOptions.requireFolder(of: output) }
    guard let name = arguments.values["--format"] else {
      format = try output.map(PictureOptions.format(ofFile:)) ?? .text
      return
    }
    guard let format = PictureFormat(rawValue: name) else {
      throw UsageError(
        message: "there is no format \"\(name)\". The formats are: \(PictureOptions.formats)")
    }
    if let output, let said = PictureOptions.format(named: output), said != format {
      throw UsageError(
        message: "the name \(output) says \(said.rawValue), and --format says \(name)")
    }
    self.format = format
  }

  /// Checks, before anything is run, that a file can lie where it should.
  static func requireFolder(of file: String) throws(UsageError) {
    let folder = URL(fileURLWithPath: file).deletingLastPathComponent()
    let values = try? folder.resourceValues(forKeys: [.isDirectoryKey])
    guard values?.isDirectory == true else {
      throw UsageError(message: "there is no folder \(folder.path) for \(file)")
    }
  }

  /// The format that a file's name says.
  static func format(ofFile file: String) throws(UsageError) -> PictureFormat {
    if let format = format(named: file) { return format }
    throw UsageError(
      message: "the name \(file) says no format. Let it end in .txt, .mmd, .svg, .html or .json, "
        + "or add --format")
  }

  private static func format(named file: String) -> PictureFormat? {
    let ending = URL(fileURLWithPath: file).pathExtension
    return switch ending {
    case "txt": .text
    case "mmd": .mermaid
    default: PictureFormat(rawValue: ending)
    }
  }

  func write(_ picture: SpaceTime, _ console: Console) throws(FileError) {
    let text = picture.written(as: format)
    try write(text.hasSuffix("\n") ? String(text.dropLast()) : text, picture.title, console)
  }

  /// - Parameter text: without its last line feed.
  func write(_ text: String, _ title: String, _ console: Console) throws(FileError) {
    guard let output else { return console.out(text) }
    try PictureOptions.write(text + "\n", to: output)
    console.out("Wrote \(output): \(title)")
  }

  static func write(_ text: String, to file: String) throws(FileError) {
    do {
      try Data(text.utf8).write(to: URL(fileURLWithPath: file), options: .atomic)
    } catch {
      throw FileError(message: "\(file): cannot be written: \(error.localizedDescription)")
    }
  }
}
