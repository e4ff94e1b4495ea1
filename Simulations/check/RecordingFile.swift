import Foundation
import Synchronization

/// A file of recordings cannot be used. The message names the file, the place in it, and what was
/// expected.
package struct RecordingError: Error {
  package let message: String
}

/// A text file's lines with their numbers from 1, without empty ones.
func numberedLines(of path: String) throws(RecordingError) -> [(number: Int, line: Data)] {
  guard let data = FileManager.default.contents(atPath: path) else {
    throw RecordingError(message: "\(path): cannot be read. Does it exist?")
  }
  // An array of bytes is split ten times faster than `Data`.
  return [UInt8](data).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    .enumerated().filter { !$0.element.isEmpty }.map { ($0.offset + 1, Data($0.element)) }
}

/// Returns what a function makes of the numbers below a count, in their order. It is called on all
/// processors.
func inParallel<Value: Sendable>(
  _ count: Int, _ body: @Sendable (Int) -> Value
) -> [Value] {
  let perPart = 16
  let parts = (count + perPart - 1) / perPart
  let values = Mutex<[[Value]]>(Array(repeating: [], count: parts))
  DispatchQueue.concurrentPerform(iterations: parts) { part in
    let first = part * perPart
    let own = (first..<min(first + perPart, count)).map { body($0) }
    values.withLock { $0[part] = own }
  }
  return values.withLock { $0.flatMap { $0 } }
}

/// The explanation in a decoding error, without the technical details around it.
func reason(_ error: any Error) -> String {
  guard let error = error as? DecodingError else { return "\(error)" }
  func place(_ path: [any CodingKey]) -> String {
    path.isEmpty ? "" : path.map(\.stringValue).joined(separator: ".") + ": "
  }
  switch error {
  case .typeMismatch(let type, let context): return place(context.codingPath) + "expected \(type)"
  case .valueNotFound(let type, let context):
    return place(context.codingPath) + "expected \(type), found null"
  case .keyNotFound(let key, let context):
    return place(context.codingPath) + "expected a field \"\(key.stringValue)\""
  case .dataCorrupted(let context): return place(context.codingPath) + context.debugDescription
  @unknown default: return "\(error)"
  }
}
