internal import SyncProtocols
internal import UpdateMachine

extension PlaygroundWorld {
  /// What has happened, as a space-time diagram with a lane for each client and one for the server.
  func picture(_ title: String) -> SpaceTime {
    var picture = drawing
    picture.title = title
    picture.lanes = devices.indices.map { "client \($0 + 1)" } + ["server"]
    let server = devices.count
    for note in notes {
      switch note.about {
      case .server:
        let isCommit = note.text.utf8.starts(with: "commits".utf8)
        picture.mark(note.at, server, note.text, isCommit ? .commit : .plain)
      case .client(let client):
        picture.mark(
          note.at, client, note.text, note.isSeam ? .seam : .plain, state: note.state)
      case .window(let client): picture.mark(note.at, client, "its window \(note.text)")
      case .message: break  // The arrows say it.
      }
    }
    for (index, message) in messages.enumerated() {
      let key = SpaceTime.Key(
        message.answer == nil ? .request : .answer, message.client, UInt64(index))
      let (from, to) = message.answer == nil ? (message.client, server) : (server, message.client)
      picture.send(
        key, from: from, to: to, "message \(index + 1): \(message.text)", at: message.sent)
      switch message.fate {
      case .travels: break
      case .arrived(let at): picture.arrive(key, at: at)
      case .lost(let at): picture.lose(key, at: at)
      }
    }
    return picture
  }

  /// Tells the diagram what lasts: the logs that can be followed.
  mutating func drawLogs() { drawing.hold(server.toldLogs, lane: devices.count, at: now) }

  /// Tells the diagram of a client's pending changes.
  mutating func drawPending(of client: Int) {
    let pending = devices[client].client.pending.map { change in
      (name: "\(change.ticket)", text: "\(change.change.name), \(stage(of: change))")
    }
    drawing.hold(pending, lane: client, at: now)
  }
}
