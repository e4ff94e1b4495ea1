import Testing
import UpdateMachine
import ZulipSync

/// One event, the state before it, and the state that must follow.
struct RuleCase: Sendable, CustomTestStringConvertible {
  var name: String
  var before: String
  var event: String
  var after: String
  /// Whether the client has all the capabilities that the state knows, or none.
  var isModern = true

  var testDescription: String { name }

  init(
    _ name: String, _ before: String, _ event: String, _ after: String, isModern: Bool = true
  ) {
    self.name = name
    self.before = before
    self.event = event
    self.after = after
    self.isModern = isModern
  }

  var registration: ZulipRegistration {
    var registration = ZulipRegistration()
    registration.keepsArchivedChannels = isModern
    registration.readsLinkifiers = isModern
    registration.readsUnsetNotifications = isModern
    registration.includesSubscribers = isModern
    return registration
  }
}

@Suite("Rules of a realm's state, one at a time")
struct ZulipRuleTests {
  @Test(arguments: fields + objects + users + channels + topics + messages + flags)
  func `each event leads to the server's state`(_ rule: RuleCase) throws {
    var state = try ZulipState(rule.before, rule.registration)
    try state.apply(try ZulipEvent(rule.event))
    let after = try ZulipState(rule.after, rule.registration)
    #expect(state == after, "\(state.differences(from: after))")
    #expect(state.counts == ZulipCounts())
  }

  static let fields = [
    RuleCase(
      "a field is another now", #"{"alert_words":["a"]}"#,
      #"{"type":"alert_words","alert_words":["b","c"]}"#, #"{"alert_words":["b","c"]}"#),
    RuleCase(
      "a field of objects is another now", #"{"muted_users":[{"id":6,"timestamp":1}]}"#,
      #"{"type":"muted_users","muted_users":[{"id":7,"timestamp":2}]}"#,
      #"{"muted_users":[{"id":7,"timestamp":2}]}"#),
    RuleCase(
      "a field is another under another name", #"{"custom_profile_fields":[]}"#,
      #"{"type":"custom_profile_fields","fields":[{"id":1}]}"#,
      #"{"custom_profile_fields":[{"id":1}]}"#),
    RuleCase(
      "default channels are told by their numbers", #"{"realm_default_streams":[{"stream_id":1}]}"#,
      #"{"type":"default_streams","default_streams":[3,2]}"#, #"{"realm_default_streams":[2,3]}"#),
    RuleCase(
      "or in full", #"{"realm_default_streams":[1]}"#,
      #"{"type":"default_streams","default_streams":[{"stream_id":2,"name":"x"}]}"#,
      #"{"realm_default_streams":[2]}"#),
    RuleCase(
      "linkifiers", #"{"realm_linkifiers":[]}"#,
      #"{"type":"realm_linkifiers","realm_linkifiers":[{"id":1}]}"#,
      #"{"realm_linkifiers":[{"id":1}]}"#),
    RuleCase(
      "linkifiers are not for clients that cannot read them", #"{"realm_linkifiers":[]}"#,
      #"{"type":"realm_linkifiers","realm_linkifiers":[{"id":1}]}"#, #"{"realm_linkifiers":[]}"#,
      isModern: false),
    RuleCase(
      "a server that was restarted", #"{"zulip_version":"9","zulip_feature_level":1}"#,
      #"{"type":"restart","zulip_version":"10","zulip_feature_level":2}"#,
      #"{"zulip_version":"10","zulip_feature_level":2}"#),
    RuleCase(
      "a realm's setting", #"{"realm_name":"a","realm_x":1}"#,
      #"{"type":"realm","op":"update","property":"name","value":"b"}"#,
      #"{"realm_name":"b","realm_x":1}"#),
    RuleCase(
      "several settings of a realm", #"{"realm_a":1,"realm_b":null}"#,
      #"{"type":"realm","op":"update_dict","property":"default","data":{"a":{"x":[]},"b":false}}"#,
      #"{"realm_a":{"x":[]},"realm_b":false}"#),
    RuleCase(
      "a user's setting, and its field of old", #"{"user_settings":{"a":1},"a":1,"b":1}"#,
      #"{"type":"user_settings","op":"update","property":"a","value":2}"#,
      #"{"user_settings":{"a":2},"a":2,"b":1}"#),
    RuleCase(
      "a setting as old clients hear of it", #"{"a":true}"#,
      #"{"type":"update_display_settings","setting_name":"a","setting":false,"user":"x"}"#,
      #"{"a":false}"#),
    RuleCase(
      "a notification setting as old clients hear of it", #"{"a":true}"#,
      #"{"type":"update_global_notifications","notification_name":"a","setting":false}"#,
      #"{"a":false}"#),
    RuleCase(
      "a default setting", #"{"realm_user_settings_defaults":{"a":1,"b":2}}"#,
      #"{"type":"realm_user_settings_defaults","op":"update","property":"a","value":3}"#,
      #"{"realm_user_settings_defaults":{"a":3,"b":2}}"#),
    RuleCase(
      "a token", #"{"has_zoom_token":false}"#, #"{"type":"has_zoom_token","value":true}"#,
      #"{"has_zoom_token":true}"#),
  ]

  static let objects = [
    RuleCase(
      "drafts come", #"{"drafts":[]}"#,
      #"{"type":"drafts","op":"add","drafts":[{"id":3,"to":[4]},{"id":4}]}"#,
      #"{"drafts":[{"id":4},{"id":3,"to":[4]}]}"#),
    RuleCase(
      "a draft changes", #"{"drafts":[{"id":3,"content":"a"}]}"#,
      #"{"type":"drafts","op":"update","draft":{"id":3,"content":"b"}}"#,
      #"{"drafts":[{"id":3,"content":"b"}]}"#),
    RuleCase(
      "a draft goes", #"{"drafts":[{"id":3}]}"#,
      #"{"type":"drafts","op":"remove","draft_id":3}"#, #"{"drafts":[]}"#),
    RuleCase(
      "a snippet comes", #"{"saved_snippets":[]}"#,
      #"{"type":"saved_snippets","op":"add","saved_snippet":{"id":1}}"#,
      #"{"saved_snippets":[{"id":1}]}"#),
    RuleCase(
      "a scheduled message goes", #"{"scheduled_messages":[{"scheduled_message_id":3}]}"#,
      #"{"type":"scheduled_messages","op":"remove","scheduled_message_id":3}"#,
      #"{"scheduled_messages":[]}"#),
    RuleCase(
      "a domain changes", #"{"realm_domains":[{"domain":"a","allow_subdomains":false}]}"#,
      #"{"type":"realm_domains","op":"change","realm_domain":{"domain":"a","allow_subdomains":true}}"#,
      #"{"realm_domains":[{"domain":"a","allow_subdomains":true}]}"#),
    RuleCase(
      "a domain goes", #"{"realm_domains":[{"domain":"a"},{"domain":"b"}]}"#,
      #"{"type":"realm_domains","op":"remove","domain":"a"}"#,
      #"{"realm_domains":[{"domain":"b"}]}"#),
    RuleCase(
      "a view changes", #"{"navigation_views":[{"fragment":"a","is_pinned":false,"name":null}]}"#,
      #"{"type":"navigation_view","op":"update","fragment":"a","data":{"is_pinned":true}}"#,
      #"{"navigation_views":[{"fragment":"a","is_pinned":true,"name":null}]}"#),
    RuleCase(
      "folders are put in order", #"{"channel_folders":[{"id":1,"order":0},{"id":2,"order":1}]}"#,
      #"{"type":"channel_folder","op":"reorder","order":[2,1]}"#,
      #"{"channel_folders":[{"id":1,"order":1},{"id":2,"order":0}]}"#),
    RuleCase(
      "reminders come", #"{"reminders":[]}"#,
      #"{"type":"reminders","op":"add","reminders":[{"reminder_id":1}]}"#,
      #"{"reminders":[{"reminder_id":1}]}"#),
    RuleCase(
      "a bot is told in part", #"{"realm_bots":[{"user_id":64,"full_name":"a","is_active":true}]}"#,
      #"{"type":"realm_bot","op":"update","bot":{"user_id":64,"is_active":false}}"#,
      #"{"realm_bots":[{"user_id":64,"full_name":"a","is_active":false}]}"#),
    RuleCase(
      "a bot goes", #"{"realm_bots":[{"user_id":64}]}"#,
      #"{"type":"realm_bot","op":"delete","bot":{"user_id":64}}"#, #"{"realm_bots":[]}"#),
    RuleCase(
      "a group comes", #"{"realm_user_groups":[]}"#,
      #"{"type":"user_group","op":"add","group":{"id":30,"members":[2,1]}}"#,
      #"{"realm_user_groups":[{"id":30,"members":[1,2]}]}"#),
    RuleCase(
      "a group changes", #"{"realm_user_groups":[{"id":30,"name":"a","can_mention_group":1}]}"#,
      #"{"type":"user_group","op":"update","group_id":30,"data":{"can_mention_group":{"x":[]}}}"#,
      #"{"realm_user_groups":[{"id":30,"name":"a","can_mention_group":{"x":[]}}]}"#),
    RuleCase(
      "a group goes", #"{"realm_user_groups":[{"id":30}]}"#,
      #"{"type":"user_group","op":"remove","group_id":30}"#, #"{"realm_user_groups":[]}"#),
    RuleCase(
      "members come", #"{"realm_user_groups":[{"id":1,"members":[5,2]}]}"#,
      #"{"type":"user_group","op":"add_members","group_id":1,"user_ids":[7,2,3]}"#,
      #"{"realm_user_groups":[{"id":1,"members":[2,3,5,7]}]}"#),
    RuleCase(
      "members go", #"{"realm_user_groups":[{"id":1,"members":[2,3]}]}"#,
      #"{"type":"user_group","op":"remove_members","group_id":1,"user_ids":[2,9]}"#,
      #"{"realm_user_groups":[{"id":1,"members":[3]}]}"#),
    RuleCase(
      "subgroups under their old name",
      #"{"realm_user_groups":[{"id":1,"direct_subgroup_ids":[]}]}"#,
      #"{"type":"user_group","op":"add_subgroups","group_id":1,"subgroup_ids":[4]}"#,
      #"{"realm_user_groups":[{"id":1,"direct_subgroup_ids":[4]}]}"#),
    RuleCase(
      "a status", #"{"user_status":{}}"#,
      #"{"type":"user_status","user_id":7,"status_text":"x","emoji_name":"pizza"}"#,
      #"{"user_status":{"7":{"status_text":"x","emoji_name":"pizza"}}}"#),
    RuleCase(
      "half a status goes", #"{"user_status":{"7":{"status_text":"x","emoji_name":"pizza"}}}"#,
      #"{"type":"user_status","user_id":7,"status_text":""}"#,
      #"{"user_status":{"7":{"emoji_name":"pizza"}}}"#),
    RuleCase(
      "an emoji goes, and its code and type with it",
      """
      {"user_status":{"7":{"status_text":"x","emoji_name":"pizza","emoji_code":"1f355",
       "reaction_type":"unicode_emoji"}}}
      """,
      """
      {"type":"user_status","user_id":7,"emoji_name":"","emoji_code":"",
       "reaction_type":"unicode_emoji"}
      """,
      #"{"user_status":{"7":{"status_text":"x"}}}"#),
    RuleCase(
      "a status goes, though the event still has the type of an emoji",
      """
      {"user_status":{"7":{"status_text":"x","emoji_name":"pizza","emoji_code":"1f355",
       "reaction_type":"unicode_emoji"}}}
      """,
      """
      {"type":"user_status","user_id":7,"status_text":"","emoji_name":"","emoji_code":"",
       "reaction_type":"unicode_emoji"}
      """,
      #"{"user_status":{}}"#),
    RuleCase(
      "a status goes that was not there", #"{"user_status":{}}"#,
      """
      {"type":"user_status","user_id":6,"status_text":"","emoji_name":"","emoji_code":"",
       "reaction_type":"unicode_emoji"}
      """,
      #"{"user_status":{}}"#),
    RuleCase(
      "a status goes", #"{"user_status":{"7":{"status_text":"x"}}}"#,
      #"{"type":"user_status","user_id":7,"status_text":"","away":false}"#,
      #"{"user_status":{}}"#),
  ]

  static let topics = [
    RuleCase(
      "a topic is muted", #"{"user_topics":[]}"#,
      #"{"type":"user_topic","stream_id":3,"topic_name":"a","last_updated":9,"visibility_policy":1}"#,
      """
      {"user_topics":[{"stream_id":3,"topic_name":"a","last_updated":9,"visibility_policy":1}]}
      """),
    RuleCase(
      "a topic is as its channel, in whatever spelling",
      #"{"user_topics":[{"stream_id":3,"topic_name":"Ab","visibility_policy":1}]}"#,
      #"{"type":"user_topic","stream_id":3,"topic_name":"aB","last_updated":9,"visibility_policy":0}"#,
      #"{"user_topics":[]}"#),
  ]
}
