import MessageSync
import UpdateMachine

extension ZulipState {
  // MARK: Reading

  /// Whether the server gave this field.
  package func holds(_ field: String) -> Bool { rows.contains(ZulipKey(field)) }

  /// Returns the rows of a field's objects, or of a dictionary's entries, in ascending order:
  /// drafts, emoji, statuses, … Empty if there are none, or if the field is one row. O(rows).
  public func objects(of field: String) -> [(key: ZulipKey, value: ZulipValue)] {
    var objects: [(key: ZulipKey, value: ZulipValue)] = []
    let end = ZulipKey.end(of: field)
    for row in rows.ascending(after: ZulipKey(field)) {
      guard row.key < end else { break }
      objects.append((row.key, row.value))
    }
    return objects
  }

  func object(_ key: ZulipKey) -> ZulipFields? { rows[key]?.fields }

  // MARK: Loading a field

  /// Replaces a field's rows by the given value.
  mutating func load(_ field: String, _ value: ZulipValue, path: String) throws(ZulipError) {
    rows.removeAll(in: ZulipKey(field)..<ZulipKey.end(of: field))
    guard let shape = ZulipTable.shapes[field] else {
      rows[ZulipKey(field)] = value
      return
    }
    rows[ZulipKey(field)] = .null
    switch shape {
    case .whole: rows[ZulipKey(field)] = value
    case .objects, .named, .topics:
      for (index, element) in try list(value, path).enumerated() {
        try add(try ZulipReading(element, path: "\(path)[\(index)]"), to: field)
      }
    case .dictionary:
      guard let fields = value.fields else { throw .malformed(path: path) }
      for entry in fields.entries { rows[ZulipKey(field, entry.name)] = entry.value }
    case .numbers:
      guard let numbers = value.numbers else { throw .malformed(path: path) }
      for number in numbers { rows[ZulipKey(field, number)] = .null }
    case .channels:
      for (index, element) in try list(value, path).enumerated() {
        let number = element.number ?? element.fields?["stream_id"]?.number
        guard let number else { throw .malformed(path: "\(path)[\(index)].stream_id") }
        rows[ZulipKey(field, number)] = .null
      }
    case .conversations:
      for (index, element) in try list(value, path).enumerated() {
        let reading = try ZulipReading(element, path: "\(path)[\(index)]")
        let key = ZulipState.conversation(try reading.numbers("user_ids"))
        rows[key] = .number(try reading.number("max_message_id"))
      }
    case .unread: try loadUnread(try ZulipReading(value, path: path))
    }
  }

  private func list(_ value: ZulipValue, _ path: String) throws(ZulipError) -> [ZulipValue] {
    guard let list = value.list else { throw .malformed(path: path) }
    return list
  }

  /// Returns the key of the direct conversation with these users, which excludes oneself.
  static func conversation(_ others: [Int64]) -> ZulipKey {
    let names = Set(others).sorted().map { "\($0)" }
    return ZulipKey("recent_private_conversations", names.joined(separator: ","))
  }

  // MARK: Objects

  /// Returns the key of an object's row.
  func key(of object: ZulipReading, in field: String) throws(ZulipError) -> ZulipKey {
    switch ZulipTable.shapes[field] {
    case .objects(let id): return ZulipKey(field, try object.number(id))
    case .named(let id): return ZulipKey(field, try object.text(id))
    case .topics:
      return ZulipState.topic(try object.number("stream_id"), try object.text("topic_name"))
    case .whole, .dictionary, .numbers, .channels, .conversations, .unread, nil:
      preconditionFailure("\(field) has no objects")
    }
  }

  static func topic(_ channel: Int64, _ topic: String) -> ZulipKey {
    ZulipKey("user_topics", channel, MessageTopic(zulip: topic).key)
  }

  /// Adds an object, or replaces the one with the same key.
  mutating func add(_ object: ZulipReading, to field: String) throws(ZulipError) {
    rows[try key(of: object, in: field)] = .fields(try tidy(object, of: field))
  }

  /// Returns an object's fields in the form in which they are held.
  func tidy(_ object: ZulipReading, of field: String) throws(ZulipError) -> ZulipFields {
    var fields = object.fields
    if let name = ZulipTable.redundant[field] { fields[name] = nil }
    fields.removeSecrets(of: field)
    for name in ZulipTable.sets where fields[name] != nil {
      fields[name] = ZulipState.set(try object.numbers(name))
    }
    if !registration.includesSubscribers, ZulipTable.channels.contains(field) {
      fields["subscribers"] = nil
    }
    return fields
  }

  /// Returns a set of numbers in ascending order.
  static func set(_ numbers: some Sequence<Int64>) -> ZulipValue {
    .list(Set(numbers).sorted().map { .number($0) })
  }

  /// Puts new values into an object. Each must be of the same type as the one that it replaces.
  mutating func merge(
    _ changes: ZulipReading, into key: ZulipKey, leavingOut name: String? = nil
  ) throws(ZulipError) {
    guard var fields = object(key) else {
      counts.strays += 1
      return
    }
    for entry in changes.fields.entries where entry.name != name {
      if let old = fields[entry.name], !entry.value.isOfKind(of: old) {
        throw changes.malformed(entry.name)
      }
      fields[entry.name] = entry.value
    }
    let reading = ZulipReading(fields, path: changes.path)
    rows[key] = .fields(try tidy(reading, of: key.field))
  }

  /// Adds numbers to an object's set, or removes them. An object without the set stays as it is.
  /// O(log n) for each number that changes nothing: a deactivated user is looked up in every
  /// channel.
  mutating func change(
    _ set: String, of key: ZulipKey, _ numbers: [Int64], adds: Bool
  ) {
    guard var fields = object(key), var list = fields[set]?.list else { return }
    var isOther = false
    for number in numbers {
      let place = ZulipState.place(of: number, in: list)
      let isThere = place < list.count && list[place] == .number(number)
      guard isThere != adds else { continue }
      isOther = true
      if adds { list.insert(.number(number), at: place) } else { list.remove(at: place) }
    }
    guard isOther else { return }
    fields[set] = .list(list)
    rows[key] = .fields(fields)
  }

  /// Returns the first index in a set whose number is not below the given one.
  private static func place(of number: Int64, in set: [ZulipValue]) -> Int {
    var low = 0
    var high = set.count
    while low < high {
      let middle = (low + high) / 2
      if set[middle].number ?? .min < number { low = middle + 1 } else { high = middle }
    }
    return low
  }

  // MARK: Fields

  mutating func replace(
    _ field: String, with name: String, _ event: ZulipReading
  ) throws(ZulipError) {
    let value = try event.value(name)
    guard holds(field) else { return noteNotHeld() }
    // The server sends this event also to clients that got an empty list because they lack URL
    // templates.
    if field == "realm_linkifiers", !registration.readsLinkifiers { return }
    if let old = rows[ZulipKey(field)], old != .null, !value.isOfKind(of: old) {
      throw event.malformed(name)
    }
    try load(field, value, path: name)
  }

  /// Sets a field that is one row.
  mutating func setField(
    _ field: String, _ value: ZulipValue, _ event: ZulipReading, _ name: String
  ) throws(ZulipError) {
    guard let old = rows[ZulipKey(field)] else { return noteNotHeld() }
    guard value.isOfKind(of: old) else { throw event.malformed(name) }
    rows[ZulipKey(field)] = value
  }

  mutating func setFields(_ names: [String], _ event: ZulipReading) throws(ZulipError) {
    for name in names where event.fields[name] != nil {
      try setField(name, try event.value(name), event, name)
    }
  }

  mutating func setProperties(_ prefix: String, _ event: ZulipReading) throws(ZulipError) {
    switch try event.text("op") {
    case "update":
      let field = prefix + (try event.text("property"))
      try setProperty(field, try event.value("value"), event, "value")
    case "update_dict":
      let data = try event.object("data")
      for entry in data.fields.entries {
        try setProperty(prefix + entry.name, entry.value, data, entry.name)
      }
    default: break  // A realm that is closed sends its event here; the state stays the same.
    }
  }

  /// Sets a field unless it has objects: no such event concerns those.
  private mutating func setProperty(
    _ field: String, _ value: ZulipValue, _ event: ZulipReading, _ name: String
  ) throws(ZulipError) {
    guard ZulipTable.shapes[field] == nil else { return noteNotHeld() }
    try setField(field, value, event, name)
  }

  mutating func setEntry(
    of field: String, _ name: String, _ value: ZulipValue
  ) throws(ZulipError) {
    guard holds(field) else { return noteNotHeld() }
    let key = ZulipKey(field, name)
    if let old = rows[key], !value.isOfKind(of: old) { throw .malformed(path: "value") }
    rows[key] = value
  }

  mutating func setSetting(_ name: String, _ value: ZulipValue) throws(ZulipError) {
    // The server deletes all drafts with it, and sends no event of that.
    if name == "enable_drafts_synchronization", value.bool == false { removeAll("drafts") }
    // Old clients get each setting in its own field; newer ones get all in one field.
    let own = ZulipKey(name)
    let isOwn = ZulipTable.shapes[name] == nil && rows.contains(own)
    if isOwn {
      if let old = rows[own], !value.isOfKind(of: old) { throw .malformed(path: "value") }
      rows[own] = value
    }
    if holds("user_settings") {
      try setEntry(of: "user_settings", name, value)
    } else if !isOwn {
      noteNotHeld()
    }
  }

  mutating func noteNotHeld() { counts.notHeld += 1 }
}
