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
    _ = try NarrowText(options.narrow)
    let connection = try connect(credentials)
    let file = try await SQLiteFile.open(at: try place(options, credentials))
    let follower = try await Follower(options, connection, file)
    let interrupts = watchInterrupts(follower)
    defer { interrupts.cancel() }
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

private func connect(_ credentials: Credentials) throws(Misuse) -> ZulipConnection {
  do throws(ZulipConnectionError) {
    return try ZulipConnection(
      to: ZulipSite(credentials.site), email: credentials.email, key: ZulipAPIKey(credentials.key))
  } catch {
    switch error {
    case .malformedSite: throw Misuse("'\(credentials.site)' is no site: https://chat.example.org")
    case .insecureSite:
      throw Misuse(
        "'\(credentials.site)' is not encrypted, and anybody could read the key: https://…")
    case .proxiedSite:
      throw Misuse("a proxy would see the key: name '\(credentials.site)' in no_proxy")
    case .malformedEmail: throw Misuse("'\(credentials.email)' is no e-mail address")
    case .malformedKey: throw Misuse("the key has characters in it that no key has")
    }
  }
}

/// Where the account is kept; its folder is made, and is its owner's alone.
private func place(_ options: Options, _ credentials: Credentials) throws -> String {
  if let state = options.state { return NSString(string: state).expandingTildeInPath }
  let folder = NSString(string: "~/.local/state/follow").expandingTildeInPath
  try FileManager.default.createDirectory(
    atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  let name = "\(credentials.email) \(credentials.site)".map {
    $0.isLetter || $0.isNumber || "@.-".contains($0) ? $0 : "_"
  }
  return "\(folder)/\(String(name)).db"
}

/// The first Ctrl-C ends in order, a second at once.
private func watchInterrupts(_ follower: Follower) -> any DispatchSourceSignal {
  signal(SIGINT, SIG_IGN)
  let source = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
  source.setEventHandler {
    signal(SIGINT, SIG_DFL)
    Task { await follower.interrupt() }
  }
  source.resume()
  return source
}
