import Simulator
import Testing

@Suite struct CourseSimulationTests {
  // Article example begins: course test
  @Test func `every device shows the truth`() async {
    let runs = await Simulation<ToDoApp>.run(seeds: 1...200, clients: 2, shrinking: 1000)
    if let failure = runs.failure { Issue.record("\(failure)") }
  }
  // Article example ends
}
