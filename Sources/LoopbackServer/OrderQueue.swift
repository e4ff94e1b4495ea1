/// A message from another thread to the loop's thread.
enum Order: Sendable {
  case answered(Int, LoopbackServer.Response)
  case welcome(LoopbackServer.Welcome)
  case observe(Observer)
  case stop(CheckedContinuation<Void, Never>?)
}

/// A caller that waits until the counters satisfy a condition.
struct Observer: Sendable {
  let isSatisfied: @Sendable (LoopbackServer.Counters) -> Bool
  let deadline: ContinuousClock.Instant
  let continuation: CheckedContinuation<LoopbackServer.Counters, Never>
}

/// The link between the loop's thread and all others: orders go in, counters come out.
final class OrderQueue: Sendable {
  private struct State {
    var orders: [Order] = []
    var counters = LoopbackServer.Counters()
    var isClosed = false
  }

  /// Becomes readable when there are orders.
  let descriptor: Socket.Descriptor
  private let waking: Socket.Descriptor
  private let state = Locked(State())

  init() throws(LoopbackServerError) {
    (descriptor, waking) = try Socket.pipe()
  }

  var counters: LoopbackServer.Counters {
    get { state.withLock { $0.counters } }
    set { state.withLock { $0.counters = newValue } }
  }

  /// - Returns: `false` if the loop has ended.
  @discardableResult
  func send(_ order: Order) -> Bool {
    state.withLock { state in
      guard !state.isClosed else { return false }
      if state.orders.isEmpty { Socket.wake(waking) }
      state.orders.append(order)
      return true
    }
  }

  func take() -> [Order] {
    state.withLock { state in
      let orders = state.orders
      state.orders = []
      return orders
    }
  }

  /// Takes no more orders, and closes the descriptors. Resumes callers whose orders came too late.
  func close() {
    let late = state.withLock { state in
      state.isClosed = true
      Socket.close(descriptor)
      Socket.close(waking)
      let orders = state.orders
      state.orders = []
      return orders
    }
    for order in late {
      switch order {
      case .stop(let continuation): continuation?.resume()
      case .observe(let observer): observer.continuation.resume(returning: counters)
      case .answered, .welcome: break
      }
    }
  }
}
