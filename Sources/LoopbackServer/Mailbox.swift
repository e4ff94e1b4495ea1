/// What others tell the loop's thread.
enum Order: Sendable {
  case answered(Int, LoopbackServer.Response)
  case welcome(LoopbackServer.Welcome)
  case observe(Observer)
  case stop(CheckedContinuation<Void, Never>?)
}

/// Someone who waits for the counters to be so.
struct Observer: Sendable {
  let isSatisfied: @Sendable (LoopbackServer.Counters) -> Bool
  let deadline: ContinuousClock.Instant
  let continuation: CheckedContinuation<LoopbackServer.Counters, Never>
}

/// Between the loop's thread and all others: orders one way, counters the other.
final class Mailbox: Sendable {
  private struct State {
    var orders: [Order] = []
    var counters = LoopbackServer.Counters()
    var isClosed = false
  }

  /// Can be read when there are orders.
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

  /// - Returns: `false` if nobody will read it any more.
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

  /// Takes no more orders, and gives back its descriptors. Those who came too late are told.
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
