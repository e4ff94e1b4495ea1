// Checks that each break of the lessons shows the harm that it tells of, and that the rule prevents
// it. It runs under WASI, and is no part of the page.

internal import Simulator

/// A byte of standard input; negative: there is none left.
@_extern(c, "getchar")
private func nextByte() -> Int32

/// Reads lessons from standard input, and plays their breaks. The last line that it prints begins
/// with "all" if nothing is wrong.
func checkBreaks() {
  var bytes: [UInt8] = []
  while true {
    let byte = nextByte()
    if byte < 0 { break }
    bytes.append(UInt8(truncatingIfNeeded: byte))
  }
  let lessons: [PlaygroundLesson]
  do throws(PlaygroundLesson.Mistake) {
    lessons = try PlaygroundLesson.lessons(in: String(decoding: bytes, as: UTF8.self))
  } catch {
    print("lessons.txt, \(error)")
    return
  }
  var count = 0
  var isWhole = true
  for lesson in lessons {
    for broken in lesson.breaks {
      count += 1
      let complaints = broken.complaints()
      for complaint in complaints { print("\(lesson.title), \(broken.mutant): \(complaint)") }
      if !complaints.isEmpty { isWhole = false }
    }
  }
  print(isWhole && count > 0 ? "all \(count) breaks show their harm" : "\(count) breaks played")
}

extension PlaygroundLesson.Break {
  /// What is wrong with it.
  fileprivate func complaints() -> [String] {
    guard var broken = OpenSession(played, clients: clients, without: mutant),
      var right = OpenSession(played, clients: clients, without: "")
    else { return ["there is no such mutant"] }
    var complaints: [String] = []
    // Whether something is to be seen without the rule that is not to be seen with it.
    var isHarm = false
    for act in acts {
      switch act {
      case .step(let step):
        for found in [broken.use { $0.perform(step) }, right.use { $0.perform(step) }] {
          if let found { complaints.append("\(step) cannot be done: \(found)") }
        }
      case .sight(let sight):
        if let found = broken.use({ $0.objection(to: sight) }) {
          complaints.append("without the rule, \(sight), but: \(found)")
        } else if right.use({ $0.objection(to: sight) }) != nil {
          isHarm = true
        }
      case .rightSight(let sight):
        if let found = right.use({ $0.objection(to: sight) }) {
          complaints.append("with the rule, \(sight), but: \(found)")
        }
      }
    }
    if !isHarm { complaints.append("the same is to be seen with the rule and without it") }
    return complaints
  }
}
