internal import UpdateMachine

// What goes wrong at the server, or wakes all clients.

extension Herd {
  /// The server stops. All connections break, which the clients hear as soon as they can.
  package mutating func stopServer() {
    server.isUp = false
    for client in 0..<cells.count {
      switch posts[client].kind {
      case .held, .queued, .request:
        posts[client].set(.unreachable, due: now + latency(client))
        schedule(client)
      case .none, .news, .nothing, .snapshot, .unreachable, .fault, .limited, .expired,
        .foregrounded:
        break
      }
    }
    server.restart()
    tally.live = 0
  }

  /// The server can be reached again. It has no logs.
  package mutating func startServer(snapshotsFail: Bool) {
    server.snapshotsFail = snapshotsFail
    server.isUp = true
  }

  /// All apps come to the foreground within so many milliseconds.
  package mutating func wakeClients(within span: Int64) {
    for client in 0..<cells.count {
      let after = HerdPolicy.upTo(span, draw(client, .warming, 2))
      posts[client].set(.foregrounded, due: now + UInt32(after))
      schedule(client)
    }
  }

  /// A cause of trouble ends: from here on, it is counted how the herd comes back.
  mutating func beginRecovery(from begin: Int64) {
    for client in 0..<cells.count { tries[client] = 0 }
    tally.begin(HerdRecovery(begin: begin, end: Int64(now - tally.origin)))
  }

  /// Leaves out a time in which nothing changes but the number of attempts: all clients wait, or
  /// try in vain, and go on with that as if no time had passed. Whatever is older gets older.
  ///
  /// - Parameter span: in milliseconds. Up to four seconds are not left out.
  mutating func leaveOut(_ span: UInt32) {
    let turns = span >> TimeWheel.bits
    let left = turns << TimeWheel.bits
    wheel.skip(turns: turns)
    for client in 0..<cells.count {
      cells[client].delay(byMilliseconds: left)
      if posts[client].timerDue != HerdPost.never { posts[client].timerDue += left }
      if posts[client].messageDue != HerdPost.never { posts[client].messageDue += left }
    }
    tally.leaveOut(left)
  }
}
