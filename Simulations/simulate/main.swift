import Foundation

exit(Simulate.run(Array(CommandLine.arguments.dropFirst()), console: .standard).rawValue)
