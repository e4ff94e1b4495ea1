#if !hasFeature(Embedded)

  internal import Synchronization

  #if canImport(Darwin)
    internal import Darwin
  #elseif canImport(Musl)
    internal import Musl
  #elseif canImport(Glibc)
    internal import Glibc
  #endif

  /// Tells which seed was running if the process ends in a trap, as an app's code can do: an index
  /// out of range, a force-unwrapped `nil`. The process is gone then, and with it every story. So
  /// one line goes to standard error, and then whatever handled the signal before handles it.
  enum TrapNotice {
    /// A thread that runs seeds.
    @unsafe private struct Place {
      var thread: UInt = 0
      var seed: UInt64 = 0
      /// The line's text after the seed; never freed.
      var text: UnsafeMutablePointer<CChar>?
    }

    /// Enough for all tasks of a few runs at the same time. The others are not told about.
    private static let count = 256
    private static let state = Mutex(State())
    /// Read by the signal handler, which must not lock or allocate.
    nonisolated(unsafe) private static let places = {
      let places = UnsafeMutablePointer<Place>.allocate(capacity: count)
      unsafe places.initialize(repeating: Place(), count: count)
      return unsafe places
    }()
    nonisolated(unsafe) private static let former = {
      let former = UnsafeMutablePointer<sigaction>.allocate(capacity: signals.count)
      unsafe former.initialize(repeating: sigaction(), count: signals.count)
      return unsafe former
    }()
    private static let signals = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGSEGV, SIGFPE]

    private struct State {
      var runs = 0
      var free = Array(0..<TrapNotice.count)
    }

    /// Watches for traps until ``end()``. May be nested.
    static func begin() {
      state.withLock { state in
        state.runs += 1
        guard state.runs == 1 else { return }
        _ = unsafe places  // Made here, and not by the handler.
        var action = sigaction()
        #if canImport(Darwin)
          unsafe action.__sigaction_u.__sa_handler = { TrapNotice.tell($0) }
        #elseif canImport(Musl)
          unsafe action.__sa_handler.sa_handler = { TrapNotice.tell($0) }
        #else
          unsafe action.__sigaction_handler.sa_handler = { TrapNotice.tell($0) }
        #endif
        // If a stack has overflown, the thread's other one is used, if it has one.
        action.sa_flags = SA_ONSTACK
        for (index, signal) in signals.enumerated() {
          unsafe sigaction(signal, &action, former + index)
        }
      }
    }

    static func end() {
      state.withLock { state in
        state.runs -= 1
        guard state.runs == 0 else { return }
        for (index, signal) in signals.enumerated() {
          unsafe sigaction(signal, former + index, nil)
        }
      }
    }

    /// Calls `body` with a function that notes the seed that this thread is about to run.
    ///
    /// - Parameter text: what follows the seed in the line.
    static func noting<Answer>(
      _ text: String, _ body: (_ note: (UInt64) -> Void) -> Answer
    ) -> Answer {
      guard let index = state.withLock({ $0.free.popLast() }) else { return body { _ in } }
      unsafe places[index].text = strdup(text)
      unsafe places[index].thread = thisThread
      defer {
        unsafe places[index].thread = 0
        unsafe free(places[index].text)
        unsafe places[index].text = nil
        state.withLock { $0.free.append(index) }
      }
      return body { seed in unsafe places[index].seed = seed }
    }

    private static var thisThread: UInt {
      #if canImport(Glibc)
        UInt(pthread_self())
      #else
        unsafe UInt(bitPattern: pthread_self())
      #endif
    }

    /// The signal handler: calls nothing but `write`, `sigaction` and `raise`.
    private static func tell(_ signal: Int32) {
      let mine = thisThread
      for index in 0..<count {
        guard unsafe places[index].thread == mine, let text = unsafe places[index].text else {
          continue
        }
        put("The process trapped in seed ")
        put(unsafe places[index].seed)
        unsafe write(2, text, strlen(text))
        break
      }
      // Comes again as soon as this returns, and ends the process as it always does.
      for index in signals.indices where signals[index] == signal {
        unsafe sigaction(signal, former + index, nil)
      }
      raise(signal)
    }

    private static func put(_ words: StaticString) {
      unsafe write(2, words.utf8Start, words.utf8CodeUnitCount)
    }

    private static func put(_ number: UInt64) {
      var divisor: UInt64 = 1
      while number / divisor > 9 { divisor *= 10 }
      while divisor > 0 {
        var digit = UInt8(ascii: "0") + UInt8(number / divisor % 10)
        unsafe write(2, &digit, 1)
        divisor /= 10
      }
    }
  }

#endif
