package import EtcdSync
package import Simulator
package import SyncProtocols
package import UpdateMachine

// Polls: a question, or a watch that goes on from one poll to the next, as in `EtcdSource`; and
// what the members do meanwhile.

extension EtcdServer {
  package mutating func poll(
    _ finger: EtcdFinger, waits isLong: Bool, waiter: UInt64, heartbeatAfter: TimeSpan,
    at now: Moment
  ) -> Reply? {
    self.now = now
    let until = now + min(heartbeatAfter, EtcdServer.silence)
    guard isLong else { return ask(finger, waiter, keepsWatch: false) }
    if let watch = takeKept(at: finger.revision) {
      waits.append(
        Wait(waiter: waiter, finger: finger, until: until, state: .watching(watch)))
      return told(waiter)
    }
    // It opens a watch, and asks the same member: what comes after the answer is then watched.
    let member = member
    guard let reply = ask(finger, waiter, keepsWatch: true) else { return nil }
    guard case .batch(let batch) = reply, batch.count == 0 else { return reply }
    waits.append(
      Wait(
        waiter: waiter, finger: finger, until: until,
        state: .watching(EtcdClusterWatch(member: member, told: cluster.revision))))
    return nil
  }

  /// Returns the answer of a poll that could be answered at once, and forgets the poll.
  private mutating func told(_ waiter: UInt64) -> Reply? {
    tellWatches()
    guard let index = ended.firstIndex(where: { $0.waiter == waiter }) else { return nil }
    return ended.remove(at: index).reply
  }

  package func isBehind(on finger: EtcdFinger) -> Bool {
    waits.contains { wait in
      guard wait.finger == finger else { return false }
      switch wait.state {
      case .asking: return true
      case .watching(let watch): return cluster.isBehind(watch.member) || cluster.breach != nil
      }
    }
  }

  package mutating func abandon(waiter: UInt64) { waits.removeAll { $0.waiter == waiter } }

  package var hasFinished: Bool { !ended.isEmpty }

  package mutating func takeFinished() -> [EndedWait<EtcdSnapshot, EtcdLog>] {
    let taken = ended
    ended.removeAll(keepingCapacity: true)
    return taken
  }

  /// A member ends a watch.
  package mutating func interrupt(_ log: EtcdClusterID) {
    guard let first = waits.first?.waiter else { return }
    end(first, .refused(.badGateway))
  }

  // MARK: Questions

  /// Asks what has changed; `nil`: a second question is out.
  ///
  /// - Parameter keepsWatch: whether a watch goes on from an answer with news.
  private mutating func ask(
    _ finger: EtcdFinger, _ waiter: UInt64, keepsWatch: Bool
  ) -> Reply? {
    let member = member
    do throws(EtcdTrouble) {
      switch try cluster.changes(since: finger, of: EtcdApp.prefix, at: member) {
      case .batch(let batch):
        if keepsWatch, batch.count > 0 { keep(member, at: batch.through) }
        return .batch(batch)
      case .deleted(let count, let batch):
        waits.append(
          Wait(
            waiter: waiter, finger: finger, until: now + character.pause,
            state: .asking(batch, gone: count, member: member, keepsWatch: keepsWatch)))
        if character.pause > .zero { return nil }
        return completed(waiter)
      }
    } catch {
      return reply(to: error, at: finger)
    }
  }

  /// Answers a poll whose second question is answered.
  private mutating func completed(_ waiter: UInt64) -> Reply? {
    guard let index = waits.firstIndex(where: { $0.waiter == waiter }),
      case .asking(let batch, let count, let member, let keepsWatch) = waits[index].state
    else { return nil }
    let wait = waits.remove(at: index)
    do throws(EtcdTrouble) {
      let whole = try cluster.gone(
        count, since: wait.finger, besides: batch, of: EtcdApp.prefix, at: member)
      if keepsWatch { keep(member, at: whole.through) }
      return .batch(whole)
    } catch {
      return reply(to: error, at: wait.finger)
    }
  }

  // MARK: Watches

  private mutating func keep(_ member: Int, at revision: Int64) {
    kept.append(EtcdClusterWatch(member: member, told: revision))
    if kept.count > EtcdServer.keptMaximum { kept.removeFirst() }
  }

  /// Each client keeps one at the most.
  private static var keptMaximum: Int { 8 }

  private mutating func takeKept(at revision: Int64) -> EtcdClusterWatch? {
    let index = kept.firstIndex {
      $0.told == revision && !cluster.hasEnded($0, of: EtcdApp.prefix)
    }
    return index.map { kept.remove(at: $0) }
  }

  mutating func end(_ waiter: UInt64, _ reply: Reply) {
    waits.removeAll { $0.waiter == waiter }
    ended.append(EndedWait(waiter: waiter, reply: reply))
  }

  /// Ends the polls whose watch has something to tell, or is over.
  mutating func tellWatches() {
    for wait in waits {
      guard case .watching(let watch) = wait.state else { continue }
      if cluster.hasEnded(watch, of: EtcdApp.prefix) {
        end(wait.waiter, reply(to: .refused(.compacted)))
        continue
      }
      do throws(EtcdTrouble) {
        let news = try cluster.news(from: watch, after: wait.finger, of: EtcdApp.prefix)
        guard let batch = news else { continue }
        keep(watch.member, at: batch.through)
        end(wait.waiter, .batch(batch))
      } catch {
        end(wait.waiter, reply(to: error, at: wait.finger))
      }
    }
  }

  // MARK: Time

  package var nextDue: Moment {
    let moments = waits.map(\.until) + absences.map(\.until) + absences.compactMap(\.noticed)
    return moments.min() ?? Moment(milliseconds: .max)
  }

  package mutating func advance(to now: Moment) {
    self.now = now
    for index in absences.indices {
      if absences[index].until <= now { cluster.join(absences[index].member) }
      guard let noticed = absences[index].noticed, noticed <= now else { continue }
      absences[index].noticed = nil
      endWatches(at: absences[index].member)
    }
    absences.removeAll { $0.until <= now }
    tellWatches()
    for wait in waits where wait.until <= now {
      switch wait.state {
      case .asking:
        if let reply = completed(wait.waiter) { end(wait.waiter, reply) }
      case .watching(let watch): endSilence(wait, watch)
      }
    }
  }

  /// A watch that says nothing proves nothing: the cluster is asked.
  private mutating func endSilence(_ wait: Wait, _ watch: EtcdClusterWatch) {
    waits.removeAll { $0.waiter == wait.waiter }
    guard let reply = ask(wait.finger, wait.waiter, keepsWatch: false) else { return }
    if case .batch(let batch) = reply, batch.count == 0 { keep(watch.member, at: batch.through) }
    end(wait.waiter, reply)
  }

  // MARK: Members

  package mutating func waver(_ choices: inout Choices, at now: Moment) {
    self.now = now
    if !character.isDrawn {
      character.isDrawn = true
      character.pageCount = choices.pick(.server, [1000, 2, 1])
    }
    character.member = Int(choices.draw(.server, below: UInt64(cluster.memberCount)))
    character.pause =
      choices.happens(.server, 1, in: 2)
      ? .milliseconds(choices.draw(.server, in: 0...3000)) : .zero
    if choices.happens(.server, 1, in: 16) { announceNothing() }
    // A majority stays together, or nobody would be answered.
    guard absences.isEmpty, choices.happens(.server, 1, in: 6) else { return }
    let member = Int(choices.draw(.server, below: UInt64(cluster.memberCount)))
    cluster.cutOff(member)
    let span: Int64 = choices.pick(.server, [500, 5000, 30_000, 120_000])
    let until = now + .milliseconds(choices.draw(.server, in: 1...span))
    let sleeps = choices.happens(.server, 1, in: 2)
    absences.append(
      Absence(
        member: member, until: until, noticed: sleeps ? nil : now + EtcdServer.leaderless))
  }

  /// How long a member waits for a leader before it ends its watches, as recorded.
  private static var leaderless: TimeSpan { .seconds(5) }

  /// The member that answers: the one that is asked first, or the next that is not cut off.
  var member: Int {
    let count = cluster.memberCount
    let all = (0..<count).map { (character.member + $0) % count }
    return all.first { !cluster.isCutOff($0) } ?? character.member
  }

  private mutating func endWatches(at member: Int) {
    kept.removeAll { $0.member == member }
    for wait in waits {
      guard case .watching(let watch) = wait.state, watch.member == member else { continue }
      end(wait.waiter, reply(to: .refused(.unavailable)))
    }
  }
}
