/// What the clients of a crowd come to, together, when nothing goes wrong any more. With a closed
/// exploration of one client this stands for all states of the crowd, of which there are too many.
///
/// **Why one client is nearly enough.** In each step of a crowd, each client takes a step of its
/// own ``SmallWorld``, or none: the crowd only forbids some commits and ticks. So every client of a
/// crowd is a client of that world. What must hold in a state must hold of each client. So if it
/// holds in that world, it holds in a crowd of any size.
///
/// **What is left** is that all clients are up to date at one moment. When all is calm, each client
/// takes calm steps of its own world, in some order with those of others. What happens at once is
/// one way for each client, and affects no other. So only the clients that wait for time to pass
/// matter, and their steps: time passes, or a timer fires, each with what then happens at once. If
/// no client's timers can fire for ever while no time passes, each client takes infinitely many of
/// these steps on an infinite calm path. After k of them it is one of those that any waiting client
/// can be after k. For some k these sets no longer shrink: the clients that *recur*. From then on
/// the crowd is made of clients that recur. So if every calm path from each crowd of clients that
/// recur comes to a settled state, so does every calm path of the crowd.
///
/// Those crowds are the initial states here, whether or not they can be reached, and they take no
/// other steps than calm ones.
package struct SmallCalmCrowd: ExplorableModel {
  /// A crowd that knows no others than the clients that recur, and what they come to.
  let crowd: SmallCrowd
  /// The numbers of the clients that recur, in this crowd.
  let recurring: [UInt32]
  /// Whether timers can fire for ever while no time passes.
  let isRestless: Bool

  package typealias State = SmallCrowd.State
  package typealias Step = SmallCrowd.Step

  /// - Parameter crowd: a crowd all of whose clients are known, because ``SmallCrowd/alone`` was
  ///   explored and is closed.
  package init(of crowd: SmallCrowd) {
    let own = SmallCrowd(
      clients: crowd.clients, queueLength: crowd.queueLength, isSymmetric: crowd.isSymmetric)
    self.crowd = own
    recurring = crowd.known.recurring { [$0.ticked, $0.fired] }.map { number in
      own.known.number(of: crowd.known.word(of: number))
    }
    isRestless = !crowd.known.recurring { [$0.fired] }.isEmpty
  }

  /// The number of clients that recur.
  package var recurringCount: Int { recurring.count }

  /// All crowds of clients that recur, each once.
  package var initialStates: [State] {
    var states: [State] = []
    var places = Array(repeating: 0, count: crowd.clients)
    repeat {
      states.append(crowd.state(of: places.map { recurring[$0] }))
    } while SmallCalmCrowd.advance(&places, below: recurring.count)
    return states
  }

  /// Goes on to the next places, none of which is above the one before it; `false`: these were the
  /// last.
  private static func advance(_ places: inout [Int], below count: Int) -> Bool {
    for index in places.indices.reversed() {
      let most = index == 0 ? count - 1 : places[index - 1]
      if places[index] < most {
        places[index] += 1
        return true
      }
      places[index] = 0
    }
    return false
  }

  package func forEachSuccessor(of state: State, _ visit: (Step, State) -> Void) {}

  package func forEachCalmSuccessor(of state: State, _ visit: (Step, State) -> Void) {
    crowd.forEachCalmSuccessor(of: state, visit)
  }

  package func isSettled(_ state: State) -> Bool { crowd.isSettled(state) }

  package func violation(of state: State) -> String? {
    isRestless ? "time passes in the end" : crowd.violation(of: state)
  }

  package func description(of state: State) -> String { crowd.description(of: state) }
  package func description(ofStep step: Step) -> String { crowd.description(ofStep: step) }
}

extension SmallClients {
  /// The clients that wait for time to pass, and that a waiting client can be after any number of
  /// these steps, each followed by what happens at once. In the order of their numbers.
  ///
  /// - Parameter steps: the clients after each of the steps, and `nobody`.
  func recurring(_ steps: (Record) -> [UInt32]) -> [UInt32] {
    // Calm steps lead to no others than these.
    var everybody: UInt32 = 0
    while everybody < count {
      _ = withCalmSteps(everybody)
      everybody += 1
    }
    var isIn = Array(repeating: false, count: Int(everybody))
    for number in 0..<everybody { isIn[Int(waiting(after: number))] = true }
    var members = (0..<everybody).filter { isIn[Int($0)] }
    while true {
      var isNext = Array(repeating: false, count: Int(everybody))
      for number in members {
        for next in steps(withCalmSteps(number)) where next != SmallClients.nobody {
          isNext[Int(waiting(after: next))] = true
        }
      }
      // A step of some members leads to no more than a step of all: the sets only shrink.
      let next = members.filter { isNext[Int($0)] }
      if next.count == members.count { return members }
      members = next
    }
  }

  /// The client after all that happens at once when all is calm.
  private func waiting(after number: UInt32) -> UInt32 {
    var number = number
    while true {
      let next = withCalmSteps(number).calm
      if next == SmallClients.nobody { return number }
      number = next
    }
  }
}
