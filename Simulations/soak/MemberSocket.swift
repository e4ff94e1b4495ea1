import Foundation
import SyncProtocols

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// A member gives no answer, or refuses.
struct Silence: Error, CustomStringConvertible {
  var description: String
}

/// One question to a member, over a socket of its own. It has nothing in common with the library
/// that is tried. It speaks HTTP/1.0, so the answer ends with the connection.
final class MemberSocket {
  private let descriptor: Int32
  private var unread: [UInt8] = []
  private var hasEnded = false

  /// Asks. No later read waits longer than so many seconds.
  init(
    _ path: String, _ body: JSONValue, port: UInt16, within seconds: Int
  ) throws(Silence) {
    #if canImport(Glibc)
      let kind = Int32(SOCK_STREAM.rawValue)
    #else
      let kind = SOCK_STREAM
    #endif
    descriptor = socket(AF_INET, kind, 0)
    guard descriptor >= 0 else { throw Silence(description: "there is no socket") }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    var limit = timeval()
    limit.tv_sec = seconds
    let length = socklen_t(MemoryLayout<timeval>.size)
    _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, length)
    _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, length)
    guard connectTo(port) == 0 else { throw Silence(description: "port \(port) is closed") }
    let text = body.description
    try write(
      "POST \(path) HTTP/1.0\r\nContent-Type: application/json\r\n"
        + "Content-Length: \(text.utf8.count)\r\n\r\n\(text)")
  }

  deinit { closeSystem(descriptor) }

  /// Asks a member, and reads the whole answer. Throws what etcd says if it refuses.
  static func ask(
    _ path: String, _ body: JSONValue, port: UInt16, within seconds: Int = 2
  ) throws(Silence) -> JSONValue {
    let socket = try MemberSocket(path, body, port: port, within: seconds)
    var lines: [String] = []
    while let line = try socket.line() { lines.append(line) }
    guard let end = lines.firstIndex(of: ""), lines[0].hasPrefix("HTTP/1."),
      let answer = try? JSONValue(parsing: lines[(end + 1)...].joined(separator: "\n"))
    else { throw Silence(description: "no answer from port \(port)") }
    if let error = answer["error"]?.string { throw Silence(description: error) }
    return answer
  }

  /// The next line, also of the head; `nil`: the answer has ended.
  func line() throws(Silence) -> String? {
    while true {
      if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
        var line = unread[..<end]
        unread.removeFirst(end + 1)
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        return String(decoding: line, as: UTF8.self)
      }
      if hasEnded {
        guard !unread.isEmpty else { return nil }
        defer { unread = [] }
        return String(decoding: unread, as: UTF8.self)
      }
      var bytes = [UInt8](repeating: 0, count: 64 << 10)
      let count = unsafe bytes.withUnsafeMutableBytes {
        unsafe recv(descriptor, $0.baseAddress, $0.count, 0)
      }
      guard count >= 0 else { throw Silence(description: "an answer does not come in time") }
      hasEnded = count == 0
      unread += bytes[..<count]
    }
  }

  private func write(_ text: String) throws(Silence) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = unsafe bytes.withUnsafeBytes {
        unsafe send(descriptor, $0.baseAddress, $0.count, 0)
      }
      guard count > 0 else { throw Silence(description: "a question cannot be sent") }
      bytes.removeFirst(count)
    }
  }

  private func connectTo(_ port: UInt16) -> Int32 {
    unsafe LoopbackPlace(port).use { unsafe connect(descriptor, $0, $1) }
  }

  /// Whether nobody listens there.
  static func isFree(_ port: UInt16) -> Bool {
    #if canImport(Glibc)
      let kind = Int32(SOCK_STREAM.rawValue)
    #else
      let kind = SOCK_STREAM
    #endif
    let descriptor = socket(AF_INET, kind, 0)
    defer { closeSystem(descriptor) }
    return unsafe LoopbackPlace(port).use { unsafe bind(descriptor, $0, $1) } == 0
  }
}

/// A port of this computer, as the system names it.
private struct LoopbackPlace {
  private var place = sockaddr_in()

  init(_ port: UInt16) {
    place.sin_family = sa_family_t(AF_INET)
    place.sin_port = port.bigEndian
    place.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    #if canImport(Darwin)
      place.sin_len = UInt8(MemoryLayout<sockaddr_in>.size)
    #endif
  }

  func use(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    unsafe withUnsafePointer(to: place) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }
}

// Inside the class, its own names hide the system's.
private func closeSystem(_ descriptor: Int32) { _ = close(descriptor) }

extension JSONValue {
  /// A number of 64 bits, which etcd writes as a string, and leaves out if it is 0.
  func number(_ name: String) -> Int64 { self[name]?.string.flatMap { Int64($0) } ?? 0 }

  /// The same without a sign.
  func identifier(_ name: String) -> UInt64 { self[name]?.string.flatMap { UInt64($0) } ?? 0 }

  /// A text, as etcd wants keys and values.
  static func base64(_ text: String) -> JSONValue {
    .string(Data(text.utf8).base64EncodedString())
  }

  /// A key or a value of an answer.
  func bytes(_ name: String) -> [UInt8] {
    self[name]?.string.flatMap { Data(base64Encoded: $0) }.map { Array($0) } ?? []
  }
}
