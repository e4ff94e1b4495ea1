/// What `check` found, with one line for each file.
package struct CheckTable {
  private let width: Int

  /// - Parameter names: the names in the first column.
  package init(names: [String]) {
    width = (names + ["all files"]).map(\.count).max() ?? 0
  }

  package var head: String {
    row("file", ["answers", "polls", "agreed", "departures", "differences"])
  }

  package func row(_ name: String, _ report: Check.FileReport) -> String {
    let findings = report.findings
    let counts = [
      report.answerCount, report.polls, findings.pollsAgreed, findings.departureCount,
      findings.differences.count,
    ]
    return row(name, counts.map(String.init))
  }

  private func row(_ name: String, _ values: [String]) -> String {
    let columns = values.map { String(repeating: " ", count: max(2, 13 - $0.count)) + $0 }
    return name + String(repeating: " ", count: max(0, width - name.count)) + columns.joined()
  }
}

extension Check {
  /// One line that says what else was compared.
  package func totals(seconds: Double) -> String {
    "Also compared: \(total.messages.orders) orders of pages and events, and "
      + "\(total.state.compared) states of an account. Seconds: \(seconds)"
  }
}
