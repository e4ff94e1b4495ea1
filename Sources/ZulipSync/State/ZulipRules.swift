// The table of the state: how each field of `/register` is held, and what each event does to it.
// All general rules are here; the special cases of single types are in ZulipState+….swift.

/// The way in which a field of `/register` is held.
enum ZulipShape {
  /// One row.
  case whole
  /// A list of objects with one row each, keyed by the number of this name.
  case objects(String)
  /// The same, keyed by a text.
  case named(String)
  /// A list of objects keyed by channel and topic.
  case topics
  /// An object, with one row for each of its entries.
  case dictionary
  /// A list of numbers, with one row each.
  case numbers
  /// A list of channels, or of channels' numbers. Only the numbers are held.
  case channels
  /// The participants of each direct conversation, with its newest message.
  case conversations
  /// One row for each unread message.
  case unread
}

/// The effect of one type of event.
struct ZulipRule {
  var effect: Effect
  /// The fields that it may have besides `id`, `type` and `op`. Others are counted as unknown.
  var knows: Set<String>
  /// The values that its `op` may have. An event with another is counted as unknown, and ignored;
  /// `nil`: its `op` means nothing here.
  var ops: Set<String>?

  enum Effect {
    /// A known type that does not concern this state.
    case nothing
    /// Replaces a field by the event's field of this name.
    case replace(String, with: String)
    /// Sets one entry of a dictionary. These are the event's fields for the entry's name and value.
    case entry(String, name: String, value: String)
    /// Sets one field for each property (`op` update) or entry (update_dict), named with this
    /// prefix.
    case properties(prefix: String)
    /// Sets one of the user's own settings, also in the field of its name that older clients get.
    case settings(name: String, value: String)
    /// Sets the fields of the same names.
    case fields([String])
    /// Adds, changes or removes objects.
    case objects(Objects)
    case users, groups, channels, subscriptions, topic, status
    /// Applies what `ZulipEvent.kind` says about messages.
    case messages
  }

  /// How objects of one field are added, changed and removed. Apart from `field`, each part is the
  /// name of an event's field.
  struct Objects {
    var field: String
    /// The field with the object that is added or changed.
    var one: String?
    /// The field with several objects that are added.
    var many: String?
    /// The field with the ID of an object that is removed, or changed by ``data``; `nil` if the ID
    /// is in ``one``.
    var id: String?
    /// The field with the changes of one object; `nil` if ``one`` has the object, in full or in
    /// part.
    var data: String?
  }

  init(_ effect: Effect, knows: Set<String>, ops: Set<String>? = nil) {
    self.effect = effect
    self.knows = knows
    self.ops = ops
  }
}
