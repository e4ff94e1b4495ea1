import Foundation
import Simulator

/// What else to do with a failure after it is printed: `--curve`, `--save FILE`, `--picture FILE`.
struct FailureOptions {
  var hasCurve = false
  /// The file for its scenario, which does not exist yet.
  var file: String?
  /// The file for its picture, and the picture's format.
  var picture: (file: String, format: PictureFormat)?

  static let names = ["--save", "--picture"]

  var isAsked: Bool { hasCurve || file != nil || picture != nil }

  init() {}

  init(_ arguments: Arguments) throws(UsageError) {
    hasCurve = arguments.has("--curve")
    file = arguments.values["--save"]
    if let file, FileManager.default.fileExists(atPath: file) {
      throw UsageError(message: "\(file) exists already. --save FILE writes a new file")
    }
    if let file = arguments.values["--picture"] {
      picture = (file, try PictureOptions.format(ofFile: file))
      try PictureOptions.requireFolder(of: file)
    }
  }

  /// Does what was requested with the run of a token; `nil`: no run failed, or none can be
  /// repeated.
  func tell(_ token: RunToken?, _ console: Console) throws(FileError) {
    guard let token else {
      if isAsked {
        console.out("No run failed that can be repeated: nothing to save, to draw or to measure.")
      }
      return
    }
    if hasCurve { tellCurve(of: token, console) }
    if let file { try save(token, to: file, console) }
    if let picture { try draw(token, picture.format, to: picture.file, console) }
  }

  private func draw(
    _ token: RunToken, _ format: PictureFormat, to file: String, _ console: Console
  ) throws(FileError) {
    let told = Simulate.Told(token: token)
    try PictureOptions.write(told.picture().written(as: format), to: file)
    console.out("Wrote \(file), a picture of the run.")
  }

  private struct Curve: AppVisitor {
    let token: RunToken
    let goesOn: (ProbabilityCurve) -> Bool

    func visit<App: SimulatedApp>(_ app: App.Type) -> (
      curve: ProbabilityCurve, trace: Trace, oracle: Oracle
    )? { Simulation<App>.curve(of: token, while: goesOn) }
  }

  private func tellCurve(of token: RunToken, _ console: Console) {
    let progress = Progress(console)
    let goesOn: (ProbabilityCurve) -> Bool = { curve in
      progress.show("measuring the curve: \(curve.runs) runs")
      return !Interrupt.wasAsked
    }
    let told = EveryWorld.visited(
      token.configuration.world, by: Curve(token: token, goesOn: goesOn))
    console.progress(nil)
    guard let told else { return console.out("The run does not fail: there is no curve.") }
    console.out("\n" + told.curve.lines(told.trace, oracle: told.oracle).joined(separator: "\n"))
  }

  private func save(
    _ token: RunToken, to file: String, _ console: Console
  ) throws(FileError) {
    let (result, trace) = EveryWorld.traceReplay(token)
    guard let story = Story(result, trace), let client = story.finding.client,
      let transcript = Transcript(of: client, trace)
    else { return console.out("\(file) is not written: the failure concerns no single client") }
    let comment = story.head + ["", "simulate replay \(token.text)", ""]
    let text: String
    do throws(ScenarioError) {
      text = try transcript.scenario(comment)
    } catch {
      throw FileError(message: "\(file): not written: \(error)")
    }
    do {
      try Data(text.utf8).write(to: URL(fileURLWithPath: file), options: .withoutOverwriting)
    } catch {
      throw FileError(message: "\(file): cannot be written: \(error.localizedDescription)")
    }
    console.out(
      "Saved \(file): incarnation \(transcript.incarnation) of client \(client). Play it:")
    console.out("  swift run -c release simulate scenario \(file)")
  }
}
