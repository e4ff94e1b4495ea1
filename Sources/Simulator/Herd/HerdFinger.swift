internal import UpdateMachine

/// A place in a log of the server: the log's number, and that of the last event.
package struct HerdFinger: Finger {
  package var log: UInt32
  package var event: UInt32

  package var description: String { "\(log):\(event)" }
}
