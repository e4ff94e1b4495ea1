import MessageSync
import UpdateMachine

extension ZulipState {
  // MARK: Channels

  mutating func changeChannels(_ event: ZulipReading) throws(ZulipError) {
    guard ZulipTable.channels.contains(where: { holds($0) }) else { return noteNotHeld() }
    switch try event.text("op") {
    case "create":
      for channel in try event.objects("streams") { try createChannel(channel) }
    case "delete":
      // Newer servers send only the numbers.
      guard event.fields["streams"] != nil else {
        for id in try event.numbers("stream_ids") { removeChannel(id) }
        return
      }
      for channel in try event.objects("streams") {
        let id = try channel.number("stream_id")
        if channel.fields["is_archived"]?.bool == true {
          try archiveChannel(id, channel)
        } else {
          removeChannel(id)
        }
      }
    case "update": try updateChannel(event)
    default: break
    }
  }

  private mutating func createChannel(_ channel: ZulipReading) throws(ZulipError) {
    let id = try channel.number("stream_id")
    if holds("streams") { try add(channel, to: "streams") }
    guard holds("never_subscribed"), !rows.contains(ZulipKey("subscriptions", id)),
      !rows.contains(ZulipKey("unsubscribed", id))
    else { return }
    // It has no subscribers yet: the next events add them.
    var fields = channel.fields
    if fields["subscribers"] == nil { fields["subscribers"] = [] }
    try add(ZulipReading(fields, path: channel.path), to: "never_subscribed")
  }

  private mutating func removeChannel(_ id: Int64) {
    for field in ZulipTable.channels + ["realm_default_streams"] {
      rows[ZulipKey(field, id)] = nil
    }
  }

  /// Archives a channel. A client without the capability for archived channels loses the channel.
  /// Every client loses the user's settings for its topics.
  private mutating func archiveChannel(_ id: Int64, _ channel: ZulipReading) throws(ZulipError) {
    let topics = ZulipKey("user_topics", id)..<ZulipKey("user_topics", id + 1)
    if id > 0, id < .max { rows.removeAll(in: topics) }
    guard registration.keepsArchivedChannels else { return removeChannel(id) }
    rows[ZulipKey("streams", id)] = nil
    rows[ZulipKey("realm_default_streams", id)] = nil
    for field in ZulipTable.channels where object(ZulipKey(field, id)) != nil {
      try merge(channel, into: ZulipKey(field, id))
    }
  }

  private mutating func updateChannel(_ event: ZulipReading) throws(ZulipError) {
    let id = try event.number("stream_id")
    let property = try event.text("property")
    // Properties that change along with this one come in the same event. Only `name` is the old
    // value.
    var changes = event.fields
    for name in ["type", "op", "id", "property", "value", "name", "stream_id"] {
      changes[name] = nil
    }
    changes[property] = try event.value("value")
    let reading = ZulipReading(changes, path: event.path)
    var isThere = false
    for field in ZulipTable.channels where object(ZulipKey(field, id)) != nil {
      isThere = true
      try merge(reading, into: ZulipKey(field, id))
    }
    if !isThere { counts.strays += 1 }
  }

  // MARK: Subscriptions

  mutating func changeSubscriptions(
    _ kind: ZulipEvent.Kind, _ event: ZulipReading
  ) throws(ZulipError) {
    let op = try event.text("op")
    guard holds("subscriptions") else { return noteNotHeld() }
    switch (op, kind) {
    case (_, .covered(let channels, follows: true)):
      for (channel, object) in zip(channels, try event.objects("subscriptions")) {
        let id = channel.number
        rows[ZulipKey("unsubscribed", id)] = nil
        rows[ZulipKey("never_subscribed", id)] = nil
        let fields = try tidy(object, of: "subscriptions")
        rows[ZulipKey("subscriptions", id)] = .fields(fields)
        // Messages may have come since the channel was created, while no event told of them.
        if let first = fields["first_message_id"]?.number { noteFirst(first, in: id) }
      }
    case (_, .covered(let channels, follows: false)):
      for channel in channels { unsubscribe(channel.number) }
    case ("update", _):
      let property = try event.text("property")
      let change: ZulipFields = ZulipFields([.init(property, try event.value("value"))])
      let key = ZulipKey("subscriptions", try event.number("stream_id"))
      try merge(ZulipReading(change, path: ""), into: key)
    case ("peer_add", _), ("peer_remove", _):
      let users = try event.numbers(.users)
      for id in try event.numbers(.channels) {
        for field in ZulipTable.channels {
          change("subscribers", of: ZulipKey(field, id), users, adds: op == "peer_add")
        }
      }
    default: break
    }
  }

  private mutating func unsubscribe(_ id: Int64) {
    guard let channel = rows.removeValue(forKey: ZulipKey("subscriptions", id)) else {
      counts.strays += 1
      return
    }
    guard holds("unsubscribed") else { return }
    let key = ZulipKey("unsubscribed", id)
    rows[key] = channel
    if let me { change("subscribers", of: key, [me], adds: false) }
  }
}
