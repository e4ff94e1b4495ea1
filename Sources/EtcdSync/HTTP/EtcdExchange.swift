import Foundation
import UpdateMachine

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One running request, whose answer is read as it comes: whole, or line by line.
///
/// It ends once: by the end of its answer, by an error, or because nobody wants it any more. Then
/// the connection is closed, and nothing is waited for. One task reads at a time.
final class EtcdExchange: @unchecked Sendable {
  /// How the answer ended.
  enum Ending: Sendable {
    /// It came whole.
    case whole
    case failed(URLError.Code, hasLeft: Bool)
    /// More came than is allowed.
    case tooLarge
    /// Nobody wants it any more.
    case cancelled
  }

  /// The next line of an answer, or why there is none.
  enum Line: Sendable {
    case line(Data)
    /// None has come until the deadline. The answer goes on.
    case silent
    case ended(Ending)
  }

  /// The beginning of an answer.
  struct Head: Hashable, Sendable {
    var status: Int
    var type: String?
    var retryAfter: String?
    var date: String?

    /// Whether it claims to be JSON, as all of etcd's answers are.
    var isJSON: Bool {
      guard let name = type?.prefix(while: { $0 != ";" }) else { return false }
      return name.trimmingCharacters(in: .whitespaces).lowercased() == "application/json"
    }
  }

  private let lock = NSLock()
  private let limit: Int
  private var head: Head?
  private var buffer = Data()
  /// How much of the buffer was read. It is removed now and then, so that a line costs no more than
  /// its length.
  private var taken = 0
  /// How much of what is unread has no line's end in it.
  private var searched = 0
  private var ending: Ending?
  /// Wakes the task that reads.
  private var reader: CheckedContinuation<Void, Never>?
  /// Closes the connection.
  private var cancel: (@Sendable () -> Void)?

  private static let timers = DispatchQueue(label: "EtcdExchange.timers")
  /// The longest wait. URLSession's own timeouts are longer.
  private static let waitMaximum: TimeSpan = .minutes(60)

  /// - Parameter limit: the most bytes that are kept unread.
  init(limit: Int) { self.limit = limit }

  /// - Parameter cancel: closes the connection; called once at most. It is given up at the end, and
  ///   with it the connection.
  func begin(_ cancel: @escaping @Sendable () -> Void) {
    let isOver = lock.withLock {
      guard ending == nil else { return true }
      self.cancel = cancel
      return false
    }
    if isOver { cancel() }
  }

  // MARK: Reading

  /// Waits for the end of the answer. At the deadline, or when the task is cancelled, the request
  /// is ended, and there is no ending but that.
  func whole(within span: TimeSpan) async -> (head: Head?, body: Data, ending: Ending) {
    let isOver = await wait(within: span) { $0.ending != nil }
    if !isOver { end(Task.isCancelled ? .cancelled : .failed(.timedOut, hasLeft: true)) }
    return lock.withLock {
      defer { buffer = Data() }
      return (head, buffer, ending ?? .cancelled)
    }
  }

  /// Waits for the next line, without its end. An answer's rest is a line, too.
  func line(within span: TimeSpan) async -> Line {
    _ = await wait(within: span) { $0.ending != nil || $0.hasLine() }
    if Task.isCancelled { end(.cancelled) }
    return lock.withLock {
      if hasLine() { return .line(takeLine()) }
      return ending.map { .ended($0) } ?? .silent
    }
  }

  /// Whether nothing more comes, and nothing is left to read.
  var isOver: Bool { lock.withLock { ending != nil && !hasLine() } }

  /// Whether a line can be read without waiting.
  var hasLineNow: Bool { lock.withLock { hasLine() } }

  /// Whether nothing more comes. Lines may be left to read.
  var hasEnded: Bool { lock.withLock { ending != nil } }

  /// What is known of the answer's beginning.
  var beginning: Head? { lock.withLock { head } }

  /// The rest of an answer that is no stream.
  var rest: Data { lock.withLock { Data(buffer[taken...]) } }

  private func hasLine() -> Bool {
    if let index = buffer[(taken + searched)...].firstIndex(of: UInt8(ascii: "\n")) {
      searched = index - taken
      return true
    }
    searched = buffer.count - taken
    return false
  }

  /// Only if there is one.
  private func takeLine() -> Data {
    let end = taken + searched
    let line = Data(buffer[taken..<end])
    taken = end + 1
    searched = 0
    if taken > buffer.count / 2 {
      buffer = Data(buffer[taken...])
      taken = 0
    }
    return line
  }

  /// Waits until something is so. Returns `false` if it is not at the deadline, or when the task is
  /// cancelled.
  private func wait(
    within span: TimeSpan, until isSo: @escaping @Sendable (EtcdExchange) -> Bool
  ) async -> Bool {
    let milliseconds = min(max(span, .zero), EtcdExchange.waitMaximum).milliseconds
    let expired = EtcdFlag()
    let timer = DispatchSource.makeTimerSource(queue: EtcdExchange.timers)
    timer.schedule(deadline: .now() + .milliseconds(Int(milliseconds)))
    timer.setEventHandler {
      expired.set()
      self.wake()
    }
    timer.activate()
    defer { timer.cancel() }
    return await withTaskCancellationHandler {
      while true {
        if lock.withLock({ isSo(self) }) { return true }
        if expired.isSet || Task.isCancelled { return false }
        await withCheckedContinuation { continuation in
          let isDue = lock.withLock {
            guard !isSo(self), !expired.isSet, !Task.isCancelled else { return true }
            reader = continuation
            return false
          }
          if isDue { continuation.resume() }
        }
      }
    } onCancel: {
      self.wake()
    }
  }

  private func wake() {
    let reader = lock.withLock {
      let reader = self.reader
      self.reader = nil
      return reader
    }
    reader?.resume()
  }

  // MARK: Ending

  /// Ends the request, if it has not ended. The connection is closed.
  func end(_ ending: Ending) {
    let cancel: (@Sendable () -> Void)? = lock.withLock {
      guard self.ending == nil else { return nil }
      self.ending = ending
      defer { self.cancel = nil }
      return self.cancel
    }
    cancel?()
    wake()
  }

  // MARK: Reports from the connection

  func began(_ head: Head) { lock.withLock { self.head = head } }

  func received(_ data: Data) {
    let isTooLarge = lock.withLock {
      guard ending == nil else { return false }
      guard data.count <= limit - (buffer.count - taken) else { return true }
      buffer.append(data)
      return false
    }
    if isTooLarge { end(.tooLarge) } else { wake() }
  }

  /// The connection has ended by itself.
  /// - Parameters:
  ///   - error: why the answer is not whole; `nil`: it is.
  ///   - hasLeft: whether anything of the request was sent.
  func completed(_ error: URLError.Code?, hasLeft: Bool) {
    lock.withLock {
      guard ending == nil else { return }
      ending = error.map { .failed($0, hasLeft: hasLeft) } ?? .whole
      cancel = nil
    }
    wake()
  }
}

/// A thread-safe, one-way flag.
private final class EtcdFlag: @unchecked Sendable {
  private let lock = NSLock()
  private var value = false

  var isSet: Bool { lock.withLock { value } }

  func set() { lock.withLock { value = true } }
}
