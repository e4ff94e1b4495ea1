import Foundation
import Simulator
import SyncProtocols
import Testing
import UpdateMachine

/// Tests that an app's developer can name what a protocol is about, as in `some Mutation<Board>`.
/// Without primary associated types these functions do not compile.
@Suite struct PrimaryTypesTests {
  /// Whatever holds the list takes what any server of lists tells.
  private func follow(
    _ model: some SyncModel<ToDoEvent, [ToDo]> & Listing,
    _ truth: some ServerTruth<ToDoEvent, [ToDo]>, _ events: some EventBatch<ToDoEvent>
  ) throws -> (followed: [ToDo], begun: [ToDo]) {
    var model = model
    for index in 0..<events.count {
      if let event = events.event(at: index) { try model.apply(event) }
    }
    return (model.items, truth.snapshot)
  }

  @Test func `a function takes any model, truth and batch of the app's events`() throws {
    let item = ToDo(
      id: .init(uuid: (1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)), title: "milk")
    var truth = ToDoServer()
    truth.apply(.add(item))
    let batch = QueueBatch(
      queue: QueueID("q"), events: [QueuedEvent(id: 0, event: ToDoEvent.add(item))])
    let (followed, begun) = try follow(ToDoList(snapshot: []), truth, batch)
    #expect(followed == [item] && begun == [item])
  }

  private func outcome(of change: some Mutation<Board>, on board: Board) throws -> Board {
    var board = board
    _ = try change.apply(to: &board)
    return board
  }

  @Test func `a function takes any change of the app's state`() throws {
    #expect(try outcome(of: BoardChange.add(1), on: Board()).description == "1:open")
    #expect(throws: BoardChange.Refusal.missing) {
      try outcome(of: BoardChange.delete(1), on: Board())
    }
  }

  private func next<Rules: SyncProtocol<OwnFeed<Int>.Place, OwnFeed<Int>.Answer>>(
    _ rules: Rules.Type, _ place: OwnFeed<Int>.Place
  ) -> SyncAdvance<OwnFeed<Int>.Place> {
    let answer = OwnFeed<Int>.Answer(
      log: 0, after: 0, through: 1, hasMore: false, events: [(1, 5)])
    return rules.advance(place, over: answer)
  }

  @Test func `a function takes any rules of the app's places and answers`() {
    let first = OwnFeed<Int>.Place(log: 0, number: 0)
    #expect(next(OwnFeed<Int>.self, first) == .next(OwnFeed.Place(log: 0, number: 1), first: 0))
  }

  @Test func `a list names the simulations of one model`() {
    let lists: [any SimulatedApp<ToDoList, ToDoServer>.Type] = [ToDoApp.self]
    let boards: [any SimulatedOfflineApp<BoardModel, BoardTruth>.Type] = [
      BoardApp.self, FeedBoardApp.self,
    ]
    #expect(lists.map { "\($0)" } == ["ToDoApp"])
    #expect(boards.map { "\($0)" } == ["BoardApp", "FeedBoardApp"])
  }
}

/// What a list holds.
private protocol Listing { var items: [ToDo] { get } }
extension ToDoList: Listing {}
