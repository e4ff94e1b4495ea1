// follow: a Zulip account in the terminal.

import Foundation
import SQLiteStore
import UpdateMachine
import ZulipSync

exit(await follow(Array(CommandLine.arguments.dropFirst())))

/// Returns the exit code.
func follow(_ words: [String]) async -> Int32 {
  do {
    let options = try Options(words)
    if options.wantsHelp {
      print(Options.help)
      return 0
    }
    let credentials = try Credentials(options, ProcessInfo.processInfo.environment)
    try NarrowText(options.narrow).check(for: options.command)
    let connection = try credentials.connect()
    let name = AccountName(site: credentials.site.text, email: credentials.email)
    let file = try await SQLiteFile.open(at: try place(options, name))
    let follower = try await Follower(options, name, connection, file)
    let interrupts = [
      watch(SIGINT, exitCode: 130, follower),
      watch(SIGTERM, exitCode: 143, follower),
    ]
    defer { for interrupt in interrupts { interrupt.cancel() } }
    return await follower.run()
  } catch let error as Misuse {
    complain("\(error.words)\nType: swift run follow --help")
    return 2
  } catch {
    complain("\(error)")
    return 1
  }
}

private func complain(_ words: String) {
  FileHandle.standardError.write(Data("follow: \(words)\n".utf8))
}

/// Returns the path of the account's file. Its default folder is created, accessible only to its
/// owner.
private func place(_ options: Options, _ account: AccountName) throws -> String {
  if let state = options.state { return NSString(string: state).expandingTildeInPath }
  let folder = StateFolder.path(ProcessInfo.processInfo.environment)
  try FileManager.default.createDirectory(
    atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  return "\(folder)/\(account.fileName).db"
}

/// Ends in order at the first signal of a kind, and at once at the second.
private func watch(
  _ signal: Int32, exitCode: Int32, _ follower: Follower
) -> any DispatchSourceSignal {
  Foundation.signal(signal, SIG_IGN)
  let source = DispatchSource.makeSignalSource(signal: signal, queue: .global())
  source.setEventHandler {
    Foundation.signal(signal, SIG_DFL)
    Task { await follower.interrupt(code: exitCode) }
  }
  source.resume()
  return source
}
