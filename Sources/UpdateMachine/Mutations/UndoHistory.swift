/// What a user can undo and redo: two stacks of changes, each with the change that takes it back. A
/// plain value, saved with the outbox whose changes it is about.
///
/// A change goes on the undo stack when its user makes it, and clears the redo stack. To undo it is
/// to make its inverse, a change like any other, which then goes on the redo stack. So a redo is
/// the undo of an undo, and needs no rule of its own.
///
/// The inverse takes back what its change *did*. While the change is pending, that differs with
/// each newer state, so the inverse is computed when it is asked for. When the change is confirmed,
/// it is computed for the last time (``Outbox/noteRun(through:refusal:over:)``). Two that were
/// coalesced can no longer be told apart: the inverse of each is that of the moment when its user
/// made it.
///
/// Source: ours. The condition that an inverse carries is the *selective undo* of shared editors.
@usableFromInline
struct UndoHistory<Change: Mutation>: Sendable {
  /// Oldest first; their places ascend.
  @usableFromInline var undo: [Entry] = []
  @usableFromInline var redo: [Entry] = []
  /// The keys of saved rows that cannot be read. The next step removes them.
  @usableFromInline var strays: [[UInt8]] = []

  /// A change that can be taken back.
  @usableFromInline
  struct Entry: Sendable {
    @usableFromInline let ticket: MutationTicket
    /// The name of what the user did at first, for the app's menu.
    @usableFromInline let name: String
    /// The change to make: the inverse, or the change itself if it was discarded.
    @usableFromInline var next: Change
    /// What ``next`` undoes: this change, or what this one undid before it was discarded.
    @usableFromInline let undone: MutationTicket?
    /// Counts up over both stacks.
    @usableFromInline var place: UInt64 = 0
    /// The outbox's version of the last change of this entry.
    @usableFromInline var version: OutboxVersion

    @usableFromInline
    init(
      _ ticket: MutationTicket, name: String, next: Change, undone: MutationTicket?,
      version: OutboxVersion
    ) {
      self.undone = undone
      self.ticket = ticket
      self.name = name
      self.next = next
      self.version = version
    }

    /// Whether the change never left and was discarded: it is made again as it was.
    var isDiscarded: Bool { undone != ticket }

    func isUndoing(_ tickets: TicketSet) -> Bool {
      undone.map { tickets.contains($0) } ?? false
    }
  }

  @usableFromInline
  init() {}

  @usableFromInline var isEmpty: Bool { undo.isEmpty && redo.isEmpty }

  @usableFromInline
  subscript(stack: UndoStack) -> [Entry] {
    get { stack == .undo ? undo : redo }
    set { if stack == .undo { undo = newValue } else { redo = newValue } }
  }

  /// Adds an entry. If the stack has more than `maximum` then, the oldest is forgotten.
  mutating func push(_ entry: Entry, on stack: UndoStack, keeping maximum: Int) {
    var entry = entry
    entry.place = max(undo.last?.place ?? 0, redo.last?.place ?? 0) + 1
    self[stack].append(entry)
    if self[stack].count > maximum { self[stack].removeFirst() }
  }

  /// Forgets what would undo these changes: they will never have an effect.
  mutating func remove(_ tickets: TicketSet) {
    guard !isEmpty else { return }
    undo.removeAll { $0.isUndoing(tickets) }
    redo.removeAll { $0.isUndoing(tickets) }
  }

  func holds(_ ticket: MutationTicket) -> Bool {
    undo.contains { $0.ticket == ticket } || redo.contains { $0.ticket == ticket }
  }

  /// Notes what takes a change back, now that more is known of it. `nil`: it did nothing.
  mutating func settle(
    _ ticket: MutationTicket, _ inverse: Change?, _ version: OutboxVersion
  ) {
    guard let inverse else { return remove(TicketSet(ticket)) }
    for stack in [UndoStack.undo, .redo] {
      guard let index = self[stack].firstIndex(where: { $0.ticket == ticket }) else { continue }
      self[stack][index].next = inverse
      self[stack][index].version = version
    }
  }
}

/// One of the two stacks of an ``UndoHistory``.
@usableFromInline
package enum UndoStack: UInt8, Sendable {
  case undo, redo

  /// Where what takes back an entry goes.
  var other: UndoStack { self == .undo ? .redo : .undo }
}

/// What came of an undo or a redo.
public enum UndoOutcome<Refusal: Error & Sendable>: Sendable {
  /// The inverse was made, and is queued like any change. This is its ticket.
  case queued(MutationTicket)
  /// The change of this ticket was discarded: it has had no effect at the server.
  case discarded(MutationTicket)
  /// Nothing was done: somebody has changed the same thing since, so the inverse throws. The change
  /// can no longer be undone, and the one before it is next.
  case outdated(Refusal)
  /// Nothing was done, because it is not known what this change does at the server: it is
  /// *uncertain*, or this version of the app cannot read it, or it may have left, and here neither
  /// it nor its inverse has an effect. Decide about it first, or wait.
  case undecided(MutationTicket)
  /// There is nothing to undo, or to redo.
  case nothing
}

extension UndoOutcome: Equatable where Refusal: Equatable {}
extension UndoHistory: Equatable where Change: Equatable {}
extension UndoHistory.Entry: Equatable where Change: Equatable {}
