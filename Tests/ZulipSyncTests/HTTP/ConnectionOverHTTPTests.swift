import Foundation
import Testing

@testable import ZulipSync

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("A connection before its first request")
struct ConnectionOverHTTPTests {
  @Test(arguments: [
    ("https://chat.example.org", "https://chat.example.org"),
    ("https://chat.example.org/", "https://chat.example.org"),
    ("HTTPS://Chat.Example.org:8443", "https://chat.example.org:8443"),
    (" https://chat.example.org ", "https://chat.example.org"),
    ("https://[2001:db8::1]:9991", "https://[2001:db8::1]:9991"),
    ("http://127.0.0.1:9991", "http://127.0.0.1:9991"),
    ("http://localhost", "http://localhost"),
    ("http://[::1]:80/", "http://[::1]:80"),
  ])
  func `a site is a scheme, a host and a port`(text: String, site: String) throws {
    #expect(try ZulipSite(text).text == site)
  }

  @Test(arguments: [
    "", "chat.example.org", "ftp://chat.example.org", "https://", "https:///path",
    "https://chat.example.org/api", "https://chat.example.org?x=1", "https://chat.example.org#a",
    "https://ada:secret@chat.example.org", "https://ada@chat.example.org", "https://a b.org",
    "https://evil.org%2e.example.org", "https://evil.org\\@chat.example.org",
    "https://chat.example.org:0", "https://chat.example.org:70000", "https://chät.example.org",
    "file:///etc/passwd", "https://a\r\nX: y",
  ])
  func `a text with more than a valid scheme, host and port is not a site`(text: String) {
    #expect(throws: ZulipConnectionError.malformedSite) { try ZulipSite(text) }
  }

  @Test(arguments: [
    "http://chat.example.org", "http://127.0.0.2", "http://localhost.example.org",
    "http://127.0.0.1.example.org", "http://0.0.0.0", "http://[::2]", "http://192.168.0.1",
  ])
  func `a site without encryption is refused unless it is this computer`(text: String) {
    #expect(throws: ZulipConnectionError.insecureSite) { try ZulipSite(text) }
  }

  @Test func `an e-mail or key with invalid characters is refused`() throws {
    let site = try ZulipSite("https://chat.example.org")
    let key = try ZulipAPIKey("k")
    for email in ["", "a:b@example.org", "a\n@example.org", "a b"] {
      #expect(throws: ZulipConnectionError.malformedEmail) {
        try ZulipConnection(to: site, email: email, key: key)
      }
    }
    for key in ["", "a b", "a\nb", "ключ"] {
      #expect(throws: ZulipConnectionError.malformedKey) { try ZulipAPIKey(key) }
    }
  }

  #if canImport(FoundationNetworking)
    @Test func `a proxy for requests to this computer is refused`() {
      func isProxied(_ environment: [String: String]) -> Bool {
        ZulipConnection.isProxied("127.0.0.1", environment)
      }
      #expect(!isProxied([:]))
      #expect(!isProxied(["https_proxy": "http://proxy"]))
      #expect(!isProxied(["http_proxy": ""]))
      #expect(isProxied(["http_proxy": "http://proxy"]))
      #expect(isProxied(["all_proxy": "http://proxy", "no_proxy": "example.org"]))
      #expect(!isProxied(["http_proxy": "http://proxy", "no_proxy": "localhost,127.0.0.1"]))
      #expect(!isProxied(["ALL_PROXY": "http://proxy", "NO_PROXY": "*"]))
      #expect(!isProxied(["http_proxy": "http://proxy", "no_proxy": "", "NO_PROXY": "*"]))
    }

    @Test(arguments: [
      ("a,*", "127.0.0.1", true), (" *", "127.0.0.1", true), ("*", "localhost", false),
      ("a 127.0.0.1", "127.0.0.1", false), ("LocalHost", "localhost", false),
      ("a,.localhost", "localhost", false), (".local", "localhost", true),
      ("host", "localhost", true), ("xlocalhost", "localhost", true),
      (".127.0.0.1", "127.0.0.1", true), ("0.0.1", "127.0.0.1", true),
      ("127.0.0.1,b", "localhost", true), ("localhost", "127.0.0.1", true),
    ])
    func `a no_proxy entry counts only where every libcurl honours it`(
      hosts: String, host: String, isProxied: Bool
    ) {
      let environment = ["http_proxy": "http://proxy", "no_proxy": hosts]
      #expect(ZulipConnection.isProxied(host, environment) == isProxied)
    }
  #endif

  @Test(arguments: [ZulipConnection.Method.get, .post, .patch, .delete])
  func `only the connection's own deadline ends a request`(
    method: ZulipConnection.Method
  ) throws {
    let connection = try ZulipConnection(
      to: try ZulipSite("https://chat.example.org"), email: Ada.email, key: ZulipAPIKey(Ada.key))
    var form = ZulipForm()
    form.add("a", true)
    #expect(connection.request(method, "x", form).timeoutInterval >= 7200)
  }

  @Test func `no description or dump shows the key`() throws {
    let key = try ZulipAPIKey(Ada.key)
    let connection = try ZulipConnection(
      to: try ZulipSite("https://chat.example.org"), email: Ada.email, key: key)
    let source = ZulipSource(connection)
    struct Holder {
      var key: ZulipAPIKey?
      var list: [ZulipAPIKey]
    }
    let holder = Holder(key: key, list: [key])
    let header = Data("\(Ada.email):\(Ada.key)".utf8).base64EncodedString()
    for value in [key, connection, source, holder, [key], [1: connection]] as [Any] {
      var dumped = ""
      dump(value, to: &dumped)
      for text in ["\(value)", String(describing: value), String(reflecting: value), dumped] {
        #expect(!text.contains(Ada.key) && !text.contains(header), "\(type(of: value))")
      }
      var shown: [Any] = [value]
      while let next = shown.popLast() {
        #expect(!"\(next)".contains(Ada.key))
        shown += Mirror(reflecting: next).children.map(\.value)
      }
    }
    #expect(!((key as Any) is any Encodable))
    #expect(!((key as Any) is any Hashable))
    #expect(try key == ZulipAPIKey(Ada.key))
    #expect("\(connection)" == "a connection to https://chat.example.org")
  }
}
