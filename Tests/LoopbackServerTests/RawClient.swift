import Dispatch
import Testing

@testable import LoopbackServer

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A client that sends exactly the bytes it is told to, and shows exactly those that come. It
/// blocks a queue of its own, and gives up after some seconds.
final class RawClient: Sendable {
  enum Ending: Equatable {
    /// The server closed the connection in an orderly way.
    case ended
    case reset
    /// Nothing came while the client waited.
    case silent
  }

  private let socket: Int32
  private let queue = DispatchQueue(label: "RawClient")
  private let isOpen = Locked(true)

  /// Returns once the kernel has made the connection, whether or not the server has accepted it.
  ///
  /// - Parameter host: the server's address; 127.0.0.1 by default.
  init(port: UInt16, host: UInt32 = 0x7F00_0001) async throws {
    #if canImport(Glibc)
      let kind = Int32(SOCK_STREAM.rawValue)
    #else
      let kind = SOCK_STREAM
    #endif
    let descriptor = Self.make(kind)
    let code = await Self.block(on: queue) { Self.connect(descriptor, host, port) }
    guard code == 0 else {
      Socket.close(descriptor)
      throw LoopbackServerError.failed(reason: "not connected")
    }
    socket = descriptor
  }

  deinit { close() }

  /// - Returns: whether all bytes were taken.
  @discardableResult
  func send(_ text: String) async -> Bool {
    await Self.block(on: queue) { [socket] in
      var rest = Array(text.utf8)[...]
      while !rest.isEmpty {
        guard Self.wait(for: socket, Int16(POLLOUT), milliseconds: 10_000) else { return false }
        switch Socket.write(rest, to: socket) {
        case .count(let count): rest = rest.dropFirst(count)
        case .wouldBlock: continue
        case .ended, .failed: return false
        }
      }
      return true
    }
  }

  /// Reads until a word has come, or nothing more comes.
  func read(
    until word: String? = nil, milliseconds: Int32 = 20_000
  ) async -> (text: String, ending: Ending?) {
    await Self.block(on: queue) { [socket] in
      var bytes: [UInt8] = []
      var part = [UInt8](repeating: 0, count: 4096)
      while !(word.map { String(decoding: bytes, as: UTF8.self).contains($0) } ?? false) {
        guard Self.wait(for: socket, Int16(POLLIN), milliseconds: milliseconds) else {
          return (String(decoding: bytes, as: UTF8.self), .silent)
        }
        switch Socket.read(socket, into: &part) {
        case .count(let count): bytes += part[..<count]
        case .wouldBlock: continue
        case .ended: return (String(decoding: bytes, as: UTF8.self), .ended)
        case .failed: return (String(decoding: bytes, as: UTF8.self), .reset)
        }
      }
      return (String(decoding: bytes, as: UTF8.self), nil)
    }
  }

  /// Sends a request for a path and reads the answer up to a word.
  func ask(_ path: String, until word: String) async -> String {
    await send("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n")
    return await read(until: word).text
  }

  func close() {
    let wasOpen = isOpen.withLock { isOpen in
      defer { isOpen = false }
      return isOpen
    }
    if wasOpen { Socket.close(socket) }
  }

  /// Breaks the connection with an RST.
  func reset() {
    let wasOpen = isOpen.withLock { isOpen in
      defer { isOpen = false }
      return isOpen
    }
    if wasOpen { Socket.reset(socket) }
  }

  // MARK: Helpers

  private static func block<Result: Sendable>(
    on queue: DispatchQueue, _ body: @escaping @Sendable () -> Result
  ) async -> Result {
    await withCheckedContinuation { continuation in
      queue.async { continuation.resume(returning: body()) }
    }
  }

  private static func wait(for socket: Int32, _ events: Int16, milliseconds: Int32) -> Bool {
    var polled = pollfd(fd: socket, events: events, revents: 0)
    return unsafe poll(&polled, 1, milliseconds) > 0
  }

  private static func make(_ kind: Int32) -> Int32 {
    #if canImport(Darwin)
      let socket = Darwin.socket(AF_INET, kind, 0)
      var yes: Int32 = 1
      unsafe setsockopt(socket, SOL_SOCKET, SO_NOSIGPIPE, &yes, socklen_t(MemoryLayout<Int32>.size))
      return socket
    #elseif canImport(Glibc)
      Glibc.socket(AF_INET, kind, 0)
    #else
      Musl.socket(AF_INET, kind, 0)
    #endif
  }

  private static func connect(_ socket: Int32, _ host: UInt32, _ port: UInt16) -> Int32 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = host.bigEndian
    return unsafe withUnsafePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { place in
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        #if canImport(Darwin)
          return unsafe Darwin.connect(socket, place, length)
        #elseif canImport(Glibc)
          return unsafe Glibc.connect(socket, place, length)
        #else
          return unsafe Musl.connect(socket, place, length)
        #endif
      }
    }
  }
}

/// Returns once the waiting task is cancelled.
func untilCancelled() async {
  let (stream, continuation) = AsyncStream<Void>.makeStream()
  for await _ in stream {}
  withExtendedLifetime(continuation) {}
}

/// A gate that lets all who wait through at once.
actor Gate {
  private var isOpen = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  func pass() async {
    if !isOpen { await withCheckedContinuation { waiting.append($0) } }
  }

  func open() {
    isOpen = true
    for continuation in waiting { continuation.resume() }
    waiting = []
  }
}

extension LoopbackServer {
  /// Waits until the counters satisfy a condition. Call it outside of `#expect`, because Swift
  /// 6.3.1 confuses the closures of two of its expansions in one function.
  @discardableResult
  func reaches(
    at place: SourceLocation = #_sourceLocation,
    _ isRight: @escaping @Sendable (Counters) -> Bool
  ) async -> Counters {
    let counters = await counters(within: .seconds(30), until: isRight)
    if !isRight(counters) { Issue.record("\(counters)", sourceLocation: place) }
    return counters
  }
}
