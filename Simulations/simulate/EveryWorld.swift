import EtcdWorld
import Simulator
import ZulipWorld

/// All worlds of the simulator, and those whose apps are targets of their own.
enum EveryWorld: WorldVisits {
  static func visited<Visitor: AppVisitor>(
    _ world: LibraryWorld, by visitor: Visitor
  ) -> Visitor.Answer {
    switch world {
    case .zulip: visitor.visit(ZulipApp.self)
    case .etcd: visitor.visit(EtcdApp.self)
    case .directory, .messages, .ledger, .posts, .records, .tables, .streams, .tasks:
      LibraryWorld.visited(world, by: visitor)
    }
  }
}
