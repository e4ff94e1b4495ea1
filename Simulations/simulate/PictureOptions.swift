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
    guard let name = arguments.values["--format"] else {
      format = try output.map(PictureOptions.format(ofFile:)) ?? .text
      return
    }
    guard let format = PictureFormat(rawValue: name) else {
      throw UsageError(
        message: "there is no format \"\(name)\". The formats are: \(PictureOptions.formats)")
    }
    self.format = format
  }

  /// The format that a file's name says.
  static func format(ofFile file: String) throws(UsageError) -> PictureFormat {
    let ending = URL(fileURLWithPath: file).pathExtension
    switch ending {
    case "txt": return .text
    case "mmd": return .mermaid
    default:
      if let format = PictureFormat(rawValue: ending) { return format }
      throw UsageError(
        message: "the name \(file) says no format. Let it end in .txt, .mmd, .svg, .html or .json, "
          + "or add --format")
    }
  }

  func write(_ picture: SpaceTime, _ console: Console) throws(FileError) {
    let text = picture.written(as: format)
    guard let output else {
      console.out(text.hasSuffix("\n") ? String(text.dropLast()) : text)
      return
    }
    try PictureOptions.write(text, to: output)
    console.out("Wrote \(output): \(picture.title)")
  }

  static func write(_ text: String, to file: String) throws(FileError) {
    do {
      try Data(text.utf8).write(to: URL(fileURLWithPath: file), options: .atomic)
    } catch {
      throw FileError(message: "\(file): cannot be written: \(error.localizedDescription)")
    }
  }
}
