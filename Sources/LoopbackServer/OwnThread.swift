#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

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
