import EtcdSync
import Simulator
import SyncProtocols
import Synchronization
import UpdateMachine

extension Step: MarkedChange {
  /// What the cluster holds of a change as long as it runs. Of those that only write, the last.
  var marks: [Mark] { if case .write = self { [] } else { [mark] } }

  var description: String { "\(name) \(mark.number) of client \(mark.client)" }
}

/// Judges a real client while it runs by the simulator's own oracles: by that of what becomes of a
/// user's changes, and by the client's invariants.
///
/// It knows the changes of one process: those that were pending when it began, and its own.
final class Witness: Sendable {
  typealias Client = SyncClient<Child.Model, EtcdLog>

  private struct Known {
    var client: Client?
    var book = ChangeBook<Step>()
    /// The newest change in the book.
    var newest = MutationTicket(0)
    /// The number of the first change in the book; `nil`: there is none.
    var first: Int?
    /// The newest change of which it is not known what another history has made of it.
    var doubtful = MutationTicket(0)
    /// What was judged last.
    var judged: Judged?
  }

  /// Of which states an objection depends.
  private struct Judged: Equatable {
    var outbox: OutboxVersion
    var view: UInt64
    var doubtful: MutationTicket
  }

  private let number: Int
  private let known = Mutex(Known())

  /// - Parameter number: the client's number.
  init(_ number: Int) { self.number = number }

  /// Takes the client as it is after an input.
  func look(at client: Client) {
    known.withLock { known in
      known.client = client
      guard let outbox = client.outbox, outbox.newestTicket > known.newest else { return }
      for pending in outbox.pending where pending.ticket > known.newest {
        known.book.note(pending.ticket, pending.change)
        known.first = known.first ?? pending.change.mark.number
      }
      known.newest = outbox.newestTicket
    }
  }

  /// Notes that the user gives up a change.
  func noteDiscarded(_ ticket: MutationTicket) {
    known.withLock { $0.book.discard(TicketSet(ticket), isCertain: false) }
  }

  /// Notes that the cluster has another history: what became of the changes so far is not known.
  func noteOtherHistory() {
    known.withLock { known in
      known.doubtful = known.newest
      for made in known.book.made { known.book.doubt(TicketSet(made.ticket)) }
    }
  }

  /// What is wrong with the client as it is now; `nil`: nothing.
  func objection() -> String? {
    known.withLock { known in
      guard let client = known.client else { return nil }
      if let violation = client.violation() { return "\(violation)" }
      guard let first = known.first, let model = client.model, let local = client.local else {
        return nil
      }
      let now = Judged(
        outbox: local.outbox.currentVersion, view: local.view.version, doubtful: known.doubtful)
      guard now != known.judged else { return nil }
      known.judged = now
      let law = StepLaw(
        client: number, first: first, doubtful: known.doubtful, model: model, local: local)
      return ChangeOracle.objection(law, local.outbox, &known.book).map { objection in
        "oracle \(objection.oracle): expected \(objection.expected), found \(objection.found)"
      }
    }
  }
}

/// The law of a run's changes: the cluster makes each once, in its client's order, over what is
/// there by then.
private struct StepLaw: ConflictLaw {
  typealias Change = Step

  let client: Int
  /// The number of the first change that the book knows.
  let first: Int
  /// The newest change that may be lost with another history.
  let doubtful: MutationTicket
  let local: LocalChanges<Step>
  private let model: Child.Model
  /// The marks of this client in the confirmed state, in the order in which they were left.
  private let marks: [Step.Mark]
  /// The number that this client has written last.
  private let written: Int

  init(
    client: Int, first: Int, doubtful: MutationTicket, model: Child.Model,
    local: LocalChanges<Step>
  ) {
    self.client = client
    self.first = first
    self.doubtful = doubtful
    self.model = model
    self.local = local
    var found: [(mark: Step.Mark, revision: Int64)] = []
    for prefix in ["entry/", "claim/"] {
      for (_, entry) in model.state.entries(under: EtcdKey(prefix)) {
        guard let mark = StepLaw.mark(entry), mark.client == client else { continue }
        found.append((mark, entry.revision))
      }
    }
    found.sort { ($0.revision, $0.mark.number) < ($1.revision, $1.mark.number) }
    marks = found.map(\.mark)
    let key = EtcdKey(Step.written + "\(client)")
    written = model.state[key]?.text.flatMap { Int($0) } ?? 0
  }

  /// Who has made an entry; `nil`: nobody of ours.
  private static func mark(_ entry: EtcdEntry) -> Step.Mark? {
    let numbers = (entry.text ?? "").split(separator: " ").compactMap { Int($0) }
    return numbers.count == 3 ? Step.Mark(client: numbers[0], number: numbers[1]) : nil
  }

  func objectionToView(_ book: Book) -> UserObjection? {
    var view = model.state
    for pending in local.outbox.pending {
      var next = view
      var isRefused = false
      do throws(ChangeRefusal) {
        try pending.change.apply(to: &next)
        view = next
      } catch {
        isRefused = true
      }
      guard isRefused != (pending.refusal != nil) else { continue }
      return UserObjection(
        .input, "a change is set aside when it throws, and only then", "\(pending)")
    }
    guard view != local.view.state else { return nil }
    return UserObjection(
      .causality, "the confirmed state with the pending changes over it", "\(local.outbox)")
  }

  func copies(of made: Made) -> (found: Int, maximum: Int) {
    (marks.count { made.change.marks.contains($0) }, 1)
  }

  /// Those of earlier processes are left out.
  var order: [Step.Mark]? { marks.filter { $0.number >= first } }

  func isConfirmed(_ made: Made, _ book: Book) -> Bool {
    if case .write(let mark) = made.change {
      return written >= mark.number || made.ticket <= doubtful
    }
    return made.change.marks.allSatisfy { marks.contains($0) }
  }
}
