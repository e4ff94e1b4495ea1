public import UpdateMachine

/// What a user can do to a row, while connected. The server does it, or refuses it with a code. It
/// shows when the server's notification comes, also to its maker.
///
/// ``LocalTableSync`` refuses what is impossible:
///
/// | code | meaning |
/// | --- | --- |
/// | `taken` | the ID of the new row was used before, perhaps by a row that is deleted |
/// | `deleted` | the row, or the new parent, is deleted |
/// | `unknown` | the table, the row or the new parent never was |
/// | `no-parent` | a row of the top table has no parent |
public enum TableChange: Mutation, Hashable {
  /// A new row. Its ID must never have been used; draw it at random, like a UUID.
  case insert(TableRowKey, parent: Int64?, JSONObject)
  /// Sets these fields, and leaves the others.
  case set(TableRowKey, JSONObject)
  /// Gives a row another parent.
  case move(TableRowKey, parent: Int64?)
  /// Deletes a row, and all rows below it.
  case delete(TableRowKey)

  /// The row.
  package var row: TableRowKey {
    switch self {
    case .insert(let row, _, _), .set(let row, _), .move(let row, _), .delete(let row): row
    }
  }

  public var name: String {
    switch self {
    case .insert: "insert"
    case .set: "set"
    case .move: "move"
    case .delete: "delete"
    }
  }

  public var size: Int64 { JSONValue.object(arguments).byteCount }

  /// Does nothing: only the server changes rows.
  public func apply(to state: inout TableState) {}

  /// The arguments as they are pushed.
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
    let row = TableRowKey(table, id)
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
  /// Converts an outbox's push. Each mutation is an `insert`, a `set`, a `move` or a `delete`. Its
  /// arguments are `table` and `id`, and `parent` and `fields` where there are any.
  public init(_ push: PushRequest<TableChange>) {
    self.init(
      client: push.client, knownRefusal: push.knownRefusal, voided: push.voided,
      mutations: push.mutations.map {
        NamedMutation(id: $0.id, name: $0.change.name, arguments: .object($0.change.arguments))
      })
  }
}
