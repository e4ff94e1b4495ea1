#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// A value behind a lock.
///
/// It uses the system's lock, not `Synchronization.Mutex`: the thread sanitizer does not see that
/// one's waits, and reports races that do not exist.
@safe
final class Locked<Value>: @unchecked Sendable {
  private let lock: UnsafeMutablePointer<pthread_mutex_t>
  private var value: Value

  init(_ value: sending Value) {
    self.value = value
    unsafe lock = .allocate(capacity: 1)
    unsafe lock.initialize(to: pthread_mutex_t())
    unsafe pthread_mutex_init(lock, nil)
  }

  deinit {
    unsafe pthread_mutex_destroy(lock)
    unsafe lock.deallocate()
  }

  func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
    unsafe pthread_mutex_lock(lock)
    defer { unsafe pthread_mutex_unlock(lock) }
    return body(&value)
  }
}

/// A thread outside Swift's pool, which may block in the kernel.
@safe
final class OwnThread: @unchecked Sendable {
  #if canImport(Darwin)
    private typealias Handle = pthread_t?
  #else
    private typealias Handle = pthread_t
  #endif

  /// Written before any other thread sees it.
  private let handle: UnsafeMutablePointer<Handle>
  private let wasJoined = Locked(false)

  private final class Body {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  init(_ run: @escaping @Sendable () -> Void) throws(LoopbackServerError) {
    let body = unsafe Unmanaged.passRetained(Body(run))
    unsafe handle = .allocate(capacity: 1)
    #if canImport(Darwin)
      unsafe handle.initialize(to: nil)
    #else
      unsafe handle.initialize(to: pthread_t())
    #endif
    let code = unsafe pthread_create(
      handle, nil,
      { argument in
        // The type is optional on some systems only.
        let argument: UnsafeMutableRawPointer? = unsafe argument
        if let argument = unsafe argument {
          unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
        }
        return nil
      }, body.toOpaque())
    guard code == 0 else {
      unsafe body.release()
      wasJoined.withLock { $0 = true }
      throw .exhausted(reason: unsafe String(cString: strerror(code)))
    }
  }

  /// Waits for the thread's end, which must be near.
  func join() {
    wasJoined.withLock { wasJoined in
      guard !wasJoined else { return }
      wasJoined = true
      #if canImport(Darwin)
        if let thread = unsafe handle.pointee { unsafe pthread_join(thread, nil) }
      #else
        unsafe pthread_join(handle.pointee, nil)
      #endif
    }
  }

  deinit {
    // Without a join, the thread frees itself when it ends.
    if !wasJoined.withLock({ $0 }) {
      #if canImport(Darwin)
        if let thread = unsafe handle.pointee { unsafe pthread_detach(thread) }
      #else
        unsafe pthread_detach(handle.pointee)
      #endif
    }
    unsafe handle.deallocate()
  }
}
