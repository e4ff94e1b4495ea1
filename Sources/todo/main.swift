// todo: a shared to-do list in the terminal.

import EtcdSync
import Foundation
import SQLiteStore

exit(await todo(Array(CommandLine.arguments.dropFirst())))

/// Returns the exit code.
func todo(_ words: [String]) async -> Int32 {
  do {
    let options = try Options(words)
    if options.wantsHelp {
      print(Options.help)
      return 0
    }
    let environment = ProcessInfo.processInfo.environment
    let connection = try options.connect(environment)
    let file = try await SQLiteFile.open(at: try place(options, environment))
    let todo = try Todo(options, connection, file)
    let interrupts = [watch(SIGINT, exitCode: 130, todo), watch(SIGTERM, exitCode: 143, todo)]
    defer { for interrupt in interrupts { interrupt.cancel() } }
    return await todo.run()
  } catch let error as Misuse {
    Output().complain("\(error.words). Type: swift run todo --help")
    return 2
  } catch SQLiteFileError.inUse(let path) {
    Output().complain(
      "\(path) is in use by another todo. End that one, or give this one its own: --state FILE")
    return 1
  } catch {
    Output().complain("\(error)")
    return 1
  }
}

/// Returns the path of the list's file. Its default folder is created, accessible only to its
/// owner.
private func place(_ options: Options, _ environment: [String: String]) throws -> String {
  if let state = options.state { return NSString(string: state).expandingTildeInPath }
  let folder = StateFolder.path(environment)
  try FileManager.default.createDirectory(
    atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  return "\(folder)/\(options.list).db"
}

/// Ends in order at the first signal of a kind, and at once at the second.
private func watch(
  _ signal: Int32, exitCode: Int32, _ todo: Todo
) -> any DispatchSourceSignal {
  Foundation.signal(signal, SIG_IGN)
  let source = DispatchSource.makeSignalSource(signal: signal, queue: .global())
  source.setEventHandler {
    Foundation.signal(signal, SIG_DFL)
    Task { await todo.interrupt(code: exitCode) }
  }
  source.resume()
  return source
}
