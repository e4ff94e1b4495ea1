package import UpdateMachine

/// What a user can do to a row. The server does it, or refuses it with a code; see
/// ``TableServer``. It shows when the server's notification comes, also to its maker.
package enum TableChange: Mutation, Hashable {
  /// A new row. Its ID must never have been used; draw it at random, like a UUID.
  case insert(RowKey, parent: Int64?, JSONObject)
  /// Sets these fields, and leaves the others.
  case set(RowKey, JSONObject)
  /// Gives a row another parent.
  case move(RowKey, parent: Int64?)
  /// Deletes a row, and all rows below it.
  case delete(RowKey)

  /// The row.
  package var row: RowKey {
    switch self {
    case .insert(let row, _, _), .set(let row, _), .move(let row, _), .delete(let row): row
    }
  }

  package var name: String {
    switch self {
    case .insert: "insert"
    case .set: "set"
    case .move: "move"
    case .delete: "delete"
    }
  }

  package var size: Int64 { JSONValue.object(arguments).byteCount }

  /// Does nothing: only the server changes rows.
  package func apply(to state: inout TableState) {}

  /// The arguments as they are pushed: `table` and `id`, and `parent` and `fields` where there are
  /// any.
  package var arguments: JSONObject {
    var arguments = JSONObject()
    arguments["table"] = .number(JSONNumber(Int64(row.table)))
    arguments["id"] = .number(JSONNumber(row.id))
    switch self {
    case .insert(_, let parent, let fields):
      arguments["parent"] = parent.map { .number(JSONNumber($0)) }
      arguments["fields"] = .object(fields)
    case .set(_, let fields): arguments["fields"] = .object(fields)
    case .move(_, let parent): arguments["parent"] = parent.map { .number(JSONNumber($0)) }
    case .delete: break
    }
    return arguments
  }

  /// Reads a change as it was pushed; `nil`: it is none.
  package init?(name: String, arguments: JSONValue) {
    guard let table = arguments["table"]?.int64.flatMap({ UInt8(exactly: $0) }),
      let id = arguments["id"]?.int64
    else { return nil }
    let row = RowKey(table, id)
    let parent = arguments["parent"]?.int64
    switch (name, arguments["fields"]?.object) {
    case ("insert", let fields?): self = .insert(row, parent: parent, fields)
    case ("set", let fields?): self = .set(row, fields)
    case ("move", nil): self = .move(row, parent: parent)
    case ("delete", nil): self = .delete(row)
    case _: return nil
    }
  }
}

extension MutationPush {
  /// Converts an outbox's push.
  package init(_ push: PushRequest<TableChange>) {
    self.init(
      client: push.client, knownRefusal: push.knownRefusal, voided: push.voided,
      mutations: push.mutations.map {
        NamedMutation(id: $0.id, name: $0.change.name, arguments: .object($0.change.arguments))
      })
  }
}
