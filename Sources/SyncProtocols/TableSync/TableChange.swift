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
/// | `changed` | an undo does not find what it would take back |
///
/// Users can undo and redo a `set` and a `move`, by a `restore` and a `moveBack`. Not an `insert`:
/// its undo would delete what others have put below the new row. Not a `delete`: an ID that was
/// used never comes back.
public enum TableChange: Mutation, Hashable {
  /// A new row. Its ID must never have been used; draw it at random, like a UUID.
  case insert(TableRowKey, parent: Int64?, JSONObject)
  /// Sets these fields, and leaves the others.
  case set(TableRowKey, JSONObject)
  /// Gives a row another parent.
  case move(TableRowKey, parent: Int64?)
  /// Deletes a row, and all rows below it.
  case delete(TableRowKey)
  /// Sets these fields, if each still has the value in `found`. A field that is missing is null. It
  /// undoes a `set`, or redoes it.
  case restore(TableRowKey, JSONObject, ifFound: JSONObject)
  /// Gives a row another parent, if its parent still is `found`. It undoes a `move`, or redoes it.
  case moveBack(TableRowKey, parent: Int64?, ifFound: Int64?)

  /// The row.
  package var row: TableRowKey {
    switch self {
    case .insert(let row, _, _), .set(let row, _), .move(let row, _), .delete(let row),
      .restore(let row, _, _), .moveBack(let row, _, _):
      row
    }
  }

  public var name: String {
    switch self {
    case .insert: "insert"
    case .set: "set"
    case .move: "move"
    case .delete: "delete"
    case .restore: "restore"
    case .moveBack: "move-back"
    }
  }

  public var size: Int64 { JSONValue.object(arguments).byteCount }

  /// Does nothing: only the server changes rows.
  public func apply(to state: inout TableState) {}

  /// Pending changes are never shown, so the undo of a change leads back to what its user saw. The
  /// server takes it only if it finds what the change has written.
  public func inverse(from before: TableState, to after: TableState) -> TableChange? {
    switch self {
    case .insert, .delete: return nil
    case .restore(_, let fields, let found): return .restore(row, found, ifFound: fields)
    case .moveBack(_, let parent, let found): return .moveBack(row, parent: found, ifFound: parent)
    case .set(_, let fields):
      guard let content = before.rows[row]?.content else { return nil }
      var old = JSONObject()
      var new = JSONObject()
      for field in fields.members where content.fields[field.name] ?? .null != field.value {
        old[field.name] = content.fields[field.name] ?? .null
        new[field.name] = field.value
      }
      return new.members.isEmpty ? nil : .restore(row, old, ifFound: new)
    case .move(_, let parent):
      guard let content = before.rows[row]?.content, content.parent != parent else { return nil }
      return .moveBack(row, parent: content.parent, ifFound: parent)
    }
  }

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
    case .restore(_, let fields, let found):
      arguments["fields"] = .object(fields)
      arguments["found"] = .object(found)
    case .moveBack(_, let parent, let found):
      arguments["parent"] = parent.map { .number(JSONNumber($0)) }
      arguments["found"] = found.map { .number(JSONNumber($0)) }
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
    case ("restore", let fields?):
      guard let found = arguments["found"]?.object else { return nil }
      self = .restore(row, fields, ifFound: found)
    case ("move-back", nil):
      self = .moveBack(row, parent: parent, ifFound: arguments["found"]?.int64)
    case _: return nil
    }
  }
}

extension MutationPush {
  /// Converts an outbox's push. Each mutation is an `insert`, a `set`, a `move` or a `delete`, or
  /// for undo and redo a `restore` or a `move-back`. Its arguments are `table` and `id`, and
  /// `parent`, `fields` and `found` where there are any.
  public init(_ push: PushRequest<TableChange>) {
    self.init(
      client: push.client, knownRefusal: push.knownRefusal, voided: push.voided,
      mutations: push.mutations.map {
        NamedMutation(id: $0.id, name: $0.change.name, arguments: .object($0.change.arguments))
      })
  }
}
