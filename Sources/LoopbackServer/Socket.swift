#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// The system calls on sockets. None of them blocks, and a broken socket never raises SIGPIPE.
enum Socket {
  typealias Descriptor = Int32

  /// The result of a read or a write.
  enum Result: Equatable {
    case count(Int)
    /// Nothing can be read or written now.
    case wouldBlock
    /// The other side has ended its sending.
    case ended
    case failed
  }

  /// The result of accepting.
  enum Accepted: Equatable {
    case connection(Descriptor)
    /// No connection waits.
    case none
    /// No descriptor is left.
    case exhausted
  }

  #if canImport(Darwin)
    private static let sendFlags: Int32 = 0  // SO_NOSIGPIPE is set on each socket.
    /// Not needed on Darwin: POLLHUP is reported even if the other side only ended its sending.
    static let peerEnded: Int16 = 0
  #else
    private static let sendFlags = Int32(MSG_NOSIGNAL)
    /// POLLRDHUP, which Swift's modules leave out. It has this value on every Linux that Swift
    /// supports.
    static let peerEnded: Int16 = 0x2000
  #endif

  // MARK: Listening

  /// Listens on 127.0.0.1 or ::1 only.
  ///
  /// - Parameter port: 0 picks any free port.
  static func listen(
    on family: LoopbackServer.Family, port: UInt16
  ) throws(LoopbackServerError) -> (socket: Descriptor, port: UInt16) {
    let socket = try stream(family)
    do throws(LoopbackServerError) {
      set(SOL_SOCKET, SO_REUSEADDR, to: Int32(1), on: socket)
      var bound: UInt16?
      switch family {
      case .ipv4:
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        #if canImport(Darwin)
          address.sin_len = UInt8(MemoryLayout<sockaddr_in>.size)
        #endif
        if listens(socket, &address) { bound = UInt16(bigEndian: address.sin_port) }
        precondition(address.sin_addr.s_addr == UInt32(0x7F00_0001).bigEndian, "not on loopback")
      case .ipv6:
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = port.bigEndian
        unsafe withUnsafeMutableBytes(of: &address.sin6_addr) { unsafe $0[15] = 1 }
        #if canImport(Darwin)
          address.sin6_len = UInt8(MemoryLayout<sockaddr_in6>.size)
        #endif
        if listens(socket, &address) { bound = UInt16(bigEndian: address.sin6_port) }
      }
      guard let bound else { throw error(errno, port: port) }
      return (socket, bound)
    } catch {
      close(socket)
      throw error
    }
  }

  /// - Parameter address: gets the port that was bound.
  /// - Returns: `false` if a call failed; `errno` has the reason.
  private static func listens<Address>(_ socket: Descriptor, _ address: inout Address) -> Bool {
    guard unsafe withAddress(&address, { unsafe bind(socket, $0, $1) }) == 0,
      listenWithLongQueue(socket) == 0
    else { return false }
    var length = socklen_t(MemoryLayout<Address>.size)
    return unsafe withAddress(&address) { place, _ in
      unsafe getsockname(socket, place, &length)
    } == 0
  }

  /// Accepts the next waiting connection.
  static func accept(on listener: Descriptor) -> Accepted {
    while true {
      let socket = systemAccept(listener)
      guard socket < 0 else {
        makePrivate(socket)
        set(Int32(IPPROTO_TCP), TCP_NODELAY, to: Int32(1), on: socket)
        return .connection(socket)
      }
      switch errno {
      case EINTR, ECONNABORTED: continue
      case EAGAIN, EWOULDBLOCK: return .none
      default: return .exhausted
      }
    }
  }

  // MARK: A connection

  static func read(_ socket: Descriptor, into bytes: inout [UInt8]) -> Result {
    let count = unsafe bytes.withUnsafeMutableBytes {
      unsafe recv(socket, $0.baseAddress, $0.count, 0)
    }
    if count > 0 { return .count(count) }
    return count == 0 ? .ended : blocked()
  }

  static func write(_ bytes: ArraySlice<UInt8>, to socket: Descriptor) -> Result {
    let count = unsafe bytes.withUnsafeBytes {
      unsafe send(socket, $0.baseAddress, $0.count, sendFlags)
    }
    return count >= 0 ? .count(count) : blocked()
  }

  /// Sends FIN. Reading goes on.
  static func endSending(_ socket: Descriptor) { shutdown(socket, Int32(SHUT_WR)) }

  static func close(_ descriptor: Descriptor) { _ = systemClose(descriptor) }

  /// Sends RST, and drops all bytes that have not arrived.
  static func reset(_ socket: Descriptor) {
    set(SOL_SOCKET, SO_LINGER, to: linger(l_onoff: 1, l_linger: 0), on: socket)
    close(socket)
  }

  /// The number of written bytes that the other side has not received yet.
  static func unsent(_ socket: Descriptor) -> Int32 {
    var count: Int32 = 0
    #if canImport(Darwin)
      var length = socklen_t(MemoryLayout<Int32>.size)
      let code = unsafe getsockopt(socket, SOL_SOCKET, SO_NWRITE, &count, &length)
    #else
      let code = unsafe ioctl(socket, UInt(TIOCOUTQ), &count)
    #endif
    return code == 0 ? count : 0
  }

  // MARK: A pipe, to wake a thread that waits in poll

  static func pipe() throws(LoopbackServerError) -> (reading: Descriptor, writing: Descriptor) {
    var ends: [Descriptor] = [-1, -1]
    guard unsafe systemPipe(&ends) == 0 else { throw error(errno, port: 0) }
    for end in ends { makePrivate(end) }
    return (ends[0], ends[1])
  }

  /// Writes one byte. A full pipe wakes its reader anyway.
  static func wake(_ pipe: Descriptor) {
    var byte: UInt8 = 0
    _ = unsafe systemWrite(pipe, &byte, 1)
  }

  static func drain(_ pipe: Descriptor) {
    var bytes = [UInt8](repeating: 0, count: 64)
    while unsafe systemRead(pipe, &bytes, 64) == 64 {}
  }

  // MARK: Helpers

  private static func stream(
    _ family: LoopbackServer.Family
  ) throws(LoopbackServerError) -> Descriptor {
    #if canImport(Glibc)
      let kind = Int32(SOCK_STREAM.rawValue)
    #else
      let kind = SOCK_STREAM
    #endif
    let socket = systemSocket(family == .ipv4 ? AF_INET : AF_INET6, kind, 0)
    guard socket >= 0 else { throw error(errno, port: 0) }
    makePrivate(socket)
    return socket
  }

  /// Makes a descriptor non-blocking, and closes it in child processes. Swift's modules lack
  /// accept4 and pipe2, so a child that is started at this very moment might still inherit it.
  private static func makePrivate(_ descriptor: Descriptor) {
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    #if canImport(Darwin)
      // Fails on a pipe, which does not need it: we hold its reading end open.
      set(SOL_SOCKET, SO_NOSIGPIPE, to: Int32(1), on: descriptor)
    #endif
  }

  private static func set<Value>(
    _ level: Int32, _ option: Int32, to value: Value, on socket: Descriptor
  ) {
    var value = value
    _ = unsafe withUnsafeBytes(of: &value) {
      unsafe setsockopt(socket, level, option, $0.baseAddress, socklen_t($0.count))
    }
  }

  private static func withAddress<Address>(
    _ address: inout Address, _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    unsafe withUnsafeMutablePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe body($0, socklen_t(MemoryLayout<Address>.size))
      }
    }
  }

  private static func blocked() -> Result {
    switch errno {
    case EAGAIN, EWOULDBLOCK, EINTR: .wouldBlock
    default: .failed
    }
  }

  private static func error(_ number: Int32, port: UInt16) -> LoopbackServerError {
    let reason = unsafe String(cString: strerror(number))
    return switch number {
    case EADDRINUSE: .portInUse(port)
    case EACCES, EPERM: .notPermitted(port: port)
    case EMFILE, ENFILE, ENOBUFS, ENOMEM, EADDRNOTAVAIL: .exhausted(reason: reason)
    default: .failed(reason: reason)
    }
  }
}

// Inside `Socket`, its own names hide the system's.

private func systemAccept(_ socket: Int32) -> Int32 { accept(socket, nil, nil) }

private func systemSocket(_ domain: Int32, _ kind: Int32, _ protocol: Int32) -> Int32 {
  socket(domain, kind, `protocol`)
}

private func systemClose(_ descriptor: Int32) -> Int32 { close(descriptor) }

private func systemPipe(_ ends: UnsafeMutablePointer<Int32>) -> Int32 { unsafe pipe(ends) }

private func systemWrite(_ pipe: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
  unsafe write(pipe, bytes, count)
}

private func systemRead(_ pipe: Int32, _ bytes: UnsafeMutableRawPointer, _ count: Int) -> Int {
  unsafe read(pipe, bytes, count)
}

private func listenWithLongQueue(_ socket: Int32) -> Int32 { listen(socket, Int32(SOMAXCONN)) }
