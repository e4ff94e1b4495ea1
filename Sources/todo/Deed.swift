import EtcdSync
import SyncProtocols
import UpdateMachine

/// A thing to do. Its key holds it as JSON, so that others can read it: `{"title":"milk"}`.
struct Item: Hashable {
  var title: String
  var isDone = false

  init(title: String, isDone: Bool = false) {
    self.title = title
    self.isDone = isDone
  }

  /// Reads what a key holds. Anything but our JSON is a title, since another program may have
  /// written it; `nil`: there is nothing, or no text.
  init?(_ entry: EtcdEntry?) {
    guard let text = entry?.text else { return nil }
    let value = try? JSONValue(parsing: text)
    title = value?["title"]?.string ?? text
    isDone = value?["done"]?.bool ?? false
  }

  /// The text of its key.
  var text: String {
    var object: JSONObject = ["title": .string(title)]
    if isDone { object["done"] = true }
    return JSONValue.object(object).description
  }
}

/// What a user does to the list. It says what is meant, so two users who tick off different things,
/// or the same one, do not get in each other's way.
enum Deed: EtcdMutation, Equatable {
  case add(EtcdKey, title: String)
  case mark(EtcdKey, isDone: Bool)
  case remove(EtcdKey)
  /// The inverse of each of them, and of itself: puts back what was there, unless somebody has
  /// changed it meanwhile.
  case putBack(EtcdKey, Item?, over: Item?)

  /// What all keys of items begin with.
  static let prefix = EtcdKey("item/")

  var key: EtcdKey {
    switch self {
    case .add(let key, _), .mark(let key, _), .remove(let key), .putBack(let key, _, _): key
    }
  }

  /// Deeds of different items do not depend on each other.
  var object: EtcdKey? { key }

  var name: String {
    switch self {
    case .add: "add"
    case .mark(_, let isDone): isDone ? "done" : "reopen"
    case .remove: "remove"
    case .putBack: "undo"
    }
  }

  func apply(to view: inout EtcdView) throws(ChangeRefusal) {
    let present = Item(view[key])
    var next = present
    switch self {
    case .add(_, let title): next = Item(title: title)
    case .mark(_, let isDone):
      guard present != nil else { throw .gone }
      next?.isDone = isDone
    case .remove:
      guard present != nil else { throw .gone }
      next = nil
    case .putBack(_, let former, let expected):
      guard present == expected else { throw .changed }
      next = former
    }
    if let next { try view.put(next.text, for: key) } else { try view.remove(key) }
  }

  func inverse(from before: EtcdView, to after: EtcdView) -> Deed? {
    let (former, present) = (Item(before[key]), Item(after[key]))
    return former == present ? nil : .putBack(key, former, over: present)
  }

  /// Whoever removes an item has the last word.
  func isOverruled(by refusal: ChangeRefusal) -> Bool { refusal == .gone }
}

extension ChangeRefusal {
  /// The item was removed.
  static var gone: ChangeRefusal { ChangeRefusal("GONE") }
  /// Somebody has changed the item since.
  static var changed: ChangeRefusal { ChangeRefusal("CHANGED") }
}

extension Deed: Storable {
  func put(into bytes: inout ByteWriter) {
    bytes.put(name)
    bytes.put(key)
    switch self {
    case .add(_, let title): bytes.put(title)
    case .mark, .remove: break
    case .putBack(_, let former, let expected):
      bytes.put(former)
      bytes.put(expected)
    }
  }

  init(from bytes: inout ByteReader) throws(StoredFormError) {
    let name = try bytes.takeString()
    let key: EtcdKey = try bytes.take()
    switch name {
    case "add": self = .add(key, title: try bytes.takeString())
    case "done": self = .mark(key, isDone: true)
    case "reopen": self = .mark(key, isDone: false)
    case "remove": self = .remove(key)
    case "undo": self = .putBack(key, try bytes.takeOptional(), over: try bytes.takeOptional())
    default: throw StoredFormError(expected: "a deed")
    }
  }
}

extension Item: Storable {
  func put(into bytes: inout ByteWriter) {
    bytes.put(title)
    bytes.put(isDone)
  }

  init(from bytes: inout ByteReader) throws(StoredFormError) {
    title = try bytes.takeString()
    isDone = try bytes.takeBool()
  }
}
