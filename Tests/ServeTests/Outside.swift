import Foundation
import Testing

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The Python that has the package `zulip`. It is installed below `.build`, once.
enum Python {
  private static let folder = Place.root.appendingPathComponent(".build/serve-python")

  static let interpreter = URL(fileURLWithPath: "/usr/bin/env")
  static var packages: String { folder.path }

  /// Whether it is there, or can be installed. CI on Linux must have it: there the test runs and
  /// fails if it has not.
  static let isThere: Bool = {
    #if os(Linux)
      if ProcessInfo.processInfo.environment["UPDATEMACHINE_CI"] != nil { return install() || true }
    #endif
    return install()
  }()

  private static func install() -> Bool {
    let script = Process()
    script.executableURL = Place.bash
    script.arguments = [Place.root.appendingPathComponent("Tests/Serve/python").path, folder.path]
    script.standardInput = FileHandle.nullDevice
    do { try script.run() } catch { return false }
    script.waitUntilExit()
    return script.terminationStatus == 0
  }
}

extension Place {
  /// Whether a program is on the path.
  static func has(_ name: String) -> Bool {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    return path.split(separator: ":").contains {
      FileManager.default.isExecutableFile(atPath: "\($0)/\(name)")
    }
  }
}

/// Sends exactly the bytes that it is told to.
enum RawBytes {
  struct NotConnected: Error {}

  /// Sends a text, each character a byte, and returns what comes back until the end. So the server
  /// must be asked to close the connection, or must have reason to.
  static func exchange(_ text: String, with address: String) async throws -> String {
    let port = try #require(address.split(separator: ":").last.flatMap { UInt16($0) })
    return try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async {
        continuation.resume(
          with: Result { try talk(text.unicodeScalars.map { UInt8($0.value) }, port) })
      }
    }
  }

  private static func talk(_ bytes: [UInt8], _ port: UInt16) throws -> String {
    #if canImport(Glibc)
      let kind = Int32(SOCK_STREAM.rawValue)
    #else
      let kind = SOCK_STREAM
    #endif
    let descriptor = socket(AF_INET, kind, 0)
    guard descriptor >= 0 else { throw NotConnected() }
    let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    var place = sockaddr_in()
    place.sin_family = sa_family_t(AF_INET)
    place.sin_port = port.bigEndian
    place.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let code = unsafe withUnsafePointer(to: &place) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard code == 0 else { throw NotConnected() }
    // A server that has closed already refuses the rest. That is an answer, too.
    try? handle.write(contentsOf: Data(bytes))
    let all = try? handle.readToEnd()
    return String(decoding: all ?? Data(), as: UTF8.self)
  }
}

/// Numbers that are the same in each run.
struct SystemSeed {
  var state: UInt64

  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state
  }
}
