import Foundation

exit(await Crash.run(Array(CommandLine.arguments.dropFirst())))
