import Foundation
import UpdateMachine

/// What goes wrong with a cluster.
enum Fault: String, CaseIterable {
  case killLeader = "the leader is killed"
  case killFollower = "a follower is killed"
  case endLeader = "the leader ends in order"
  case killMost = "all members but one are killed"
  case killAll = "all members are killed"
  case pauseLeader = "the leader is stopped"
  case pauseFollower = "a follower is stopped"
  case compact = "history is thrown away"
  case wipe = "a member's disk is wiped, and it joins anew"

  /// Those that each run has at least once, and the others.
  static func all(members: Int) -> (first: [Fault], others: [Fault]) {
    members == 1
      ? ([.killLeader, .endLeader, .pauseLeader, .compact], [])
      : (
        [.killLeader, .endLeader, .pauseFollower, .compact, .wipe],
        [.killFollower, .killMost, .killAll, .pauseLeader]
      )
  }
}

/// Breaks a cluster, one way after the other, as a seed says. When it ends, all members are well.
struct Faults {
  private let cluster: Cluster
  private let clients: Clients
  private let ledger: Ledger
  private var chance: SplitMix
  private var queue: [Fault]
  private let all: [Fault]

  init(_ cluster: Cluster, _ clients: Clients, _ ledger: Ledger, seed: UInt64) {
    self.cluster = cluster
    self.clients = clients
    self.ledger = ledger
    chance = SplitMix(seed)
    let (first, others) = Fault.all(members: cluster.members.count)
    all = first + others
    queue = first
    queue.shuffle(using: &chance)
  }

  /// Whether each kind that a run must have was there.
  var isThrough: Bool { queue.isEmpty }

  /// Waits one to three seconds.
  mutating func rest() { Uptime.wait(1000 + chance.below(2000)) }

  mutating func next() -> Fault { queue.popLast() ?? all[chance.below(all.count)] }

  mutating func perform(_ fault: Fault) throws {
    switch fault {
    case .killLeader: try kill([leader()])
    case .killFollower: try kill([follower()])
    case .endLeader: try kill([leader()], inOrder: true)
    case .killMost:
      let spared = chance.below(cluster.members.count)
      try kill(cluster.members.enumerated().filter { $0.offset != spared }.map(\.element))
    case .killAll: try kill(cluster.members)
    case .pauseLeader: pause(leader())
    case .pauseFollower: pause(follower())
    case .compact:
      // Some are away meanwhile, and come back to a history without their place.
      try clients.withHalfAway {
        Uptime.wait(500)
        try cluster.compact()
      }
      ledger.note { $0.compactions += 1 }
    case .wipe:
      try cluster.replace(follower())
      ledger.note {
        $0.kills += 1
        $0.wipes += 1
      }
    }
    try cluster.waitUntilWell()
  }

  private mutating func leader() -> Member {
    cluster.leader ?? cluster.members[chance.below(cluster.members.count)]
  }

  private mutating func follower() -> Member {
    let leader = cluster.leader
    let others = cluster.members.filter { $0 !== leader }
    return others[chance.below(others.count)]
  }

  private mutating func kill(_ members: [Member], inOrder: Bool = false) throws {
    for member in members { if inOrder { member.terminate() } else { member.kill() } }
    ledger.note { $0.kills += members.count }
    Uptime.wait(200 + chance.below(2500))
    for member in members { try cluster.start(member) }
  }

  /// For longer than an election takes (1 to 2 s), and than a silent watch is trusted.
  private mutating func pause(_ member: Member) {
    member.pause()
    ledger.note { $0.pauses += 1 }
    Uptime.wait(2500 + chance.below(8000))
    member.resume()
  }
}
