import Foundation

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// One request to this computer, without encryption, over a socket.
///
/// URLSession would do, but FoundationNetworking traps on an answer that ends with trailers (Swift
/// 6.3.1), and etcd ends each refusal so.
final class EtcdSocket: @unchecked Sendable {
  private let queue = DispatchQueue(label: "EtcdSocket")
  private let exchange: EtcdExchange
  private let port: UInt16
  private var addresses: ArraySlice<Address>

  // Only on the queue.
  private var descriptor: Int32 = -1
  /// Watches the descriptor: first for writing, then for reading.
  private var source: (any DispatchSourceProtocol)?
  /// The descriptor that a source watches, perhaps one that is being cancelled.
  private var watched: Int32 = -1
  private var isConnected = false
  /// Whether nothing is to be written any more.
  private var isReading = false
  private var outgoing: [UInt8]
  private var sent = 0
  private var reader = EtcdHTTPReader()
  private var isOver = false

  private enum Address {
    case ipv4
    case ipv6
  }

  private static let sendFlags: Int32 = {
    #if canImport(Darwin)
      0  // SO_NOSIGPIPE is set on each socket.
    #else
      Int32(MSG_NOSIGNAL)
    #endif
  }()

  /// Begins a request.
  /// - Parameters:
  ///   - head: the request's fields, without its length.
  ///   - limit: the most bytes of the answer that are kept unread.
  static func begin(
    _ member: EtcdAddress, _ path: String, _ head: [(String, String)], _ body: [UInt8], limit: Int
  ) -> EtcdExchange {
    let exchange = EtcdExchange(limit: limit)
    var text = "POST \(path) HTTP/1.1\r\nHost: \(member.authority)\r\nConnection: close\r\n"
    for (name, value) in head { text += "\(name): \(value)\r\n" }
    text += "Content-Length: \(body.count)\r\n\r\n"
    let socket = EtcdSocket(exchange, member, Array(text.utf8) + body)
    exchange.begin { socket.queue.async { socket.close() } }
    socket.queue.async { socket.connect() }
    return exchange
  }

  private init(_ exchange: EtcdExchange, _ member: EtcdAddress, _ outgoing: [UInt8]) {
    self.exchange = exchange
    self.outgoing = outgoing
    port = member.port
    addresses =
      switch member.host {
      case "127.0.0.1": [.ipv4]
      case "::1": [.ipv6]
      default: [.ipv4, .ipv6]  // Both are `localhost`.
      }
  }

  // MARK: Connecting

  private func connect() {
    guard !isOver else { return }
    guard let address = addresses.popFirst() else { return fail(.cannotConnectToHost) }
    #if canImport(Glibc)
      let kind = Int32(SOCK_STREAM.rawValue)
    #else
      let kind = SOCK_STREAM
    #endif
    descriptor = socket(address == .ipv4 ? AF_INET : AF_INET6, kind, 0)
    guard descriptor >= 0 else { return connect() }
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    #if canImport(Darwin)
      var yes: Int32 = 1
      _ = unsafe setsockopt(
        descriptor, SOL_SOCKET, SO_NOSIGPIPE, &yes, socklen_t(MemoryLayout<Int32>.size))
    #endif
    let code = begin(address)
    guard code == 0 || errno == EINPROGRESS else {
      closeDescriptor()
      return connect()
    }
    // A source keeps this object until it is cancelled.
    let source = DispatchSource.makeWriteSource(fileDescriptor: descriptor, queue: queue)
    source.setEventHandler { self.write() }
    watch(source)
  }

  private func begin(_ address: Address) -> Int32 {
    switch address {
    case .ipv4:
      var place = sockaddr_in()
      place.sin_family = sa_family_t(AF_INET)
      place.sin_port = port.bigEndian
      place.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      #if canImport(Darwin)
        place.sin_len = UInt8(MemoryLayout<sockaddr_in>.size)
      #endif
      return connect(to: &place)
    case .ipv6:
      var place = sockaddr_in6()
      place.sin6_family = sa_family_t(AF_INET6)
      place.sin6_port = port.bigEndian
      unsafe withUnsafeMutableBytes(of: &place.sin6_addr) { unsafe $0[15] = 1 }
      #if canImport(Darwin)
        place.sin6_len = UInt8(MemoryLayout<sockaddr_in6>.size)
      #endif
      return connect(to: &place)
    }
  }

  private func connect<Place>(to place: inout Place) -> Int32 {
    unsafe withUnsafePointer(to: &place) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe systemConnect(descriptor, $0, socklen_t(MemoryLayout<Place>.size))
      }
    }
  }

  // MARK: Sending and receiving

  private func write() {
    guard !isOver, !isReading else { return }
    if !isConnected {
      var error: Int32 = 0
      var length = socklen_t(MemoryLayout<Int32>.size)
      guard unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length) == 0, error == 0
      else {
        closeDescriptor()
        return connect()
      }
      isConnected = true
    }
    while sent < outgoing.count {
      let count = unsafe outgoing[sent...].withUnsafeBytes {
        unsafe send(descriptor, $0.baseAddress, $0.count, EtcdSocket.sendFlags)
      }
      if count < 0, errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR { return }
      // If the other side has closed, it may have answered before.
      guard count >= 0 else { break }
      sent += count
    }
    isReading = true
    outgoing = []
    source?.cancel()
  }

  /// Begins to read, when nothing is to be written any more. Two sources never watch one
  /// descriptor: on Linux an event of one of them may be lost then (seen once in 5,000 requests).
  private func startReading() {
    guard !isOver, isReading else { return }
    let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    source.setEventHandler { self.read() }
    watch(source)
  }

  private func read() {
    var bytes = [UInt8](repeating: 0, count: 64 << 10)
    while !isOver {
      // What closes the connection waits for this queue.
      guard !exchange.hasEnded else { return close() }
      let count = unsafe bytes.withUnsafeMutableBytes {
        unsafe recv(descriptor, $0.baseAddress, $0.count, 0)
      }
      if count > 0 {
        take(bytes[..<count])
      } else if count == 0 {
        return reader.close() ? end(nil) : fail(.networkConnectionLost)
      } else if errno == EAGAIN || errno == EWOULDBLOCK {
        return
      } else if errno != EINTR {
        return fail(.networkConnectionLost)
      }
    }
  }

  private func take(_ bytes: ArraySlice<UInt8>) {
    do throws(EtcdHTTPReader.Malformed) {
      for part in try reader.take(bytes) {
        switch part {
        case .head(let head): exchange.began(head)
        case .body(let body): exchange.received(Data(body))
        case .end: end(nil)
        }
      }
    } catch {
      end(.cannotParseResponse)
    }
  }

  // MARK: Ending

  private func fail(_ code: URLError.Code) { end(code) }

  private func end(_ code: URLError.Code?) {
    guard !isOver else { return }
    exchange.completed(code, hasLeft: sent > 0)
    close()
  }

  private func close() {
    isOver = true
    closeDescriptor()
  }

  private func watch(_ source: any DispatchSourceProtocol) {
    self.source = source
    watched = descriptor
    source.setCancelHandler { [open = descriptor] in self.unwatched(open) }
    source.activate()
  }

  /// The source was cancelled, and watches nothing any more.
  private func unwatched(_ open: Int32) {
    if watched == open { watched = -1 }
    guard open == descriptor else { return systemClose(open) }
    startReading()
  }

  /// A descriptor may be closed only when no source watches it any more. Otherwise the next one of
  /// its number would lose events.
  private func closeDescriptor() {
    let open = descriptor
    descriptor = -1
    isConnected = false
    guard open >= 0 else { return }
    if watched == open { source?.cancel() } else { systemClose(open) }
    source = nil
  }
}

// Inside the class, its own names hide the system's.

private func systemConnect(
  _ descriptor: Int32, _ place: UnsafePointer<sockaddr>, _ length: socklen_t
) -> Int32 { unsafe connect(descriptor, place, length) }

private func systemClose(_ descriptor: Int32) { _ = close(descriptor) }
