internal import SyncProtocols
internal import UpdateMachine

/// The protocol of a scenario: Zulip's event queue, whose answers may also be incomplete.
enum ScenarioSync: SyncProtocol {
  static func advance(
    _ finger: QueueFinger, over batch: ScenarioBatch
  ) -> SyncAdvance<QueueFinger> {
    let advance = EventQueue<Never>.advance(finger, over: batch.events)
    guard !batch.isComplete else { return advance }
    return switch advance {
    case .next(let next, let first, _): .next(next, first: first, isComplete: false)
    case .seen, .incomplete: .incomplete
    case .lost, .gap: advance
    }
  }
}

/// The answer to a poll in a scenario.
struct ScenarioBatch: EventBatch {
  var events = QueueBatch<Never>(events: [])
  /// Whether the server has nothing beyond it.
  var isComplete = true

  /// A batch that ends at this ID; `nil`: an empty one.
  init(to lastEventID: Int64?, isComplete: Bool = true) {
    if let lastEventID { events.events = [QueuedEvent(id: lastEventID, event: nil)] }
    self.isComplete = isComplete
  }

  var count: Int { events.count }

  func event(at index: Int) -> Never? { events.event(at: index) }
}
