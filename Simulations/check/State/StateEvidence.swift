import MessageSync
import UpdateMachine
import ZulipSync

/// Reasons for which the server itself keeps a client from being right (ZulipServer §10).
enum StateExcuse: String, CaseIterable {
  /// The server merges pending events of one flag into the newest one. So a set and a clear can
  /// arrive in the wrong order.
  case mergedFlags = "the server merged an add and a remove of this flag into the wrong order"
  /// An event carries the address that Gravatar would give. A register leaves it to the client.
  case gravatar = "an event has Gravatar's address, a register leaves it to the client"
  /// For clients that do not know unset settings, a register fills in what such a setting means
  /// now. An event does not.
  case unsetNotification = "an event has an unset setting, a register fills it in for old clients"
  /// Users who are unsubscribed by one request are not told of each other.
  case leftTogether = "unsubscribed together with the user, who is not told of the others"
  /// The first message of a channel that the user does not follow comes in no event.
  case firstUnseen = "sent where the user did not follow, and told in no event"
  /// A channel that the user does not follow was made private. Other clients were told.
  case privateUnseen = "made private while the user did not follow it, and told in no event"
  /// The legacy event with all muted topics is left out when a move resets a topic's policy.
  case mutedByMove = "the topic was moved, and no event told that it is not muted any more"
}

/// What a recording shows besides the states themselves.
struct StateEvidence {
  let registration: ZulipRegistration
  /// The new events of each answer, since the last register.
  var batches: [[ZulipEvent]] = []
  /// The pages that the client has asked for since the last new event.
  var pages: [LatePage] = []
  /// Who left which channels together, for everybody in the recording.
  let departures: [ZulipFields]
  /// The channels of which any client in the recording was told that they became private.
  let madePrivate: Set<Int64>

  init(
    _ registration: ZulipRegistration, departures: [ZulipFields], madePrivate: Set<Int64> = []
  ) {
    self.registration = registration
    self.departures = departures
    self.madePrivate = madePrivate
  }

  /// The reason why a difference is the server's fault; `nil` if nothing explains it.
  func excuse(for difference: StateDifference, of user: UserID?) -> StateExcuse? {
    StateExcuse.allCases.first { isExcused(difference, of: user, by: $0) }
  }

  private func isExcused(
    _ difference: StateDifference, of user: UserID?, by excuse: StateExcuse
  ) -> Bool {
    switch excuse {
    case .mergedFlags: isMergedFlag(difference)
    case .gravatar:
      difference.path == ["avatar_url"] && difference.expected == .null
        && difference.found?.text != nil && wasTold(difference.found, of: "realm_user")
    case .unsetNotification:
      !registration.readsUnsetNotifications && difference.found == .null
        && difference.expected?.bool != nil
        && ["subscriptions", "unsubscribed"].contains(difference.key.field)
        && difference.path.last?.hasSuffix("_notifications") == true
    case .leftTogether: hasLeftTogether(difference, with: user)
    case .firstUnseen:
      difference.path == ["first_message_id"] && difference.found == .null
        && ["never_subscribed", "unsubscribed", "streams"].contains(difference.key.field)
        && difference.expected?.number.map { !wasSent(MessageID($0)) } == true
    case .privateUnseen:
      difference.path.isEmpty && difference.expected == nil
        && ["never_subscribed", "streams"].contains(difference.key.field)
        && madePrivate.contains(difference.key.number)
        && !events.contains { $0.channelMadePrivate == difference.key.number }
    case .mutedByMove: wasMutedBeforeMove(difference)
    }
  }

  /// Whether the client only has muted topics too many, and each of them was moved after the last
  /// event about muted topics.
  private func wasMutedBeforeMove(_ difference: StateDifference) -> Bool {
    guard difference.key.field == "muted_topics", difference.path.isEmpty,
      case .list(let expected) = difference.expected, case .list(let found) = difference.found,
      expected.allSatisfy(found.contains)
    else { return false }
    let last = events.lastIndex { $0.type == "muted_topics" }
    let moves = events[(last.map { $0 + 1 } ?? 0)...].filter { $0.type == "update_message" }
    return found.filter { !expected.contains($0) }.allSatisfy { entry in
      guard case .list(let parts) = entry, parts.count >= 2, let topic = parts[1].text else {
        return false
      }
      return moves.contains { move in
        move.fields["stream_name"] == parts[0]
          && move.fields["orig_subject"]?.text.map { MessageTopic(zulip: $0) }
            == MessageTopic(zulip: topic)
      }
    }
  }

  /// Whether an event told of a new message.
  private func wasSent(_ id: MessageID) -> Bool {
    events.contains { if case .sent(let message) = $0.kind { message.id == id } else { false } }
  }

  var events: [ZulipEvent] { batches.flatMap { $0 } }

  /// Whether an event of this type had this value in any field of the user it was about.
  private func wasTold(_ value: ZulipValue?, of type: String) -> Bool {
    events.contains { event in
      guard event.type == type, let person = event.fields["person"]?.fields else { return false }
      return person.entries.contains { $0.value == value }
    }
  }

  private func isMergedFlag(_ difference: StateDifference) -> Bool {
    let flags = ["starred_messages": "starred", "unread_msgs": "read"]
    guard let flag = flags[difference.key.field], difference.path.isEmpty else { return false }
    let id = difference.key.number
    return batches.contains { batch in
      let ops = batch.filter {
        $0.type == "update_message_flags" && $0.fields["flag"]?.text == flag
          && $0.fields["messages"]?.numbers?.contains(id) == true
      }.compactMap { $0.fields["op"]?.text }
      return ops.contains("add") && ops.contains("remove")
    }
  }

  /// Whether the surplus subscribers left together with the user: somebody else was told of all of
  /// them in one event.
  private func hasLeftTogether(_ difference: StateDifference, with user: UserID?) -> Bool {
    guard difference.key.field == "unsubscribed", difference.path == ["subscribers"],
      let expected = difference.expected?.numbers, let found = difference.found?.numbers, let user,
      Set(found).isSuperset(of: expected)
    else { return false }
    return Set(found).subtracting(expected).allSatisfy { other in
      departures.contains { event in
        let users = event["user_ids"]?.numbers ?? []
        return event["stream_ids"]?.numbers?.contains(difference.key.number) == true
          && users.contains(user.number) && users.contains(other)
      }
    }
  }
}

extension ZulipEvent {
  /// The channel that has become private with this event.
  var channelMadePrivate: Int64? {
    guard type == "stream", fields["op"]?.text == "update",
      fields["property"]?.text == "invite_only", fields["value"]?.bool == true
    else { return nil }
    return fields["stream_id"]?.number
  }
}
