import Foundation

exit(await Soak.run(Array(CommandLine.arguments.dropFirst())))
