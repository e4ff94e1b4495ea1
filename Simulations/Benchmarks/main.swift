// Measures times and counts. Each baseline is measured in the same run as our figure.
// swift run -c release Benchmarks [--smoke] [--write] [GROUP…]

import Foundation

if options.isSmoke {
  let kept = KeptFigures(
    text: (try? String(contentsOf: Options.file("Limits.txt"), encoding: .utf8)) ?? "")
  if options.writes {
    try await rewrite(kept)
  } else {
    let complaints = try await compare(kept)
    for complaint in complaints { print("FAILED: \(complaint)") }
    if !complaints.isEmpty { exit(1) }
  }
} else {
  try await measureAll()
}
