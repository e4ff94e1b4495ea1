import Foundation
var conformance = Conformance()
for (n, line) in try String(contentsOfFile: CommandLine.arguments[1], encoding: .utf8).split(separator: "\n").enumerated() {
  conformance.add(try JSONDecoder().decode(Conversation.self, from: Data(line.utf8)), at: "line \(n+1)")
  if let d = conformance.firstDifference { print(d); conformance.firstDifference = nil }
}
print(conformance.conversations, conformance.agreeing, conformance.steps, conformance.agreeingSteps)
