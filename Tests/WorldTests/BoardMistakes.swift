import Simulator
import SyncProtocols
import UpdateMachine

// Boards with typical mistakes. Each must be found.

/// What a board does wrong.
protocol BoardMistake: Sendable {
  /// What a client's user does.
  static func apply(_ change: BoardChange, to board: inout Board) throws(BoardChange.Refusal)
  /// What the server does.
  static func make(
    _ change: BoardChange, by client: ClientProgress?, in truth: inout BoardTruth
  ) throws(ChangeRefusal) -> BoardEvent
  /// What a model does with an event.
  static func take(_ event: BoardEvent, in model: inout BoardModel)
}

extension BoardMistake {
  static func apply(_ change: BoardChange, to board: inout Board) throws(BoardChange.Refusal) {
    try change.apply(to: &board)
  }
  static func make(
    _ change: BoardChange, by client: ClientProgress?, in truth: inout BoardTruth
  ) throws(ChangeRefusal) -> BoardEvent { try truth.make(change, by: client) }
  static func take(_ event: BoardEvent, in model: inout BoardModel) { model.apply(event) }
}

/// None: what surrounds the mistakes is right.
enum NoMistakeAtAll: BoardMistake {}

/// The client lets any number of cards into the column "doing". Its server does not.
enum ForgetsTheLimit: BoardMistake {
  static func apply(_ change: BoardChange, to board: inout Board) throws(BoardChange.Refusal) {
    do throws(BoardChange.Refusal) {
      try change.apply(to: &board)
    } catch {
      if error != .full { throw error }
      board.take(change)
    }
  }
}

/// The client's user may add a card again, and then has it twice.
enum AddsAgain: BoardMistake {
  static func apply(_ change: BoardChange, to board: inout Board) throws(BoardChange.Refusal) {
    try change.apply(to: &board)
    if case .add = change { board = Board(cards: board.cards + board.cards.suffix(1)) }
  }
}

/// The server opens a card that is moved to where it is. No client does.
enum ServerToggles: BoardMistake {
  static func make(
    _ change: BoardChange, by client: ClientProgress?, in truth: inout BoardTruth
  ) throws(ChangeRefusal) -> BoardEvent {
    guard case .move(let card, let column) = change, truth.board.column(of: card) == column else {
      return try truth.make(change, by: client)
    }
    return try truth.make(.move(card, to: .open), by: client)
  }
}

/// The model takes events, but not how far its user's changes are confirmed.
enum ForgetsMutationIDs: BoardMistake {
  static func take(_ event: BoardEvent, in model: inout BoardModel) {
    model.apply(BoardEvent(change: event.change))
  }
}

/// The model takes each client's confirmation for its own.
enum TakesOthersConfirmation: BoardMistake {
  static func take(_ event: BoardEvent, in model: inout BoardModel) {
    var event = event
    if event.client != nil { event.client = model.client }
    model.apply(event)
  }
}

/// The model takes the refusal of a change for a confirmation.
enum ForgetsRefusals: BoardMistake {
  static func take(_ event: BoardEvent, in model: inout BoardModel) {
    var event = event
    if let last = event.mutation { event.confirmation = MutationConfirmation(last: last) }
    model.apply(event)
  }
}

// MARK: The app with a mistake

struct MistakenChange<Wrong: BoardMistake>: Mutation, Equatable, CustomStringConvertible {
  var change: BoardChange

  var name: String { change.name }
  var description: String { change.description }

  func apply(to board: inout Board) throws(BoardChange.Refusal) {
    try Wrong.apply(change, to: &board)
  }
}

struct MistakenBoard<Wrong: BoardMistake>: SyncModel, CustomStringConvertible {
  typealias Refusal = Never
  typealias Change = MistakenChange<Wrong>

  private var model: BoardModel

  init(snapshot: BoardSnapshot) { model = BoardModel(snapshot: snapshot) }

  mutating func apply(_ event: BoardEvent) { Wrong.take(event, in: &model) }

  var state: Board { model.state }
  var client: ClientID? { model.client }
  var confirmation: MutationConfirmation { model.confirmation }
  var description: String { model.description }
}

struct MistakenTruth<Wrong: BoardMistake>: SimulatedTruth {
  var truth = BoardTruth()

  mutating func make(
    _ change: MistakenChange<Wrong>, by client: ClientProgress?
  ) throws(ChangeRefusal) -> BoardEvent {
    try Wrong.make(change.change, by: client, in: &truth)
  }

  func refusal(to client: ClientProgress) -> BoardEvent { truth.refusal(to: client) }
  func snapshot(for client: ClientProgress) -> BoardSnapshot { truth.snapshot(for: client) }
  var description: String { truth.description }
}

enum MistakenBoardApp<Wrong: BoardMistake>: SimulatedOfflineApp {
  typealias Model = MistakenBoard<Wrong>

  static func beginning(_ choices: inout Choices) -> MistakenTruth<Wrong> { MistakenTruth() }

  static func nextChange(_ board: Board, _ choices: inout Choices) -> MistakenChange<Wrong>? {
    BoardApp.nextChange(board, &choices).map { MistakenChange(change: $0) }
  }

  static func objection(_ board: Board, _ truth: MistakenTruth<Wrong>) -> String? {
    BoardApp.objection(board, truth.truth)
  }
}
