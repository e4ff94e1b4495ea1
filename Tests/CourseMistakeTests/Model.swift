import MessageSync
import UpdateMachine

// The model of the course, with one line broken.

/// What the app holds: all that is open, and a part of what is done.
struct ToDoModel: MessageModel {
  typealias Narrow = MessageFilter<ToDo>
  typealias Refusal = Never

  let client: ClientID?
  var open = VersionedMap<Int64, String>()
  var lists: MessageStore<Narrow>

  init(snapshot: ToDoSnapshot) {
    client = snapshot.client
    for item in snapshot.open { open[item.id] = item.title }
    lists = MessageStore(following: [ToDo.channel])
  }

  init(snapshot: ToDoSnapshot, replacing old: ToDoModel?) {
    self.init(snapshot: snapshot)
    // Article example begins: course mistake
    if let old { lists = old.lists }
    // Article example ends
  }

  mutating func apply(_ event: ToDoEvent) {
    switch event.effect {
    case .added(let item): open[item.id] = item.title
    case .ticked(let row): open[row.item.id] = nil
    case .cleared, nil: break
    }
    if let done = event.inDone { lists.apply(done) }
  }
}
