import UpdateMachine

extension ZulipState {
  /// The user's own ID; `nil` if it was not requested.
  var me: Int64? { rows[ZulipKey("user_id")]?.number }

  /// Zulip's roles: 100 owner, 200 administrator, 300 moderator, 400 member, 600 guest.
  private static let owner: Int64 = 100
  private static let administrator: Int64 = 200
  private static let moderator: Int64 = 300
  private static let guest: Int64 = 600

  mutating func changeUser(_ event: ZulipReading) throws(ZulipError) {
    let op = try event.text("op")
    let person = try event.object("person")
    let id = try person.number("user_id")
    let active = ZulipKey("realm_users", id)
    let gone = ZulipKey("realm_non_active_users", id)
    guard holds("realm_users") else { return noteNotHeld() }
    switch op {
    case "add":
      try add(person, to: "realm_users")
      rows[gone] = nil
    case "remove":
      // A guest can no longer see this user.
      rows[active] = nil
      rows[gone] = nil
    case "update":
      let key = rows.contains(active) ? active : gone
      if let isActive = person.fields["is_active"] {
        guard let isActive = isActive.bool else { throw person.malformed("is_active") }
        try setActive(isActive, id)
      } else {
        try changePerson(person, key)
      }
      if id == me { try changeMyself(person) }
    default: break
    }
  }

  private mutating func setActive(_ isActive: Bool, _ id: Int64) throws(ZulipError) {
    let (from, to) =
      isActive
      ? ("realm_non_active_users", "realm_users") : ("realm_users", "realm_non_active_users")
    if let user = rows.removeValue(forKey: ZulipKey(from, id)) {
      if holds(to) { rows[ZulipKey(to, id)] = user }
    } else if !rows.contains(ZulipKey(to, id)) {
      counts.strays += 1
    }
    guard !isActive else { return }
    // A deactivated user leaves all groups and channels. No event tells this; a reactivation's
    // events do.
    for (key, _) in objects(of: "realm_user_groups") {
      change("members", of: key, [id], adds: false)
    }
    for field in ZulipTable.channels {
      for (key, _) in objects(of: field) { change("subscribers", of: key, [id], adds: false) }
    }
  }

  private mutating func changePerson(
    _ person: ZulipReading, _ key: ZulipKey
  ) throws(ZulipError) {
    guard let old = object(key) else {
      counts.strays += 1
      return
    }
    var changes = ZulipFields()
    for entry in person.fields.entries {
      switch entry.name {
      // The last two are held only for oneself.
      case "user_id", "avatar_source", "avatar_url_medium": break
      case "new_email": changes["email"] = entry.value
      case "role":
        guard let role = entry.value.number else { throw person.malformed("role") }
        changes["role"] = .number(role)
        for (name, value) in ZulipState.claims(of: role) where old[name] != nil {
          changes[name] = .bool(value)
        }
      case "custom_profile_field":
        changes["profile_data"] = try profile(old, try person.object(entry.name))
      default: changes[entry.name] = entry.value
      }
    }
    // An `email` that comes with another change is not itself a change.
    if changes["email"]?.isOfKind(of: "") == false { throw person.malformed("email") }
    try merge(ZulipReading(changes, path: person.path), into: key)
  }

  /// The properties that follow from a role.
  private static func claims(of role: Int64) -> [(String, Bool)] {
    [
      ("is_owner", role == owner), ("is_admin", role == owner || role == administrator),
      ("is_moderator", role == moderator), ("is_guest", role == guest),
    ]
  }

  private func profile(
    _ user: ZulipFields, _ change: ZulipReading
  ) throws(ZulipError) -> ZulipValue {
    var profile = user["profile_data"]?.fields ?? ZulipFields()
    let id = "\(try change.number("id"))"
    if try change.value("value") == .null {
      profile[id] = nil
    } else {
      var field = change.fields
      field["id"] = nil
      profile[id] = .fields(field)
    }
    return .fields(profile)
  }

  /// Sets the fields in which the server repeats the user's own properties.
  private mutating func changeMyself(_ person: ZulipReading) throws(ZulipError) {
    for entry in person.fields.entries {
      switch entry.name {
      case "full_name", "email", "delivery_email", "avatar_url", "avatar_url_medium",
        "avatar_source", "timezone":
        try setMine(entry.name, entry.value, person, entry.name)
      case "new_email": try setMine("email", entry.value, person, entry.name)
      case "role":
        guard let role = entry.value.number else { throw person.malformed("role") }
        for (name, value) in ZulipState.claims(of: role) {
          try setMine(name, .bool(value), person, "role")
        }
      default: break
      }
    }
  }

  private mutating func setMine(
    _ field: String, _ value: ZulipValue, _ event: ZulipReading, _ name: String
  ) throws(ZulipError) {
    guard rows.contains(ZulipKey(field)) else { return }
    try setField(field, value, event, name)
  }
}
