// What a page calls of the playground: the simulator's own code, compiled for WebAssembly. The page
// writes a text into `playground_input`, calls a function, and reads `playground_output`.

internal import Simulator

@main
struct Entry {
  /// The page calls the functions below instead.
  static func main() {}
}

/// The sessions that are open; `nil`: closed.
nonisolated(unsafe) private var sessions: [PlaygroundSession?] = []
nonisolated(unsafe) private var input = UnsafeMutablePointer<UInt8>.allocate(capacity: 1)
nonisolated(unsafe) private var output: [UInt8] = []
nonisolated(unsafe) private var outputCopy = UnsafeMutablePointer<UInt8>.allocate(capacity: 1)

/// Returns room for so many bytes of input.
@_expose(wasm, "playground_input") @_cdecl("playground_input")
func roomForInput(_ count: Int32) -> UnsafeMutablePointer<UInt8> {
  unsafe input.deallocate()
  unsafe input = UnsafeMutablePointer<UInt8>.allocate(capacity: max(1, Int(count)))
  return unsafe input
}

/// The number of bytes of the last answer.
@_expose(wasm, "playground_output_size") @_cdecl("playground_output_size")
func sizeOfOutput() -> Int32 { unsafe Int32(output.count) }

/// The bytes of the last answer, until the next call.
@_expose(wasm, "playground_output") @_cdecl("playground_output")
func bytesOfOutput() -> UnsafeMutablePointer<UInt8> {
  unsafe outputCopy.deallocate()
  unsafe outputCopy = UnsafeMutablePointer<UInt8>.allocate(capacity: max(1, output.count))
  for index in unsafe output.indices { unsafe outputCopy[index] = output[index] }
  return unsafe outputCopy
}

/// Opens a session. The input is the protocol's name. Returns its number; −1: no such protocol.
@_expose(wasm, "playground_open") @_cdecl("playground_open")
func openSession(_ count: Int32, clients: Int32) -> Int32 {
  guard let played = PlayedProtocol(rawValue: text(count)) else { return -1 }
  return keep(PlaygroundSession(played, clients: Int(clients)))
}

/// Opens a session that goes on from where another one is. Returns its number.
@_expose(wasm, "playground_fork") @_cdecl("playground_fork")
func forkSession(_ number: Int32) -> Int32 {
  guard let session = unsafe sessions[Int(number)] else { return -1 }
  return keep(session)
}

@_expose(wasm, "playground_close") @_cdecl("playground_close")
func closeSession(_ number: Int32) { unsafe sessions[Int(number)] = nil }

/// Does the step that the input tells. The output says why it cannot be done; empty: it is done.
@_expose(wasm, "playground_perform") @_cdecl("playground_perform")
func performStep(_ number: Int32, _ count: Int32) {
  let why = unsafe sessions[Int(number)]?.perform(text(count)) ?? ""
  unsafe output = Array(why.utf8)
}

/// The output is the state of a session, as JSON.
@_expose(wasm, "playground_state") @_cdecl("playground_state")
func stateOfSession(_ number: Int32) {
  unsafe output = Array((sessions[Int(number)]?.state ?? "{}").utf8)
}

/// Reads the lessons in the input. The output is a list of them, as JSON, or says what is wrong.
@_expose(wasm, "playground_lessons") @_cdecl("playground_lessons")
func readLessons(_ count: Int32) {
  do throws(PlaygroundLesson.Mistake) {
    unsafe output = Array(PlaygroundLesson.json(try PlaygroundLesson.lessons(in: text(count))).utf8)
  } catch {
    unsafe output = Array("\(error)".utf8)
  }
}

/// Looks for what the input says is to be seen. The output says what is there instead; empty: it
/// is there.
@_expose(wasm, "playground_see") @_cdecl("playground_see")
func see(_ number: Int32, _ count: Int32) {
  let found = unsafe sessions[Int(number)]?.objection(to: text(count)) ?? ""
  unsafe output = Array(found.utf8)
}

private func keep(_ session: PlaygroundSession) -> Int32 {
  if let free = unsafe sessions.firstIndex(where: { $0 == nil }) {
    unsafe sessions[free] = session
    return Int32(free)
  }
  unsafe sessions.append(session)
  return unsafe Int32(sessions.count - 1)
}

private func text(_ count: Int32) -> String {
  unsafe String(decoding: UnsafeBufferPointer(start: input, count: Int(count)), as: UTF8.self)
}
