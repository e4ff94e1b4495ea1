import UpdateMachine

/// The kind of a change. Servers use several words for each.
enum ObjectChange {
  case comes, changes, goes
  /// All objects get another order.
  case orders

  private static let words: [String: ObjectChange] = [
    "add": .comes, "create": .comes, "update": .changes, "change": .changes, "remove": .goes,
    "delete": .goes, "reorder": .orders,
  ]

  /// The words that servers use.
  static let ops = Set(words.keys)

  init?(_ op: String) {
    guard let change = ObjectChange.words[op] else { return nil }
    self = change
  }
}

extension ZulipState {
  // MARK: Objects of one field

  mutating func change(
    _ objects: ZulipRule.Objects, _ event: ZulipReading
  ) throws(ZulipError) {
    let change = ObjectChange(try event.text("op"))
    guard holds(objects.field) else { return noteNotHeld() }
    switch change {
    case .comes:
      if let many = objects.many, event.fields[many] != nil {
        for object in try event.objects(many) { try add(object, to: objects.field) }
      } else if let one = objects.one ?? objects.many {
        try add(try event.object(one), to: objects.field)
      }
    case .changes:
      if let id = objects.id, let data = objects.data {
        let key = try key(id, of: event, in: objects.field)
        try merge(try event.object(data), into: key)
      } else if let one = objects.one {
        let object = try event.object(one)
        try merge(object, into: try key(of: object, in: objects.field))
      }
    case .goes: try remove(objects, event)
    case .orders where event.fields["order"] != nil:
      for (place, id) in try event.numbers("order").enumerated() {
        let order: ZulipFields = ["order": .number(Int64(place))]
        try merge(ZulipReading(order, path: "order."), into: ZulipKey(objects.field, id))
      }
    case .orders, nil: break
    }
  }

  private mutating func remove(
    _ objects: ZulipRule.Objects, _ event: ZulipReading
  ) throws(ZulipError) {
    var key: ZulipKey
    if let id = objects.id {
      key = try self.key(id, of: event, in: objects.field)
    } else {
      key = try self.key(of: try event.object(objects.one ?? ""), in: objects.field)
    }
    if rows.removeValue(forKey: key) == nil { counts.strays += 1 }
  }

  /// Returns the row of an object that an event names by a number or a text.
  private func key(
    _ name: String, of event: ZulipReading, in field: String
  ) throws(ZulipError) -> ZulipKey {
    if case .named = ZulipTable.shapes[field] { return ZulipKey(field, try event.text(name)) }
    return ZulipKey(field, try event.number(name))
  }

  // MARK: Groups

  mutating func changeGroup(_ event: ZulipReading) throws(ZulipError) {
    let field = "realm_user_groups"
    let changes = [
      "add_members": ("members", "user_ids", true),
      "remove_members": ("members", "user_ids", false),
      "add_subgroups": ("direct_subgroup_ids", "direct_subgroup_ids", true),
      "remove_subgroups": ("direct_subgroup_ids", "direct_subgroup_ids", false),
    ]
    guard let (set, name, adds) = changes[try event.text("op")] else {
      let objects = ZulipRule.Objects(
        field: field, one: "group", id: "group_id", data: "data")
      try change(objects, event)
      return
    }
    guard holds(field) else { return noteNotHeld() }
    let key = ZulipKey(field, try event.number("group_id"))
    let isOfGroups = name == "direct_subgroup_ids"
    let numbers = try event.numbers(isOfGroups ? event.name(.subgroups) : name)
    guard object(key) != nil else {
      counts.strays += 1
      return
    }
    change(set, of: key, numbers, adds: adds)
  }

  // MARK: Topics and statuses

  mutating func changeTopic(_ event: ZulipReading) throws(ZulipError) {
    let key = ZulipState.topic(try event.number("stream_id"), try event.text("topic_name"))
    let policy = try event.number("visibility_policy")
    guard holds("user_topics") else { return noteNotHeld() }
    // 0 means "as the channel", which is the same as no row.
    guard policy != 0 else {
      rows[key] = nil
      return
    }
    var topic = ZulipFields()
    for name in ["stream_id", "topic_name", "visibility_policy", "last_updated"] {
      topic[name] = event.fields[name]
    }
    rows[key] = .fields(topic)
  }

  mutating func changeStatus(_ event: ZulipReading) throws(ZulipError) {
    let key = ZulipKey("user_status", "\(try event.number("user_id"))")
    guard holds("user_status") else { return noteNotHeld() }
    var status = object(key) ?? ZulipFields()
    // A missing part stays; an empty part is removed.
    for name in ["away", "status_text", "emoji_name", "emoji_code", "reaction_type"] {
      switch event.fields[name] {
      case nil: break
      case .text(""), .bool(false): status[name] = nil
      case .text(let text) where name != "away": status[name] = .text(text)
      case .bool(true) where name == "away": status[name] = true
      default: throw event.malformed(name)
      }
    }
    // An event that clears the emoji may still have the type that it had.
    if status["emoji_name"] == nil {
      status["emoji_code"] = nil
      status["reaction_type"] = nil
    }
    rows[key] = status.entries.isEmpty ? nil : .fields(status)
  }
}
