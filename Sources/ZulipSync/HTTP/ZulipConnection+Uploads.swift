public import Foundation
public import UpdateMachine

extension ZulipConnection {
  /// `POST /user_uploads`: uploads a file, for a message to link to. Calling it twice uploads two
  /// files. Only the user sees the file until a message links to it.
  ///
  /// The server refuses a file that is larger than `max_file_upload_size_mib` of its state, in MiB.
  /// A proxy before it may do so with an answer of its own, whose failure is `serverFault`, or by
  /// closing the connection, whose failure is `unreachable`. The library refuses nothing.
  ///
  /// Without a deadline, the time grows with the file, at 64 KiB a second:
  ///
  /// | bytes | time with the default ``ZulipSettings/deadline`` |
  /// | --- | --- |
  /// | 100 KiB | 31 s |
  /// | 10 MiB | 3 min |
  /// | 25 MiB, formerly a server's usual limit | 7 min |
  /// | 100 MiB | 27 min |
  /// | 300 MiB and more | 60 min, the most for any request |
  ///
  /// - Parameters:
  ///   - data: the file's bytes. While they are sent, there is a second copy in memory, and on
  ///     Linux a third.
  ///   - name: the file's name, with an extension, by which the server knows what it is. The server
  ///     refuses an empty name. Quotation marks, backslashes and control characters are
  ///     percent-encoded, much as by browsers. The server may replace other characters.
  ///   - deadline: for the upload and the whole answer.
  ///   - progress: is called with the share of the request that was handed to the network: above 0,
  ///     ascending, at last 1. It runs on another thread, and never after this method has returned.
  ///     After 1 there is still the answer to wait for. It must return quickly: meanwhile neither
  ///     this request nor another of the connection can end.
  /// - Returns: the file's path on the server, for a link in a message's content:
  ///   `[name](/user_uploads/2/ab/name.txt)`.
  @concurrent
  public func upload(
    _ data: Data, named name: String, within deadline: TimeSpan? = nil,
    progress: (@Sendable (Double) -> Void)? = nil
  ) async throws(ZulipFailure) -> String {
    var random = SystemRandomNumberGenerator()
    let body = ZulipMultipart(data, named: name, using: &random)
    let time = ZulipConnection.time(toUpload: data.count, settings)
    return try await send(
      request(.post, "user_uploads", body: body.bytes, type: body.type), within: deadline ?? time,
      progress: progress.map { ZulipProgress($0) }
    ) { answer throws(ZulipError) in
      // Servers below feature level 272 have only the old name.
      try answer.text(answer.has("url") ? "url" : "uri")
    }
  }

  /// The deadline of an upload of so many bytes, if the app names none.
  static func time(toUpload count: Int, _ settings: ZulipSettings) -> TimeSpan {
    settings.deadline + .seconds(Int64(count) / slowestUpload)
  }

  /// In bytes a second: a bad mobile network.
  private static let slowestUpload: Int64 = 64 << 10
}

/// The body of a request with one file (RFC 7578).
struct ZulipMultipart {
  /// The body's content type, with the boundary.
  let type: String
  let bytes: Data

  init(_ file: Data, named name: String, using random: inout some RandomNumberGenerator) {
    // The file and its name are not searched for it: it has 128 random bits, which nobody guesses.
    let words = (0..<2).map { _ in
      String(UInt64.random(in: .min ... .max, using: &random), radix: 16)
    }
    let boundary = "ZulipSync-" + words.joined(separator: "-")
    // The part has no content type: the server finds it by the name.
    let name = ZulipMultipart.escaped(name)
    var bytes = Data()
    let head = """
      --\(boundary)\r\nContent-Disposition: form-data; name="file"; filename="\(name)"\r\n\r\n
      """
    let end = "\r\n--\(boundary)--\r\n"
    bytes.reserveCapacity(head.utf8.count + file.count + end.utf8.count)
    bytes.append(contentsOf: head.utf8)
    bytes.append(file)
    bytes.append(contentsOf: end.utf8)
    self.bytes = bytes
    type = "multipart/form-data; boundary=\(boundary)"
  }

  /// The name as a quoted text in a header. Browsers percent-encode line breaks and quotation marks
  /// (HTML, "multipart form data"), and nothing else. Here other control characters are, too. So
  /// are backslashes, after which some servers take a quotation mark for a part of the name.
  private static func escaped(_ name: String) -> String {
    var escaped = ""
    for scalar in name.unicodeScalars {
      let isControl = scalar.properties.generalCategory == .control
      if isControl || "\"\\".unicodeScalars.contains(scalar) {
        escaped += ZulipForm.encode(String(scalar))
      } else {
        escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}

/// The progress of an upload. Calls its closure until it is closed.
final class ZulipProgress: @unchecked Sendable {
  private let lock = NSLock()
  /// `nil` once closed.
  private var report: (@Sendable (Double) -> Void)?
  private var last = 0.0

  init(_ report: @escaping @Sendable (Double) -> Void) { self.report = report }

  /// Reports a greater share than before. URLSession may begin to count anew.
  func sent(_ count: Int64, of total: Int64) {
    guard total > 0 else { return }
    let share = min(Double(count) / Double(total), 1)
    // The closure is called within the lock, so that it is never called after `close()`.
    lock.withLock {
      guard share > last else { return }
      last = share
      report?(share)
    }
  }

  func close() { lock.withLock { report = nil } }
}
