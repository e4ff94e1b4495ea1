import Foundation
import ZulipSync

/// The site, user and key of an account.
struct Credentials {
  var site: ZulipSite
  var email: String
  var key: String

  /// Reads the options, the environment and the file. A key from the file goes only to the file's
  /// site. There it comes before the environment's key, since the file was named explicitly.
  init(_ options: Options, _ environment: [String: String]) throws(Misuse) {
    var file: [String: String] = [:]
    if let path = options.zuliprc { file = try Credentials.read(path) }
    guard let site = options.site ?? file["site"] else {
      throw Misuse("no server given: use --site https://…, or --zuliprc FILE")
    }
    guard let email = options.email ?? file["email"] else {
      throw Misuse("no user given: use --email ADDRESS, or --zuliprc FILE")
    }
    self.site = try Credentials.site(site)
    self.email = email
    if let key = file["key"], let its = file["site"], try Credentials.site(its) == self.site {
      self.key = key
    } else if let key = environment["ZULIP_API_KEY"], !key.isEmpty {
      self.key = key
    } else {
      throw Misuse(
        file["key"] == nil
          ? "no key given: set ZULIP_API_KEY, or use --zuliprc FILE"
          : "the key in the file is for \(file["site"] ?? "no site"), and is sent nowhere else")
    }
  }

  private static func site(_ text: String) throws(Misuse) -> ZulipSite {
    do throws(ZulipConnectionError) {
      return try ZulipSite(text)
    } catch {
      throw Misuse(
        error == .insecureSite
          ? "'\(text)' is not encrypted, and others could read the key: use https://…"
          : "'\(text)' is not a server's address, such as https://chat.example.org")
    }
  }

  func connect() throws(Misuse) -> ZulipConnection {
    do throws(ZulipConnectionError) {
      return try ZulipConnection(to: site, email: email, key: ZulipAPIKey(key))
    } catch {
      switch error {
      case .proxiedSite:
        throw Misuse(
          "a proxy would see the key: add this computer (127.0.0.1, or localhost) to no_proxy")
      case .malformedKey: throw Misuse("the key contains invalid characters")
      case .malformedEmail: throw Misuse("'\(email)' is not an e-mail address")
      case .malformedSite, .insecureSite: throw Misuse("'\(site)' is not a server's address")
      }
    }
  }

  /// Reads the `key=value` lines of the section `[api]`; of the whole file if it has no sections.
  static func read(_ path: String) throws(Misuse) -> [String: String] {
    let path = NSString(string: path).expandingTildeInPath
    guard let bytes = FileManager.default.contents(atPath: path) else {
      throw Misuse("'\(path)' cannot be read")
    }
    var values: [String: String] = [:]
    var section = "api"
    for line in String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline) {
      let line = line.trimmingCharacters(in: .whitespaces)
      if line.hasPrefix("["), line.hasSuffix("]") { section = String(line.dropFirst().dropLast()) }
      guard section == "api", !line.hasPrefix("#"), !line.hasPrefix(";"),
        let sign = line.firstIndex(of: "=")
      else { continue }
      let name = line[..<sign].trimmingCharacters(in: .whitespaces)
      values[name] = line[line.index(after: sign)...].trimmingCharacters(in: .whitespaces)
    }
    guard values["key"] != nil || values["site"] != nil else {
      throw Misuse("'\(path)' has neither a site nor a key in it")
    }
    return values
  }
}
