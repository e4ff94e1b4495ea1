import ZulipSync

// Rules for users, channels and messages, which are spread over several fields.

extension ZulipRuleTests {
  static let users = [
    RuleCase(
      "a user comes", #"{"realm_users":[],"realm_non_active_users":[]}"#,
      #"{"type":"realm_user","op":"add","person":{"user_id":7,"is_active":true,"role":400}}"#,
      #"{"realm_users":[{"user_id":7,"role":400}],"realm_non_active_users":[]}"#),
    RuleCase(
      "a user is hidden", #"{"realm_users":[{"user_id":7}]}"#,
      #"{"type":"realm_user","op":"remove","person":{"user_id":7}}"#, #"{"realm_users":[]}"#),
    RuleCase(
      "a name", #"{"realm_users":[{"user_id":7,"full_name":"a"}],"user_id":8,"full_name":"b"}"#,
      #"{"type":"realm_user","op":"update","person":{"user_id":7,"full_name":"c"}}"#,
      #"{"realm_users":[{"user_id":7,"full_name":"c"}],"user_id":8,"full_name":"b"}"#),
    RuleCase(
      "one's own mail", #"{"realm_users":[{"user_id":7,"email":"a"}],"user_id":7,"email":"a"}"#,
      #"{"type":"realm_user","op":"update","person":{"user_id":7,"new_email":"b"}}"#,
      #"{"realm_users":[{"user_id":7,"email":"b"}],"user_id":7,"email":"b"}"#),
    RuleCase(
      "a role and what hangs on it",
      """
      {"realm_users":[{"user_id":7,"role":400,"is_admin":false,"is_owner":false,"is_guest":true}],
       "user_id":7,"is_admin":false,"is_moderator":true}
      """,
      #"{"type":"realm_user","op":"update","person":{"user_id":7,"role":200}}"#,
      """
      {"realm_users":[{"user_id":7,"role":200,"is_admin":true,"is_owner":false,"is_guest":false}],
       "user_id":7,"is_admin":true,"is_moderator":false}
      """),
    RuleCase(
      "one's own avatar",
      """
      {"realm_users":[{"user_id":7,"avatar_url":null,"avatar_version":1}],"user_id":7,
       "avatar_source":"G","avatar_url_medium":"m","avatar_url":"g"}
      """,
      """
      {"type":"realm_user","op":"update","person":{"user_id":7,"avatar_url":"u","avatar_version":2,
       "avatar_source":"U","avatar_url_medium":"n"}}
      """,
      """
      {"realm_users":[{"user_id":7,"avatar_url":"u","avatar_version":2}],"user_id":7,
       "avatar_source":"U","avatar_url_medium":"n","avatar_url":"u"}
      """),
    RuleCase(
      "a field of a profile",
      #"{"realm_users":[{"user_id":7,"profile_data":{"1":{"value":"a"}}}]}"#,
      """
      {"type":"realm_user","op":"update","person":{"user_id":7,
       "custom_profile_field":{"id":2,"value":"b","rendered_value":"c"}}}
      """,
      """
      {"realm_users":[{"user_id":7,"profile_data":{"1":{"value":"a"},
       "2":{"value":"b","rendered_value":"c"}}}]}
      """),
    RuleCase(
      "a field of a profile goes",
      #"{"realm_users":[{"user_id":7,"profile_data":{"1":{"value":"a"}}}]}"#,
      """
      {"type":"realm_user","op":"update","person":{"user_id":7,
       "custom_profile_field":{"id":1,"value":null}}}
      """,
      #"{"realm_users":[{"user_id":7,"profile_data":{}}]}"#),
    RuleCase(
      "a user is deactivated, and gone from groups and channels",
      """
      {"realm_users":[{"user_id":7}],"realm_non_active_users":[],
       "realm_user_groups":[{"id":1,"members":[6,7]}],
       "subscriptions":[{"stream_id":3,"subscribers":[7,8]}],
       "never_subscribed":[{"stream_id":4,"subscribers":[7]}]}
      """,
      #"{"type":"realm_user","op":"update","person":{"user_id":7,"is_active":false}}"#,
      """
      {"realm_users":[],"realm_non_active_users":[{"user_id":7}],
       "realm_user_groups":[{"id":1,"members":[6]}],
       "subscriptions":[{"stream_id":3,"subscribers":[8]}],
       "never_subscribed":[{"stream_id":4,"subscribers":[]}]}
      """),
    RuleCase(
      "a user comes back", #"{"realm_users":[],"realm_non_active_users":[{"user_id":7}]}"#,
      #"{"type":"realm_user","op":"update","person":{"user_id":7,"is_active":true}}"#,
      #"{"realm_users":[{"user_id":7}],"realm_non_active_users":[]}"#),
  ]

  static let channels = [
    RuleCase(
      "a channel comes", #"{"streams":[],"subscriptions":[],"never_subscribed":[]}"#,
      #"{"type":"stream","op":"create","streams":[{"stream_id":5,"name":"a"}]}"#,
      """
      {"streams":[{"stream_id":5,"name":"a"}],"subscriptions":[],
       "never_subscribed":[{"stream_id":5,"name":"a","subscribers":[]}]}
      """),
    RuleCase(
      "a channel goes out of sight",
      #"{"streams":[{"stream_id":5}],"unsubscribed":[{"stream_id":5}],"realm_default_streams":[5]}"#,
      #"{"type":"stream","op":"delete","streams":[{"stream_id":5,"is_archived":false}]}"#,
      #"{"streams":[],"unsubscribed":[],"realm_default_streams":[]}"#),
    RuleCase(
      "a channel goes, told by its number", #"{"streams":[{"stream_id":5},{"stream_id":6}]}"#,
      #"{"type":"stream","op":"delete","stream_ids":[5]}"#, #"{"streams":[{"stream_id":6}]}"#),
    RuleCase(
      "a channel is archived",
      """
      {"streams":[{"stream_id":5}],"subscriptions":[{"stream_id":5,"is_archived":false,"color":"c"}],
       "user_topics":[{"stream_id":5,"topic_name":"a"},{"stream_id":6,"topic_name":"a"}]}
      """,
      #"{"type":"stream","op":"delete","streams":[{"stream_id":5,"is_archived":true}]}"#,
      """
      {"streams":[],"subscriptions":[{"stream_id":5,"is_archived":true,"color":"c"}],
       "user_topics":[{"stream_id":6,"topic_name":"a"}]}
      """),
    RuleCase(
      "an archived channel is none for a client that knows of none",
      #"{"streams":[{"stream_id":5}],"subscriptions":[{"stream_id":5,"is_archived":false}]}"#,
      #"{"type":"stream","op":"delete","streams":[{"stream_id":5,"is_archived":true}]}"#,
      #"{"streams":[],"subscriptions":[]}"#, isModern: false),
    RuleCase(
      "a channel changes wherever it is, with what hangs on it",
      """
      {"streams":[{"stream_id":5,"invite_only":false,"is_web_public":true,"name":"n"}],
       "subscriptions":[{"stream_id":5,"invite_only":false,"is_web_public":true,"name":"n"}]}
      """,
      """
      {"type":"stream","op":"update","property":"invite_only","value":true,"stream_id":5,
       "name":"old","is_web_public":false}
      """,
      """
      {"streams":[{"stream_id":5,"invite_only":true,"is_web_public":false,"name":"n"}],
       "subscriptions":[{"stream_id":5,"invite_only":true,"is_web_public":false,"name":"n"}]}
      """),
    RuleCase(
      "a subscription comes", #"{"subscriptions":[],"never_subscribed":[{"stream_id":5}]}"#,
      #"{"type":"subscription","op":"add","subscriptions":[{"stream_id":5,"subscribers":[8,7]}]}"#,
      #"{"subscriptions":[{"stream_id":5,"subscribers":[7,8]}],"never_subscribed":[]}"#),
    RuleCase(
      "a subscription names the first message of a channel that was created empty",
      """
      {"streams":[{"stream_id":5,"first_message_id":null}],"subscriptions":[],
       "never_subscribed":[{"stream_id":5,"first_message_id":null}]}
      """,
      """
      {"type":"subscription","op":"add","subscriptions":[{"stream_id":5,"first_message_id":9}]}
      """,
      """
      {"streams":[{"stream_id":5,"first_message_id":9}],
       "subscriptions":[{"stream_id":5,"first_message_id":9}],"never_subscribed":[]}
      """),
    RuleCase(
      "a subscription to an empty channel names no first message",
      #"{"streams":[{"stream_id":5,"first_message_id":null}],"subscriptions":[]}"#,
      """
      {"type":"subscription","op":"add","subscriptions":[{"stream_id":5,"first_message_id":null}]}
      """,
      """
      {"streams":[{"stream_id":5,"first_message_id":null}],
       "subscriptions":[{"stream_id":5,"first_message_id":null}]}
      """),
    RuleCase(
      "subscribers are not for a client that has not asked for them", #"{"subscriptions":[]}"#,
      #"{"type":"subscription","op":"add","subscriptions":[{"stream_id":5,"subscribers":[8,7]}]}"#,
      #"{"subscriptions":[{"stream_id":5}]}"#, isModern: false),
    RuleCase(
      "a subscription goes",
      #"{"user_id":7,"subscriptions":[{"stream_id":5,"subscribers":[7,8]}],"unsubscribed":[]}"#,
      #"{"type":"subscription","op":"remove","subscriptions":[{"stream_id":5,"name":"a"}]}"#,
      #"{"user_id":7,"subscriptions":[],"unsubscribed":[{"stream_id":5,"subscribers":[8]}]}"#),
    RuleCase(
      "a subscription changes", #"{"subscriptions":[{"stream_id":5,"color":"a"}]}"#,
      #"{"type":"subscription","op":"update","property":"color","value":"b","stream_id":5}"#,
      #"{"subscriptions":[{"stream_id":5,"color":"b"}]}"#),
    RuleCase(
      "peers come",
      """
      {"subscriptions":[{"stream_id":5,"subscribers":[7]}],
       "unsubscribed":[{"stream_id":6,"subscribers":[]}]}
      """,
      #"{"type":"subscription","op":"peer_add","stream_ids":[5,6],"user_ids":[8]}"#,
      """
      {"subscriptions":[{"stream_id":5,"subscribers":[7,8]}],
       "unsubscribed":[{"stream_id":6,"subscribers":[8]}]}
      """),
    RuleCase(
      "a peer goes, as old servers tell it",
      #"{"subscriptions":[{"stream_id":5,"subscribers":[7]}]}"#,
      #"{"type":"subscription","op":"peer_remove","stream_id":5,"user_id":7}"#,
      #"{"subscriptions":[{"stream_id":5,"subscribers":[]}]}"#),
  ]

  /// A register's field of unread messages.
  private static func unread(
    _ channels: String = "", _ others: String = "", _ groups: String = "", _ mentions: String = ""
  ) -> String {
    """
    "unread_msgs":{"streams":[\(channels)],"pms":[\(others)],"huddles":[\(groups)],
     "mentions":[\(mentions)],"count":0,"old_unreads_missing":false}
    """
  }

  private static func lunch(_ ids: String, _ topic: String = "lunch", in channel: Int = 4) -> String
  {
    #"{"stream_id":\#(channel),"topic":"\#(topic)","unread_message_ids":[\#(ids)]}"#
  }

  private static func message(_ id: Int, _ rest: String, flags: String = "") -> String {
    let sender = #""sender_id":8,"content":"","content_type":"text/html","reactions":[]"#
    return """
      {"type":"message","message":{"id":\(id),\(sender),\(rest)},"flags":[\(flags)]}
      """
  }

  private static let inChannel =
    #""type":"stream","stream_id":4,"subject":"lunch","display_recipient":"Denmark""#

  private static func direct(_ ids: Int...) -> String {
    let users = ids.map { #"{"id":\#($0)}"# }.joined(separator: ",")
    return #""type":"private","subject":"","display_recipient":[\#(users)]"#
  }

  static let messages = [
    RuleCase(
      "a message that is read is the newest", #"{"max_message_id":1,\#(unread())}"#,
      message(2, inChannel, flags: #""read""#), #"{"max_message_id":2,\#(unread())}"#),
    RuleCase(
      "a message is unread", "{\(unread(lunch("1")))}", message(2, inChannel),
      "{\(unread(lunch("1,2")))}"),
    RuleCase(
      "a message mentions the user", "{\(unread())}", message(2, inChannel, flags: #""mentioned""#),
      "{\(unread(lunch("2"), "", "", "2"))}"),
    RuleCase(
      "a wildcard in a muted topic is no mention",
      """
      {\(unread()),"user_topics":[{"stream_id":4,"topic_name":"Lunch","visibility_policy":1}]}
      """,
      message(2, inChannel, flags: #""stream_wildcard_mentioned""#),
      """
      {\(unread(lunch("2"))),
       "user_topics":[{"stream_id":4,"topic_name":"Lunch","visibility_policy":1}]}
      """),
    RuleCase(
      "the first message of a channel", #"{"streams":[{"stream_id":4,"first_message_id":null}]}"#,
      message(2, inChannel), #"{"streams":[{"stream_id":4,"first_message_id":2}]}"#),
    RuleCase(
      "a direct message", #"{"user_id":7,"recent_private_conversations":[],\#(unread())}"#,
      message(2, direct(7, 8)),
      """
      {"user_id":7,"recent_private_conversations":[{"user_ids":[8],"max_message_id":2}],
       \(unread("", #"{"other_user_id":8,"unread_message_ids":[2]}"#))}
      """),
    RuleCase(
      "the other one as old servers call him", "{\"user_id\":7,\(unread())}",
      message(2, direct(8, 7)),
      #"{"user_id":7,\#(unread("", #"{"sender_id":8,"unread_message_ids":[2]}"#))}"#),
    RuleCase(
      "a message to oneself", "{\"user_id\":8,\(unread())}", message(2, direct(8)),
      #"{"user_id":8,\#(unread("", #"{"other_user_id":8,"unread_message_ids":[2]}"#))}"#),
    RuleCase(
      "a message to several", "{\"user_id\":7,\(unread())}", message(2, direct(10, 7, 8)),
      """
      {"user_id":7,
       \(unread("", "", #"{"user_ids_string":"7,8,10","unread_message_ids":[2]}"#))}
      """),
    RuleCase(
      "an edit mentions the user no more", "{\(unread(lunch("2"), "", "", "2"))}",
      """
      {"type":"update_message","message_id":2,"message_ids":[2],"content":"","rendered_content":"",
       "flags":[],"edit_timestamp":1,"rendering_only":false}
      """, "{\(unread(lunch("2")))}"),
    RuleCase(
      "messages move to another topic", "{\(unread(lunch("1,2,3")))}",
      """
      {"type":"update_message","message_id":2,"message_ids":[2,3,9],"stream_id":4,
       "orig_subject":"lunch","subject":"tea","edit_timestamp":1,"rendering_only":false,"flags":[]}
      """, "{\(unread(lunch("1") + "," + lunch("2,3", "tea")))}"),
    RuleCase(
      "messages move to another channel",
      #"{"subscriptions":[{"stream_id":5}],\#(unread(lunch("2")))}"#,
      """
      {"type":"update_message","message_id":2,"message_ids":[2],"stream_id":4,"new_stream_id":5,
       "orig_subject":"lunch","edit_timestamp":1,"rendering_only":false,"flags":[]}
      """, #"{"subscriptions":[{"stream_id":5}],\#(unread(lunch("2", in: 5)))}"#),
    RuleCase(
      "messages move out of the user's channels",
      #"{"subscriptions":[],"starred_messages":[1,2],\#(unread(lunch("2,3")))}"#,
      """
      {"type":"update_message","message_id":2,"message_ids":[2],"stream_id":4,"new_stream_id":5,
       "orig_subject":"lunch","edit_timestamp":1,"rendering_only":false,"flags":[]}
      """, #"{"subscriptions":[],"starred_messages":[1],\#(unread(lunch("3")))}"#),
    RuleCase(
      "messages are deleted", #"{"starred_messages":[1,2],\#(unread(lunch("2,3")))}"#,
      #"{"type":"delete_message","message_ids":[2,1],"message_type":"stream"}"#,
      #"{"starred_messages":[],\#(unread(lunch("3")))}"#),
    RuleCase(
      "a message is deleted, as old clients hear of it", "{\(unread(lunch("2,3")))}",
      #"{"type":"delete_message","message_id":2,"message_type":"stream"}"#,
      "{\(unread(lunch("3")))}"),
  ]

  private static func flag(
    _ op: String, _ flag: String, _ ids: String, _ rest: String = ""
  ) -> String {
    """
    {"type":"update_message_flags","op":"\(op)","operation":"\(op)","flag":"\(flag)",
     "messages":[\(ids)],"all":false\(rest)}
    """
  }

  static let flags = [
    RuleCase(
      "messages are read", "{\(unread(lunch("1,2,3"), "", "", "3"))}",
      flag("add", "read", "3,1,9,3"),
      "{\(unread(lunch("2")))}"),
    RuleCase(
      "all messages are read", "{\(unread(lunch("1,2,3")))}",
      flag("add", "read", "").replacing("false", with: "true"), "{\(unread())}"),
    RuleCase(
      "messages are unread again", #"{"user_id":7,\#(unread())}"#,
      flag(
        "remove", "read", "2,3,4,5,6",
        """
        ,"message_details":{"2":{"type":"stream","stream_id":4,"topic":"lunch","mentioned":true},
         "3":{"type":"private","user_ids":[8]},"4":{"type":"private","user_ids":[]},
         "5":{"type":"private","user_ids":[8,10]}}
        """),
      """
      {"user_id":7,\(unread(lunch("2"), """
        {"other_user_id":8,"unread_message_ids":[3]},{"other_user_id":7,"unread_message_ids":[4]}
        """, #"{"user_ids_string":"7,8,10","unread_message_ids":[5]}"#, "2"))}
      """),
    RuleCase(
      "a star", #"{"starred_messages":[1]}"#, flag("add", "starred", "2,1"),
      #"{"starred_messages":[1,2]}"#),
    RuleCase(
      "no star", #"{"starred_messages":[1,2]}"#, flag("remove", "starred", "2"),
      #"{"starred_messages":[1]}"#),
    RuleCase(
      "flags that the state has not", #"{"starred_messages":[1]}"#, flag("add", "collapsed", "2"),
      #"{"starred_messages":[1]}"#),
    RuleCase(
      "the operation's old name", #"{"starred_messages":[1]}"#,
      #"{"type":"update_message_flags","operation":"add","op":"add","flag":"starred","messages":[2]}"#,
      #"{"starred_messages":[1,2]}"#),
  ]
}
