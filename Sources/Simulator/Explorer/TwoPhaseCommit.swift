/// Two-phase commit: a transaction manager asks all resource managers for their votes, and all must
/// end alike.
///
/// It is the TLA+ module `TwoPhase` of Gray and Lamport, "Consensus on Transaction Commit" (ACM
/// TODS 31, 2006), action by action. Messages are never lost and never removed. It serves as a
/// benchmark: its state space is known, and model checkers have published how fast they explore it.
///
/// | resource managers | generated | distinct | depth |
/// | ---: | ---: | ---: | ---: |
/// | 3 | 1,146 | 288 | 11 |
/// | 8 | 18,507,778 | 1,745,408 | 26 |
@usableFromInline
package struct TwoPhaseCommit: ExplorableModel, Sendable {
  /// The number of resource managers; their states fit into one word.
  @usableFromInline package let participants: Int
  /// The votes that the transaction manager needs before it commits. All are required; with one
  /// fewer, the explorer finds two managers that end differently.
  @usableFromInline package let votesNeeded: Int

  /// One bit per resource manager.
  @usableFromInline let everyone: UInt64

  package static var participantsAllowed: ClosedRange<Int> { 1...15 }

  /// - Parameters:
  ///   - participants: from 1 to 15.
  ///   - votesNeeded: from 0 to `participants`; `nil`: all of them.
  package init(participants: Int, votesNeeded: Int? = nil) {
    precondition(
      TwoPhaseCommit.participantsAllowed.contains(participants), "1 to 15 resource managers")
    let votes = votesNeeded ?? participants
    precondition((0...participants).contains(votes), "no more votes than there are managers")
    self.participants = participants
    self.votesNeeded = votes
    everyone = (1 << UInt64(participants)) - 1
  }

  /// One action of the TLA+ module. Resource managers are numbered from 0.
  @usableFromInline
  package enum Step: Hashable, Sendable {
    case managerReceivesPrepared(Int)
    case managerCommits
    case managerAborts
    case prepares(Int)
    case choosesToAbort(Int)
    case receivesCommit(Int)
    case receivesAbort(Int)
  }

  /// The state of a resource manager or of the transaction manager.
  ///
  /// In a state, the two bits of each resource manager are in two planes of 15 bits. So a set of
  /// managers is one mask, and the invariant needs no loop. From the lowest bit:
  ///
  ///     plane 0 (15), plane 1 (15), tmPrepared (15), Prepared sent (15), tm (2), Commit, Abort
  ///
  /// Working is 00, prepared 01, committed 10, aborted 11. The transaction manager is 0 before it
  /// decides, then 1 or 2. *Commit* and *Abort* are the messages it has sent.
  @usableFromInline
  enum Bits {
    @inlinable static var plane1: UInt64 { 15 }
    @inlinable static var votes: UInt64 { 30 }
    @inlinable static var sent: UInt64 { 45 }
    @inlinable static var hasDecided: UInt64 { 3 << 60 }
    @inlinable static var commits: UInt64 { 1 << 60 | 1 << 62 }
    @inlinable static var aborts: UInt64 { 2 << 60 | 1 << 63 }
    @inlinable static var commitSent: UInt64 { 1 << 62 }
    @inlinable static var abortSent: UInt64 { 1 << 63 }
  }

  /// All are working, and no message was sent.
  @inlinable
  package var initialStates: [UInt64] { [0] }

  @inlinable
  package func forEachSuccessor(of state: UInt64, _ visit: (Step, UInt64) -> Void) {
    let isOpen = state & Bits.hasDecided == 0
    if isOpen {
      if ((state >> Bits.votes) & everyone).nonzeroBitCount >= votesNeeded {
        visit(.managerCommits, state | Bits.commits)
      }
      visit(.managerAborts, state | Bits.aborts)
    }
    var manager = 0
    var bit: UInt64 = 1
    while manager < participants {
      if isOpen, state & bit << Bits.sent != 0 {
        visit(.managerReceivesPrepared(manager), state | bit << Bits.votes)
      }
      let both = bit | bit << Bits.plane1
      if state & both == 0 {
        visit(.prepares(manager), state | bit | bit << Bits.sent)
        visit(.choosesToAbort(manager), state | both)
      }
      if state & Bits.commitSent != 0 {
        visit(.receivesCommit(manager), state & ~bit | bit << Bits.plane1)
      }
      if state & Bits.abortSent != 0 {
        visit(.receivesAbort(manager), state | both)
      }
      manager &+= 1
      bit <<= 1
    }
  }

  /// `TCConsistent`: no two resource managers end differently.
  @inlinable
  package func violation(of state: UInt64) -> String? {
    let ended = (state >> Bits.plane1) & everyone
    let aborted = ended & state
    guard aborted != 0, aborted != ended else { return nil }
    return "one resource manager has committed and another has aborted"
  }

  @usableFromInline
  package func description(of state: UInt64) -> String {
    var text = ""
    for manager in 0..<participants {
      let low = (state >> UInt64(manager)) & 1
      let high = (state >> (Bits.plane1 + UInt64(manager))) & 1
      let names = ["working", "prepared", "committed", "aborted"]
      text += "\(manager + 1) \(names[Int(high * 2 + low)]), "
    }
    let names = ["undecided", "committed", "aborted"]
    text += "manager \(names[Int((state & Bits.hasDecided) >> 60)])"
    text += " with votes of \(list((state >> Bits.votes) & everyone))"
    return text + ", sent: \(list((state >> Bits.sent) & everyone))"
  }

  private func list(_ set: UInt64) -> String {
    var text = ""
    for manager in 0..<participants where (set >> UInt64(manager)) & 1 == 1 {
      text += text.isEmpty ? "\(manager + 1)" : " \(manager + 1)"
    }
    return text.isEmpty ? "nobody" : text
  }

  @usableFromInline
  package func description(ofStep step: Step) -> String {
    switch step {
    case .managerReceivesPrepared(let who): "the manager receives the vote of \(who + 1)"
    case .managerCommits: "the manager decides to commit"
    case .managerAborts: "the manager decides to abort"
    case .prepares(let who): "\(who + 1) prepares and votes"
    case .choosesToAbort(let who): "\(who + 1) chooses to abort"
    case .receivesCommit(let who): "\(who + 1) is told to commit"
    case .receivesAbort(let who): "\(who + 1) is told to abort"
    }
  }
}
