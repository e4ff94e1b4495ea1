// What a page calls of the playground: the simulator's own code, compiled for WebAssembly. The page
// writes a text into `playground_input`, calls a function, and reads `playground_output`.

internal import Simulator
internal import UpdateMachine

@main
struct Entry {
  /// The page calls the functions below instead. As a program it checks the lessons.
  static func main() { checkBreaks() }
}

/// A session, and the rule that is switched off in it.
struct OpenSession {
  private var session: PlaygroundSession
  /// The number of the mutant; 0: none.
  private let mutant: UInt32

  /// `nil`: there is no such mutant. An empty name is none.
  init?(_ played: PlayedProtocol, clients: Int, without mutant: String) {
    guard let number = mutant.isEmpty ? 0 : Zoo.number(of: mutant) else { return nil }
    self.mutant = number
    unsafe Zoo.mutant = number
    session = PlaygroundSession(played, clients: clients)
  }

  /// Lends the session, with its mutant in force. There is one switch for all sessions.
  mutating func use<Answer>(_ body: (inout PlaygroundSession) -> Answer) -> Answer {
    unsafe Zoo.mutant = mutant
    return body(&session)
  }
}

/// The sessions that are open; `nil`: closed.
nonisolated(unsafe) private var sessions: [OpenSession?] = []
/// The search that is on, and the mutant whose harm it looks for.
nonisolated(unsafe) private var search: PlaygroundSearch?
nonisolated(unsafe) private var searched: UInt32 = 0
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

/// Opens a session. The input is the protocol's name and, after a space, that of the mutant that
/// switches a rule off. Returns its number; −1: no such protocol; −2: no such mutant.
@_expose(wasm, "playground_open") @_cdecl("playground_open")
func openSession(_ count: Int32, clients: Int32) -> Int32 {
  let words = text(count).split(separator: " ").map { String($0) }
  guard let name = words.first, let played = PlayedProtocol(rawValue: name) else {
    return -1
  }
  let mutant = words.count > 1 ? words[1] : ""
  guard let session = OpenSession(played, clients: Int(clients), without: mutant) else {
    return -2
  }
  return keep(session)
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
  let why = unsafe sessions[Int(number)]?.use { $0.perform(text(count)) ?? "" } ?? ""
  unsafe output = Array(why.utf8)
}

/// The output is a step that a seed chooses, and that can be done now. The number is how many steps
/// came before it.
@_expose(wasm, "playground_chance") @_cdecl("playground_chance")
func stepByChance(_ number: Int32, seed: Int32, count: Int32) {
  let seed = UInt64(max(0, seed))
  let step = unsafe sessions[Int(number)]?.use { $0.stepByChance(seed: seed, number: Int(count)) }
  unsafe output = Array((step ?? "").utf8)
}

/// The output is a line about a whole session that a seed directs, with a digest of what it shows.
@_expose(wasm, "playground_told") @_cdecl("playground_told")
func tellSeed(_ seed: Int32) {
  unsafe Zoo.mutant = 0
  unsafe output = Array(PlaygroundSession.told(seed: UInt64(max(0, seed))).utf8)
}

/// The output is the state of a session, as JSON.
@_expose(wasm, "playground_state") @_cdecl("playground_state")
func stateOfSession(_ number: Int32) {
  unsafe output = Array((sessions[Int(number)]?.use { $0.state } ?? "{}").utf8)
}

/// The output is what has happened in a session, as a diagram: the last moments, as SVG.
@_expose(wasm, "playground_picture") @_cdecl("playground_picture")
func pictureOfSession(_ number: Int32, _ count: Int32) {
  let picture =
    unsafe sessions[Int(number)]?.use { session in
      session.picture(text(count)).latest(300).svg
    } ?? ""
  unsafe output = Array(picture.utf8)
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
  let found = unsafe sessions[Int(number)]?.use { $0.objection(to: text(count)) ?? "" } ?? ""
  unsafe output = Array(found.utf8)
}

/// Begins a search for harm. The input is the protocol's name and, after a space, that of the
/// mutant that switches the rule off.
@_expose(wasm, "playground_search") @_cdecl("playground_search")
func beginSearch(_ count: Int32, clients: Int32) {
  let words = text(count).split(separator: " ").map { String($0) }
  guard words.count == 2, let played = PlayedProtocol(rawValue: words[0]),
    let mutant = Zoo.number(of: words[1])
  else { return }
  unsafe searched = mutant
  unsafe search = PlaygroundSearch(played, clients: Int(clients)) { turn($0) }
}

/// Goes on with the search. The output says how far it is, as JSON.
@_expose(wasm, "playground_search_on") @_cdecl("playground_search_on")
func goOnSearching(_ count: Int32) {
  unsafe search?.advance(Int(count)) { turn($0) }
  unsafe output = Array((search?.json ?? "{}").utf8)
}

private func turn(_ isOff: Bool) { unsafe Zoo.mutant = isOff ? searched : 0 }

private func keep(_ session: OpenSession) -> Int32 {
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
