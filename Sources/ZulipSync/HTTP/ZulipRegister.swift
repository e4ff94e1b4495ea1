public import UpdateMachine

/// The parameters of a register.
public struct ZulipRegister: Hashable, Sendable {
  /// The client's capabilities, as far as they change the state.
  package var client: ZulipRegistration
  /// The form of message contents.
  package var form: ZulipContent.Form
  /// The event types to receive; `nil` for all, which ``ZulipState`` needs to stay up to date.
  package var eventTypes: [String]?
  /// The event types whose state to receive; `nil` for the same as `eventTypes`.
  package var fetchTypes: [String]?
  /// How long the server keeps the queue while no poll waits; `nil` for its default, 600 s.
  package var lifetime: TimeSpan?
  /// The lowest feature level that is accepted.
  package var leastFeatureLevel = ZulipRegister.supportedFeatureLevel

  /// The lowest feature level that this library supports. 185 is Zulip 7, the first that knows all
  /// parameters sent here.
  package static let supportedFeatureLevel: Int64 = 185

  /// Creates the parameters. The defaults register for everything, with contents as HTML.
  ///
  /// - Parameters:
  ///   - client: the client's capabilities, as far as they change the state.
  ///   - form: the form of message contents.
  ///   - eventTypes: the event types to receive; `nil` for all, which ``ZulipState`` needs.
  ///   - fetchTypes: the event types whose state to receive; `nil` for the same as `eventTypes`.
  ///   - lifetime: how long the server keeps the queue while no poll waits; `nil` for its default.
  public init(
    client: ZulipRegistration = .full, form: ZulipContent.Form = .rendered,
    eventTypes: [String]? = nil, fetchTypes: [String]? = nil, lifetime: TimeSpan? = nil
  ) {
    self.client = client
    self.form = form
    self.eventTypes = eventTypes
    self.fetchTypes = fetchTypes
    self.lifetime = lifetime
  }

  var parameters: ZulipForm {
    var form = ZulipForm()
    form.add("apply_markdown", .bool(self.form == .rendered))
    form.add("client_gravatar", true)
    form.add("slim_presence", true)
    form.add("include_subscribers", .bool(client.includesSubscribers))
    form.add(
      "client_capabilities",
      [
        "notification_settings_null": .bool(client.readsUnsetNotifications),
        "bulk_message_deletion": true, "user_avatar_url_field_optional": true,
        "stream_typing_notifications": true, "user_settings_object": true,
        "linkifier_url_template": .bool(client.readsLinkifiers), "user_list_incomplete": true,
        "include_deactivated_groups": true,
        "archived_channels": .bool(client.keepsArchivedChannels),
      ])
    form.add("event_types", eventTypes.map { .list($0.map { .text($0) }) })
    form.add("fetch_event_types", fetchTypes.map { .list($0.map { .text($0) }) })
    if let lifetime {
      let seconds = max(1, lifetime.milliseconds / 1000)
      for name in ZulipRegister.lifetimeNames { form.add(name, .number(seconds)) }
    }
    return form
  }

  /// The old name and the new one. A server reports the one that it does not know.
  static let lifetimeNames = ["queue_lifespan_secs", "idle_queue_timeout"]
}
