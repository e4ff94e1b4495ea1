import Foundation

/// Lines from a real server, cut down to what the tests need. The whole answers are in the
/// recording.
enum RecordedLines {
  static let message = """
    {"type":"message","message":{"id":2140,"sender_id":7,"content":"<p>r1 old</p>",\
    "recipient_id":8,"timestamp":1795220766,"client":"ZulipTraceClient","subject":"Race",\
    "topic_links":[],"is_me_message":false,"reactions":[],"submessages":[],\
    "sender_full_name":"Zoe Q.","display_recipient":"Verona","type":"stream","stream_id":3,\
    "content_type":"text/html"},"flags":["has_alert_word"],"id":0}
    """
  static let edit = """
    {"type":"update_message","user_id":7,"edit_timestamp":1795220767,"message_id":2141,\
    "rendering_only":false,"stream_name":"Verona","stream_id":3,"orig_content":"r1 new",\
    "orig_rendered_content":"<p>r1 new</p>","content":"r1 edited",\
    "rendered_content":"<p>r1 edited</p>","is_me_message":false,"message_ids":[2141],\
    "flags":["read","starred","mentioned"],"id":2}
    """
  static let moveOfTopic = """
    {"type":"update_message","user_id":51,"edit_timestamp":1795220768,"message_id":2144,\
    "rendering_only":false,"stream_name":"Verona","stream_id":3,"propagate_mode":"change_later",\
    "orig_subject":"race move","subject":"Race Moved","topic_links":[],"message_ids":[2144,2145],\
    "flags":[],"id":9}
    """
  static let moveOfChannel = """
    {"type":"update_message","user_id":51,"edit_timestamp":1795220769,"message_id":2144,\
    "rendering_only":false,"stream_name":"Verona","stream_id":3,"propagate_mode":"change_all",\
    "orig_subject":"race moved","new_stream_id":6,"message_ids":[2144,2145],"flags":[],"id":10}
    """
  static let deletion = """
    {"type":"delete_message","message_ids":[2146,2144,2145],"message_type":"stream",\
    "stream_id":6,"topic":"race moved","id":12}
    """
  static let flags = """
    {"type":"update_message_flags","op":"remove","operation":"remove","flag":"read",\
    "messages":[2150,2147],"all":false,"message_details":{"2150":{"type":"stream",\
    "stream_id":3,"topic":"race flags","unmuted_stream_msg":true}},"id":21}
    """
  static let reaction = """
    {"type":"reaction","op":"add","user_id":7,"user":{"user_id":7,"full_name":"Zoe Q."},\
    "message_id":2147,"emoji_name":"tada","emoji_code":"1f389","reaction_type":"unicode_emoji",\
    "id":23}
    """
  static let subscription = """
    {"type":"subscription","op":"add","subscriptions":[{"audible_notifications":null,\
    "name":"sandbox","stream_id":2},{"name":"cellar","stream_id":25}],"id":28}
    """
  static let page = """
    {"result":"success","msg":"","anchor":1000,"found_anchor":true,"found_oldest":false,\
    "found_newest":false,"history_limited":false,"messages":[{"id":998,"sender_id":8,\
    "content":"a","subject":"b","reactions":[{"emoji_name":"heart","emoji_code":"2764",\
    "reaction_type":"unicode_emoji","user":{"id":7},"user_id":7},{"emoji_code":"2764",\
    "reaction_type":"unicode_emoji","user_id":6}],"flags":["read","stream_wildcard_mentioned",\
    "wildcard_mentioned"],"display_recipient":"Denmark","type":"stream","stream_id":4,\
    "content_type":"text/x-markdown","last_edit_timestamp":1795220699},{"id":1000,\
    "sender_id":50,"content":"<p>x</p>","subject":"","reactions":[],"flags":[],\
    "display_recipient":[{"id":7,"email":"zoe"},{"id":50,"email":"hamlet"}],"type":"private",\
    "content_type":"text/html"}]}
    """

  static let events = [
    message, edit, moveOfTopic, moveOfChannel, deletion, flags, reaction, subscription,
  ]

  /// The answer to a poll with these events.
  static func answer(_ events: [String]) -> Data {
    Data((#"{"result":"success","msg":"","events":["# + events.joined(separator: ",") + "]}").utf8)
  }

  /// A line in which one text is replaced by another.
  static func changed(_ line: String, _ old: String, _ new: String) -> String {
    line.replacingOccurrences(of: old, with: new)
  }
}
