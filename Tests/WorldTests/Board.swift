import Simulator
import SyncProtocols
import UpdateMachine

// An app under test whose users change things: a board of cards, online or offline. This file is
// written as an app's developer would write it: with what is public.

// MARK: What the app ships

// Article example begins: board
/// A board of cards. Only two cards fit into the column "doing".
struct Board: Equatable, Sendable, CustomStringConvertible {
  enum Column: String, CaseIterable, Sendable { case open, doing, done }

  struct Card: Equatable, Sendable {
    var id: Int64
    var column = Column.open
  }

  private(set) var cards: [Card] = []

  init(cards: [Card] = []) { self.cards = cards }

  func column(of card: Int64) -> Column? { cards.first { $0.id == card }?.column }

  func count(in column: Column, without card: Int64) -> Int {
    cards.count { $0.column == column && $0.id != card }
  }

  /// Does what a change says, if it can be done.
  mutating func take(_ change: BoardChange) {
    let index = cards.firstIndex { $0.id == change.card }
    switch (change, index) {
    case (.add(let card), nil): cards.append(Card(id: card))
    case (.move(_, let column), let index?): cards[index].column = column
    case (.delete, let index?): cards.remove(at: index)
    default: break
    }
  }

  var description: String {
    cards.isEmpty ? "empty" : cards.map { "\($0.id):\($0.column)" }.joined(separator: " ")
  }
}

/// What a user can do.
enum BoardChange: Mutation, Equatable, CustomStringConvertible {
  case add(Int64)
  case move(Int64, to: Board.Column)
  case delete(Int64)

  enum Refusal: Error { case exists, missing, full }

  var name: String {
    switch self {
    case .add: "add"
    case .move: "move"
    case .delete: "delete"
    }
  }

  func apply(to board: inout Board) throws(Refusal) {
    let isThere = board.column(of: card) != nil
    switch self {
    case .add: if isThere { throw .exists }
    case .move(_, .doing) where isThere:
      if board.count(in: .doing, without: card) >= 2 { throw .full }
    case .move, .delete: if !isThere { throw .missing }
    }
    board.take(self)
  }

  var card: Int64 {
    switch self {
    case .add(let card), .move(let card, _), .delete(let card): card
    }
  }

  var description: String {
    if case .move(_, let column) = self { return "move \(card) to \(column)" }
    return "\(name) \(card)"
  }
}

/// A row of the server's log: what was changed, and if a client did it, which of its changes it is.
struct BoardEvent: Sendable {
  /// `nil`: nothing, because the server has refused it.
  var change: BoardChange?
  var client: ClientID?
  var mutation: MutationID?
  var confirmation: MutationConfirmation?
}

/// The answer to a client's first request.
struct BoardSnapshot: Sendable {
  var board: Board
  var client: ClientID
  var confirmation: MutationConfirmation
}

/// The board as the server has told it.
struct BoardModel: SyncModel, CustomStringConvertible {
  typealias Change = BoardChange
  typealias Refusal = Never

  private(set) var state: Board
  private(set) var client: ClientID?
  private(set) var confirmation: MutationConfirmation

  init(snapshot: BoardSnapshot) {
    state = snapshot.board
    client = snapshot.client
    confirmation = snapshot.confirmation
  }

  mutating func apply(_ event: BoardEvent) {
    if let change = event.change { state.take(change) }
    if event.client == client, let news = event.confirmation { confirmation = news }
  }

  var description: String { state.description }
}
// Article example ends

// MARK: What its tests add

// Article example begins: boardServer
/// The server's board: the cards of each column, in rows with numbers.
struct BoardTruth: SimulatedTruth {
  private var rows: [Int64: (number: Int, column: Board.Column)] = [:]
  private var count = 0

  mutating func make(
    _ change: BoardChange, by client: ClientProgress?
  ) throws(ChangeRefusal) -> BoardEvent {
    switch change {
    case .add(let card):
      if rows[card] != nil { throw ChangeRefusal("EXISTS") }
      count += 1
      rows[card] = (count, .open)
    case .move(let card, let column):
      if rows[card] == nil { throw ChangeRefusal("MISSING") }
      let others = rows.filter { $0.key != card && $0.value.column == .doing }
      if column == .doing, others.count >= 2 { throw ChangeRefusal("FULL") }
      rows[card]?.column = column
    case .delete(let card):
      if rows.removeValue(forKey: card) == nil { throw ChangeRefusal("MISSING") }
    }
    return event(change, by: client)
  }

  func refusal(to client: ClientProgress) -> BoardEvent { event(nil, by: client) }

  private func event(_ change: BoardChange?, by client: ClientProgress?) -> BoardEvent {
    BoardEvent(
      change: change, client: client?.client, mutation: client?.last,
      confirmation: client?.confirmation)
  }

  func snapshot(for client: ClientProgress) -> BoardSnapshot {
    BoardSnapshot(board: board, client: client.client, confirmation: client.confirmation)
  }

  var board: Board {
    let rows = rows.sorted { $0.value.number < $1.value.number }
    return Board(cards: rows.map { Board.Card(id: $0.key, column: $0.value.column) })
  }

  var description: String { board.description }
}
// Article example ends

// Article example begins: boardApp
enum BoardApp: SimulatedOfflineApp {
  typealias Model = BoardModel

  static func beginning(_ choices: inout Choices) -> BoardTruth { BoardTruth() }

  /// What a user who sees this board may do next.
  static func nextChange(_ board: Board, _ choices: inout Choices) -> BoardChange? {
    let card = choices.draw(.users, in: 1...6)
    switch choices.draw(.users, below: 6) {
    case 0, 1: return .add(card)
    case 2: return .delete(card)
    default: return .move(card, to: choices.pick(.users, Board.Column.allCases))
    }
  }

  /// What must hold of what a user sees, in words if it does not.
  static func objection(_ board: Board, _ truth: BoardTruth) -> String? {
    let doing = board.cards.count { $0.column == .doing }
    return doing > 2 ? "\(doing) cards are in the column that has room for two" : nil
  }
}
// Article example ends
