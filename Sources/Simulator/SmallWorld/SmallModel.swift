internal import SyncProtocols
internal import UpdateMachine

/// A model that knows only its position, and whether events came in order. Positions are relative
/// to where the model was when its client was packed.
struct SmallModel: SyncModel, Equatable {
  var position: Int64
  var isInOrder = true

  enum Refusal: Error {
    case unreadable
  }

  init(position: Int64) { self.position = position }

  init(snapshot: SmallSnapshot) throws(Refusal) {
    guard snapshot.isReadable else { throw .unreadable }
    position = snapshot.position
  }

  mutating func apply(_ event: SmallEvent) throws(Refusal) {
    guard event.isReadable else { throw .unreadable }
    if event.position != position + 1 { isInOrder = false }
    position = event.position
  }
}

struct SmallSnapshot: Sendable {
  var position: Int64
  var isReadable = true
}

/// Takes a model from the previous position to the event's own.
struct SmallEvent: Sendable {
  var position: Int64
  var isReadable = true
}
