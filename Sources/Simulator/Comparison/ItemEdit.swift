internal import SyncProtocols

/// One thing that a user does to an item, a thing with a number and named texts. Each protocol's
/// app makes a change of its own of it.
enum ItemEdit: Hashable, Sendable {
  /// A new item. Nobody else uses its number.
  case create(Int64, title: String)
  /// Writes one field, and leaves the others.
  case set(Int64, field: String, to: String)
  case delete(Int64)

  /// The item.
  var item: Int64 {
    switch self {
    case .create(let item, _), .set(let item, _, _), .delete(let item): item
    }
  }

  /// What is written; `nil`: it deletes.
  var written: (field: String, value: String)? {
    switch self {
    case .create(_, let title): ("title", title)
    case .set(_, let field, let value): (field, value)
    case .delete: nil
    }
  }

  var name: String {
    switch self {
    case .create: "create"
    case .set: "set"
    case .delete: "delete"
    }
  }

  /// As fields of an item.
  var fields: JSONObject {
    var fields = JSONObject()
    if let written { fields[written.field] = .string(written.value) }
    return fields
  }

  // MARK: As a named mutation

  var arguments: JSONObject {
    var object = JSONObject()
    object["item"] = JSONValue(integerLiteral: item)
    if written != nil { object["fields"] = .object(fields) }
    return object
  }

  /// `nil`: these are no arguments of an edit.
  init?(name: String, arguments: JSONValue) {
    guard let item = arguments["item"]?.int64 else { return nil }
    let member = arguments["fields"]?.object?.members.first
    switch (name, member?.value.string) {
    case ("create", let title?): self = .create(item, title: title)
    case ("set", let value?): self = .set(item, field: member?.name ?? "", to: value)
    case ("delete", nil): self = .delete(item)
    case _: return nil
    }
  }

  /// Makes the edit; `false`: the item is not there.
  func make(_ old: JSONObject?) -> JSONObject?? {
    switch self {
    case .create: return .some(old ?? fields)
    case .set(_, let field, let value):
      guard var new = old else { return .none }
      new[field] = .string(value)
      return .some(new)
    case .delete: return old == nil ? .none : .some(nil)
    }
  }
}
